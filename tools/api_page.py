"""HTML of the pages on the package: docstrings, signatures, arguments, errors and links.

Docstrings are plain text with code between backticks.  A part of a module's docstring that begins
with a word and a colon, as `Source: ...`, is a field; what is indented stands as it is; lines that
begin with >>> are examples.
"""

import ast
import copy
import html
import re
from typing import NamedTuple

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonConsoleLexer

from tools import code_pages
from tools.api_names import explained, given, public, raised, taken

FIELD = re.compile(r"([A-Z][\w ]{2,24}): ")
ITEM = re.compile(r"(?:\* |- |\d+\. )")


class Shown(NamedTuple):
    """What the entries of one module are made with."""

    module: str
    lines: list  # of its text
    used: dict  # see `users`
    known: dict  # see `meanings`
    classes: dict  # {name of a class: where it is explained}
    source: str  # HTML: what the module says of its source


def text(said):
    """House prose as HTML: `code` is code, and everything else is plain text."""
    parts = re.split(r"``?([^`]+)``?", said)
    parts[::2] = [html.escape(p, quote=False) for p in parts[::2]]
    parts[1::2] = [f"<code>{html.escape(p, quote=False)}</code>" for p in parts[1::2]]
    return "".join(parts)


def prose(doc, fields=False):
    """(HTML, [(field, text)]) of a docstring; fields: whether words with a colon begin fields."""
    shown, found = [], []
    for paragraph in re.split(r"\n\s*\n", doc.strip("\n")):
        lines = paragraph.splitlines()
        if not paragraph.strip():
            continue
        if lines[0].startswith(">>>"):
            lexed = highlight(paragraph, PythonConsoleLexer(), HtmlFormatter())
            shown.append(lexed.replace("<pre>", '<pre tabindex="0">'))
        elif all(line.startswith("    ") for line in lines):
            shown.append(f'<pre tabindex="0">{html.escape(paragraph, quote=False)}</pre>')
        else:
            shown += _paragraph(lines, found if fields else None)
    return "\n".join(shown), found


def _paragraph(lines, found):
    """HTML of one paragraph: text, and lists of its items; fields go into found, unless None."""
    parts = []
    for line in map(str.strip, lines):
        begins = ITEM.match(line) or (found is not None and FIELD.match(line))
        if begins or not parts:
            parts.append(line)
        else:
            parts[-1] += " " + line
    items = []
    for part in [*parts, ""]:
        if item := ITEM.match(part):
            items.append(f"<li>{text(part[item.end() :])}</li>")
            continue
        if items:
            yield f"<ul>{''.join(items)}</ul>"
            items = []
        field = FIELD.match(part) if found is not None else None
        if field:
            found.append((field[1], text(part[field.end() :])))
        elif part:
            yield f"<p>{text(part)}</p>"


def listed(fields):
    """A list of [(what, HTML)]; what is empty is left out."""
    rows = "".join(f"<dt>{what}</dt><dd>{said}</dd>" for what, said in fields if said)
    return f'<dl class="field-list">{rows}</dl>' if rows else ""


def typed(annotation, where):
    """The HTML of a type; where: {name of a class: link}."""
    said = html.escape(re.sub(r"['\"]", "", ast.unparse(annotation)), quote=False)
    return re.sub(
        r"(?<![\w.])([A-Z]\w+)",
        lambda m: f'<a href="{where[m[1]]}">{m[1]}</a>' if m[1] in where else m[1],
        said,
    )


def arguments(rows):
    """A list of [(name, HTML of the type, what it is)]."""
    items = []
    for name, kind, said in rows:
        shown = f" ({kind})" if kind else ""
        items.append(f"<li><code>{name}</code>{shown}{': ' if said else ''}{said}</li>")
    return f"<ul>{''.join(items)}</ul>" if items else ""


def heading(kind, name, own, signature, result, code):
    """The line of a public name; own: the last part of it; code: where its code is."""
    result = f" → {result}" if result else ""
    link = f' <a class="code" href="{code}" aria-label="Code of {own}">code</a>' if code else ""
    return (
        f'<dt class="sig" id="{name}" data-kind="{kind}"><code><b>{own}</b>'
        f"{html.escape(signature, quote=False)}{result}</code>{link}</dt>"
    )


