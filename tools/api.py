"""The pages on the package: a line `% api FOLDER` in a page below book/api becomes directives of
Sphinx's autodoc, which `tools/ext/reference.py` sets up.

A page shows every module of a folder, and in it every public function and class: its signature, its
docstring, the meaning of its arguments, what it raises, the chapters that use it, and its code.  An
argument that a docstring does not name has the meaning that a table of `book/notation.md` or of
`book/api/arguments.md` gives to its name.
"""

import ast
import re
from functools import partial

from companion._closure import Package
from tools import cells
from tools.chapters import code, source, title
from tools.errors import Failure
from tools.ext.reference import plain

LINE = re.compile(r"^% api (\w+)$", re.MULTILINE)
GROUND = "ground"  # the modules of the package itself
ARGUMENTS = "book/api/arguments.md"
NOTATION = "book/notation.md"
OWN = "## Of "  # in ARGUMENTS: a section for one folder
CHECKS = "need_"  # functions that raise ValueError on bad input


def fill(text, root, used):
    """The text of a page with its line filled; used: see `users`.  Raises Failure."""

    def filled(match):
        package = Package(root / "companion")
        modules = sorted(m for m in package.modules() if folder(m) == match[1])
        if not modules:
            raise Failure(f"a page of the package asks for {match[1]}, which is no folder")
        known = meanings(root, match[1])
        return "\n\n".join(page(package, m, used, known) for m in modules)

    return LINE.sub(filled, text)


def users(book):
    """{(module, name): [(chapter, title)]} of what chapters import from the package."""
    found = {}
    for name, chapter in book.items():
        seen = set()
        for cell in code(chapter.notebook):
            tree = ast.parse(cells.plain(source(cell)))
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and node.module:
                    seen |= {(node.module, a.name) for a in node.names}
        for key in seen:
            found.setdefault(key, []).append((name, title(chapter.notebook).split(":")[0]))
    return found


def meanings(root, room):
    """{argument: what it is} in a folder: its own section, else the common ones, else notation."""
    common, *own = (root / ARGUMENTS).read_text("utf8").split(OWN)
    notation = (root / NOTATION).read_text("utf8").split("### Chapter")[0]
    mine = [part for part in own if part.startswith(f"`{room}`")]
    found = {}
    for text, name, first in [(notation, 1, 2), *((part, 0, 1) for part in (common, *mine))]:
        for line in text.splitlines():
            row = [cell.strip() for cell in line.strip("|").split("|")]
            for word in re.findall(r"`(\w+)`", row[name]) if line[:1] == "|" else ():
                found[word] = "; ".join(filter(None, row[first:])).replace("**", "")
    return found


def page(package, module, used, known):
    """The text of one module: Markdown, with reStructuredText for autodoc."""
    path = package.file(module)
    text = path.read_text("utf8")
    entry = partial(_entry, module=module, lines=text.splitlines(), used=used, known=known)
    where = path.relative_to(package.root.parent).as_posix()
    code = f".. dropdown:: Code\n\n   .. literalinclude:: /{where}"
    parts = [f".. automodule:: {module}", *map(entry, public(ast.parse(text))), code]
    return f"## `{module}`\n\n```{{eval-rst}}\n" + "\n\n".join(parts) + "\n```"


def _entry(node, module, lines, used, known):
    """The directive of a function or a class, with what its docstring leaves to others."""
    told = explained(node, lines, known)
    said = [] if ast.get_docstring(node) else [plain(known.get(node.name, "")), ""]
    said += [f":param {n}: {plain(told.get(n, ''))}".rstrip() for n in taken(node)]
    said += [f":raises {name}: {plain(why)}" for name, why in raised(node).items()]
    room = module.rsplit(".", 1)[0]
    chapters = used.get((module, node.name), []) + used.get((room, node.name), [])
    if chapters:
        links = [f":doc:`{t} </book/{name}>`" for name, t in sorted(set(chapters))]
        said.append(f":Used in: {', '.join(links)}")
    if isinstance(node, ast.FunctionDef):
        head = [f".. autofunction:: {module}.{node.name}"]
    else:
        head = [f".. autoclass:: {module}.{node.name}"]
        if methods := [n.name for n in public(node) if ast.get_docstring(n)]:
            head.append(f"   :members: {', '.join(methods)}")
    return "\n".join([*head, "", *(f"   {line}" for line in said)]).rstrip()


def public(tree):
    """The public functions and classes of a module's syntax tree."""
    kinds = ast.FunctionDef | ast.ClassDef
    return [n for n in tree.body if isinstance(n, kinds) and n.name[0] != "_"]


def taken(node):
    """The names of a function's arguments, or of a class's fields."""
    if isinstance(node, ast.ClassDef):
        return [n.target.id for n in node.body if isinstance(n, ast.AnnAssign)]
    a = node.args
    given = [*a.posonlyargs, *a.args, *a.kwonlyargs, *(x for x in (a.vararg, a.kwarg) if x)]
    return [x.arg for x in given if x.arg.strip("_")]


def explained(node, lines, known):
    """{argument: what it is}: the comment of a field, or the meaning of a name that the docstring
    does not explain; names without either are left out."""
    doc = set(re.findall(r"\w+", ast.get_docstring(node) or ""))
    found = {n: known[n] for n in taken(node) if n in known and n not in doc}
    if isinstance(node, ast.ClassDef):
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and "  # " in lines[field.lineno - 1]:
                found[field.target.id] = lines[field.lineno - 1].split("  # ", 1)[1]
    return found


def raised(node):
    """{exception: why} of what a function raises by itself, in the words of its code."""
    found = {}
    if isinstance(node, ast.FunctionDef):
        for n in ast.walk(node):
            called = getattr(getattr(n, "func", None), "id", "")
            if called.startswith(CHECKS):
                found.setdefault("ValueError", []).append("an argument is outside its range")
            if isinstance(n, ast.Raise) and isinstance(n.exc, ast.Call):
                said = ast.unparse(n.exc.args[0]) if n.exc.args else ""
                text = re.sub(r"^f?(['\"])(.*)\1$", r"\2", said, flags=re.DOTALL)
                words = re.sub(r"\{([^{}]*)\}", r"\1", text.split("; got")[0])
                found.setdefault(ast.unparse(n.exc.func), []).append(words)
    return {name: "; ".join(dict.fromkeys(why)) for name, why in found.items()}


def lacking(node, lines, known):
    """What the page does not say of a public name: its purpose, arguments, or result."""
    doc = ast.get_docstring(node) or known.get(node.name, "")
    words = {*re.findall(r"\w+", doc), *explained(node, lines, known)}
    found = [] if doc.strip() else ["purpose"]
    found += [name for name in taken(node) if name not in words]
    if isinstance(node, ast.FunctionDef) and node.returns is None:
        found.append("result")
    return found


def folder(module):
    """The folder of a module: `kernels` of companion.kernels.linalg; GROUND of companion.core."""
    parts = module.split(".")
    if len(parts) == 3:
        return parts[1]
    return GROUND if len(parts) == 2 and parts[1] != "__main__" else ""
