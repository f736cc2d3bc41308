"""The pages on the package, made from its sources: `% api FOLDER` in a page below book/api.

A page shows every module of a folder, and in it every public function and class with its signature
and its docstring, the chapters that use it, and the source as a file.
"""

import ast
import re

from companion._closure import Package
from tools import cells
from tools.chapters import code, source, title
from tools.errors import Failure

LINE = re.compile(r"^% api (\w+)$", re.MULTILINE)
GROUND = "ground"  # the modules of the package itself


def fill(text, root, book):
    """The text of a page with its line filled; book: {name: Chapter}.  Raises Failure."""

    def filled(match):
        package = Package(root / "companion")
        modules = sorted(m for m in package.modules() if _folder(m) == match[1])
        if not modules:
            raise Failure(f"a page of the package asks for {match[1]}, which is no folder")
        used = users(book)
        return "\n\n".join(page(package, m, used) for m in modules)

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


def page(package, module, used):
    """The Markdown of one module."""
    path = package.file(module)
    text = path.read_text("utf8")
    tree = ast.parse(text)
    parts = [f"## `{module}`", _block("text", ast.get_docstring(tree) or "")]
    where = path.relative_to(package.root.parent).as_posix()
    parts.append(f"Source: {{download}}`{where} <../../{where}>`")
    for node in public(tree):
        parts += [f"### `{node.name}`", _block("python", _signature(node, text.splitlines()))]
        room = module.rsplit(".", 1)[0]
        chapters = used.get((module, node.name), []) + used.get((room, node.name), [])
        if chapters:
            links = ", ".join(f"[{t}](../{name}.ipynb)" for name, t in sorted(set(chapters)))
            parts.append(f"Used in: {links}.")
    return "\n\n".join(parts)


def public(tree):
    """The public functions and classes of a module's syntax tree."""
    kinds = ast.FunctionDef | ast.ClassDef
    return [n for n in tree.body if isinstance(n, kinds) and n.name[0] != "_"]


def _signature(node, lines):
    """A function's head, or a class with its fields and methods, and the docstring."""
    doc = ast.get_docstring(node)
    told = f'\n    """{doc}"""'.replace("\n", "\n    ").replace("\n    \n", "\n\n") if doc else ""
    told = told.replace("\n        ", "\n    ", 1)
    if isinstance(node, ast.FunctionDef):
        returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        return f"def {node.name}({ast.unparse(node.args)}){returns}:{told}"
    bases = ", ".join(map(ast.unparse, node.bases))
    fields = [
        line
        for n in node.body
        if isinstance(n, ast.AnnAssign)
        for line in lines[n.lineno - 1 : n.end_lineno]  # with their comments
    ]
    methods = [f"    def {n.name}({ast.unparse(n.args)})" for n in public(node)]
    return "\n".join([f"class {node.name}({bases}):{told}", *fields, *methods])


def _block(language, text):
    return f"````{language}\n{text}\n````"


def _folder(module):
    """The folder of a module: `kernels` of companion.kernels.linalg; GROUND of companion.core."""
    parts = module.split(".")
    if len(parts) == 3:
        return parts[1]
    return GROUND if len(parts) == 2 and parts[1] != "__main__" else ""
