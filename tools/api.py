"""The pages on the package: a line `% api FOLDER` in a page below book/api becomes all that the
modules of a folder say of themselves.

A page shows every module, and in it every public function and class: its signature, its docstring,
the meaning of its arguments, what it raises, its source, the chapters that use it, and a link to
its code.  An argument that a docstring does not name has the meaning that a table of
`book/notation.md` or of `book/api/arguments.md` gives to its name.  Nothing is imported.
"""

import ast
import functools
import re
import tomllib

from docutils.nodes import make_id

from companion._closure import Package
from tools import api_page, cells, chapters, code_pages
from tools.api_names import folder, meanings, public
from tools.errors import Failure

LINE = re.compile(r"^% api (\w+)$", re.MULTILINE)


def fill(text, root, used):
    """The text of a page with its line filled; used: see `users`.  Raises Failure."""
    package = Package(root / "companion")

    def filled(match):
        modules = sorted(m for m in package.modules() if folder(m) == match[1])
        if not modules:
            raise Failure(f"a page of the package asks for {match[1]}, which is no folder")
        known, where = meanings(root, match[1]), classes(package)
        return "\n\n".join(api_page.page(package, m, used, known, where) for m in modules)

    return LINE.sub(filled, text)


def code(root):
    """{place below the site: its text}: the code of all modules that have a page."""
    package, found = Package(root / "companion"), {}
    modules = [m for m in package.modules() if folder(m)]
    address = repository(root) if modules else ""
    for module in modules:
        path = package.file(module)
        home = f"book/api/{folder(module)}.html#{make_id(module)}"  # as Sphinx names the section
        where = path.relative_to(root).as_posix()
        text = path.read_text("utf8")
        found[code_pages.link(module)] = code_pages.page(module, text, home, address, where)
    return found


def repository(root):
    """The project's address; empty while there is none."""
    own = tomllib.loads((root / "pyproject.toml").read_text("utf8"))["tool"]["private-bandits"]
    return own["address"]


def classes(package):
    """{module: {name: link}} of the public classes that a page explains: its own, and those whose
    name no other module has (at the key "")."""
    own, homes = {}, {}
    for module in package.modules():
        if room := folder(module):
            for name in _classes(package.file(module).read_text("utf8")):
                link = f"{room}.html#{module}.{name}"
                own.setdefault(module, {})[name] = link
                homes.setdefault(name, []).append(link)
    return own | {"": {name: links[0] for name, links in homes.items() if len(links) == 1}}


@functools.cache
def _classes(text):
    """Names of the public classes of a module; every page asks for those of all modules."""
    return tuple(n.name for n in public(ast.parse(text)) if isinstance(n, ast.ClassDef))


def users(book):
    """{(module, name): [(chapter, title)]} of what chapters import from the package."""
    found = {}
    for name, chapter in book.items():
        seen = set()
        for cell in chapters.code(chapter.notebook):
            tree = ast.parse(cells.plain(chapters.source(cell)))
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and node.module:
                    seen |= {(node.module, a.name) for a in node.names}
        for key in seen:
            found.setdefault(key, []).append((name, chapters.title(chapter.notebook).split(":")[0]))
    return found
