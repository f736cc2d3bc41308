"""Sphinx extension: pages made from the docstrings of `companion`, with its code in folds.

* Modules are imported from the folder that the site is made of.  Nothing is compiled: a kernel is
  then a function with a signature.
* Docstrings are plain text with code between backticks.  A part of a module's docstring that begins
  with a word and a colon, as `Source: ...`, is a field; what is indented stands as it is.
* Types have the names of `companion._types`.
"""

import ast
import importlib
import inspect
import os
import pkgutil
import re
import sys

NAMES = ("Array", "Ints", "Bools", "AnyArray", "ArrayLike")
FIELD = re.compile(r"([A-Z][\w ]{2,24}): ")
ITEM = re.compile(r"(\* |- |\d+\. )")


def plain(text):
    """House prose as reStructuredText: `code` is code, and everything else is plain text."""
    text = re.sub(r"``?([^`]+)``?", r"`\1`", text)
    parts = re.split(r"(`[^`]+`)", text)
    parts[::2] = [re.sub(r"([*|\\_`<])", r"\\\1", p) for p in parts[::2]]
    for i in range(0, len(parts), 2):  # a role ends where a space does, which `\\ ` is unseen
        if i and parts[i] and not parts[i][0].isspace():
            parts[i] = "\\ " + parts[i]
        if i + 1 < len(parts) and parts[i] and not parts[i][-1].isspace():
            parts[i] += "\\ "
    return "".join(parts)


def _paragraph(lines, fields):
    """Lines of a paragraph: its fields and items apart from each other, each on one line."""
    parts = []
    for line in map(str.strip, lines):
        begins = ITEM.match(line) or (fields and FIELD.match(line))
        if begins or not parts:
            parts.append(line)
        else:
            parts[-1] += " " + line
    for part in parts:
        if field := fields and FIELD.match(part):
            yield f":{field[1]}: {plain(part[field.end() :])}"
        else:
            item = ITEM.match(part)
            yield from ("", item[1] + plain(part[item.end() :]) if item else plain(part), "")
    yield ""


def prepared(lines, fields):
    """Lines of a docstring for Sphinx; fields: whether words with a colon begin fields."""
    found, paragraph = [], []
    for line in [*lines, ""]:
        if line.strip():
            paragraph.append(line)
            continue
        if paragraph and paragraph[0].startswith(">>>"):
            found += [*paragraph, ""]
        elif paragraph and all(x.startswith("    ") for x in paragraph):
            found += [".. code-block:: text", "", *paragraph, ""]
        elif paragraph:
            found += _paragraph(paragraph, fields)
        paragraph = []
    return found


def _docstring(app, what, name, obj, options, lines):
    if lines and lines[0].startswith(f"{getattr(obj, '__name__', '')}("):
        lines.clear()  # what a named tuple says of itself
    lines[:] = prepared(lines, what == "module")


def _begin(app):
    """Before any page is read: where modules come from, and what types are called."""
    if not (app.srcdir / "companion" / "_types.py").is_file():
        return
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    sys.path.insert(0, str(app.srcdir))
    import companion
    from companion import _types

    for name in NAMES:
        setattr(_types, name, type(name, (), {"__module__": "companion._types"}))
    found = [m.name for m in pkgutil.walk_packages(companion.__path__, "companion.")]
    for module in [importlib.import_module(m) for m in found if not m.endswith("__main__")]:
        for node in ast.parse(inspect.getsource(module)).body:  # once all are there, none is missed
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                exec(compile(ast.Module(node.body, []), module.__file__, "exec"), vars(module))


def _config(app, config):
    config.default_role = "code"
    config.add_module_names = False
    config.autodoc_typehints = "description"
    config.autodoc_typehints_format = "short"
    config.python_use_unqualified_type_names = True
    config.toc_object_entries = False  # a thousand names beside every page
    config.nitpick_ignore_regex = [*config.nitpick_ignore_regex, ("py:.*", ".*")]  # other packages


def setup(app):
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("config-inited", _config)
    app.connect("builder-inited", _begin, priority=100)
    app.connect("autodoc-process-docstring", _docstring)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