def page(package, module, used, known, where):
    """The text of one module: a heading in Markdown, and what the directive `public` shows."""
    said = package.file(module).read_text("utf8")
    tree = ast.parse(said)
    head, fields = prose(ast.get_docstring(tree) or "", fields=True)
    links = where[""] | where.get(module, {})
    shown = Shown(module, said.splitlines(), used, known, links, dict(fields).get("Source", ""))
    link = f'<p><a href="../../{code_pages.link(module)}">Code of this module</a></p>'
    entries = "\n".join(_entry(node, shown) for node in public(tree))
    names = f'<dl class="py">\n{entries}\n</dl>' if entries else ""
    parts = (head, listed(fields), link, names)
    return f"## `{module}`\n\n```{{public}}\n" + "\n".join(filter(None, parts)) + "\n```"


def _entry(node, shown):
    """HTML of a function or a class, with what its docstring leaves to others."""
    name, kind = f"{shown.module}.{node.name}", "class" if _is_class(node) else "function"
    doc = ast.get_docstring(node) or shown.known.get(node.name, "")
    fields = [("Arguments", arguments(_rows(node, shown)))]
    for error, why in raised(node).items():
        fields.append(("Raises", f"<code>{error}</code>{': ' if why else ''}{text(why)}"))
    room = shown.module.rsplit(".", 1)[0]
    chapters = shown.used.get((shown.module, node.name), []) + shown.used.get((room, node.name), [])
    links = [f'<a href="../{n}.html">{html.escape(t)}</a>' for n, t in sorted(set(chapters))]
    fields.append(("Used in", ", ".join(links)))
    if makes(node) and "Source:" not in doc:
        fields.append(("Source", shown.source))
    code = f"../../{code_pages.link(shown.module, node.name)}"
    head = heading(kind, name, node.name, signature(node), _result(node, shown), code)
    methods = [
        heading("method", f"{name}.{n.name}", n.name, signature(n), _result(n, shown), "")
        + f"<dd>{prose(ast.get_docstring(n))[0]}"
        f"{listed([('Arguments', arguments(_rows(n, shown)))])}</dd>"
        for n in (public(node) if _is_class(node) else ())
        if ast.get_docstring(n)
    ]
    below = f'<dl class="py">{"".join(methods)}</dl>' if methods else ""
    return f"{head}\n<dd>{prose(doc)[0]}\n{listed(fields)}{below}</dd>"


def _is_class(node):
    return isinstance(node, ast.ClassDef)


def _rows(node, shown):
    """[(argument or field, HTML of its type, HTML of its meaning)] of a function or a class."""
    told = explained(node, shown.lines, shown.known)
    kinds = {x.arg: x.annotation for x in given(node)} if not _is_class(node) else {
        n.target.id: n.annotation for n in node.body if isinstance(n, ast.AnnAssign)
    }  # fmt: skip
    rows = []
    for name in taken(node):
        kind = kinds[name]
        said = typed(kind, shown.classes) if kind else ""
        rows.append((name, said, text(told.get(name, ""))))
    return rows


def _result(node, shown):
    returns = getattr(node, "returns", None)
    return typed(returns, shown.classes) if returns else ""


def signature(node):
    """What follows a name: its arguments, or its fields, with their defaults, without types."""
    if _is_class(node):
        fields = [n for n in node.body if isinstance(n, ast.AnnAssign)]
        said = [
            f.target.id + (f"={ast.unparse(f.value)}" if f.value is not None else "")
            for f in fields
        ]
        return f"({', '.join(said)})" if said else ""
    bare = copy.deepcopy(node.args)
    for argument in (a for a in ast.walk(bare) if isinstance(a, ast.arg)):
        argument.annotation = None
    return f"({ast.unparse(bare).removeprefix('self').removeprefix(', ')})"


def makes(node):
    """Whether it makes a policy or an optimiser."""
    result = getattr(node, "returns", None)
    return result is not None and ast.unparse(result).strip("'") in ("Policy", "Optimiser")
