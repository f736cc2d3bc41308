"""What the results of a module depend on: its own syntax tree and those of all that it imports.

Docstrings, comments, annotations and the places of lines are left out, so editing them changes no
digest; an edited constant or callee changes the digest of every module that imports it, however far
away.  Imports are read from the source, inside functions, too; those that serve annotations alone
(`TYPES`, and what stands under `if TYPE_CHECKING`) are no dependence.  A module that finds others
by looking (`LOOKING`) depends on the whole package.
"""

import ast
import functools
import hashlib
from pathlib import Path

TYPES = {"__future__", "typing", "collections.abc"}  # names for annotations
LOOKING = {"policies", "optimisers", "report.scoreboard"}  # import modules by name
DATA = {".json", ".toml"}  # what a folder's modules read


class Package:
    """The Python files below a folder, by dotted name: `companion`, `companion.core`, ..."""

    def __init__(self, root):
        self.root = Path(root)
        self.name = self.root.name
        self._facts = functools.cache(self._read)

    def file(self, module: str) -> Path | None:
        """Path of a module of this package, or None."""
        first, *rest = module.split(".")
        if first != self.name:
            return None
        stem = self.root.joinpath(*rest)
        places = [stem / "__init__.py", *([stem.with_suffix(".py")] if rest else [])]
        return next((p for p in places if p.is_file()), None)

    def module(self, path: Path | str):
        """Dotted name of a file below the folder, or None for one elsewhere."""
        path = Path(path)
        if not path.is_relative_to(self.root) or path.suffix != ".py":
            return None
        parts = path.relative_to(self.root).with_suffix("").parts
        return ".".join([self.name, *(p for p in parts if p != "__init__")])

    def modules(self) -> set[str]:
        """Dotted names of all modules."""
        return {self.module(p) for p in self.root.rglob("*.py")}

    def closure(self, modules) -> set[str]:
        """The modules of this package that `modules` import, transitively, with themselves."""
        found, todo = set(), {m for m in modules if self.file(m)}
        while todo:
            module = todo.pop()
            found.add(module)
            if module.removeprefix(f"{self.name}.") in LOOKING:
                return self.modules()
            todo |= self._facts(module)[1] - found
        return found

    def imported(self, tree):
        """Modules of this package that the code of a syntax tree imports, directly."""
        found = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found |= {a.name for a in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:  # a module, or a name of one, or both
                    inner = f"{node.module}.{alias.name}"
                    found |= {inner if self.file(inner) else node.module}
                    if self.file(inner) and alias.name in self._bound(node.module):
                        found.add(node.module)
        return {m for m in found if self.file(m)}

    def digest(self, modules) -> str:
        """Hexadecimal digest (16 characters) of the closure of `modules`."""
        parts = [(m, self._facts(m)[0]) for m in sorted(self.closure(modules))]
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]

    def data(self, modules):
        """Paths of the data files beside the modules of a closure, in order."""
        folders = {self.file(m).parent for m in self.closure(modules)}
        return sorted(p for f in folders for p in f.iterdir() if p.suffix in DATA)

    def _read(self, module):
        """(digest of the bare syntax tree, modules imported) of one file."""
        tree = bare(ast.parse(self.file(module).read_bytes()))
        return hashlib.sha256(ast.dump(tree).encode()).hexdigest(), self.imported(tree)

    def _bound(self, module):
        """Names that a module imports or assigns at its top."""
        file = self.file(module)
        if file is None:
            return set()
        names = set()
        for node in ast.parse(file.read_bytes()).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                names |= {a.asname or a.name for a in node.names}
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names |= {t.id for t in targets if isinstance(t, ast.Name)}
        return names


def bare(tree):
    """The syntax tree without docstrings and without what serves annotations alone."""
    return _Bare().visit(tree)


class _Bare(ast.NodeTransformer):
    def __init__(self):
        self._in_class = False

    def _body(self, node):
        match node.body:
            case [ast.Expr(value=ast.Constant(value=str())), *rest]:
                node.body = rest
        outer, self._in_class = self._in_class, isinstance(node, ast.ClassDef)
        self.generic_visit(node)
        self._in_class = outer
        return node

    visit_Module = visit_ClassDef = _body

    def visit_FunctionDef(self, node):
        node.returns = None
        return self._body(node)

    def visit_arg(self, node):
        node.annotation = None
        return node

    def visit_AnnAssign(self, node):
        """A field keeps its place, whatever its type; elsewhere an annotated value is a value."""
        self.generic_visit(node)
        if self._in_class:
            node.annotation = ast.Constant(None)
            return node
        if node.value is None:
            return None
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_ImportFrom(self, node):
        return None if node.module in TYPES else node

    def visit_If(self, node):
        """`if TYPE_CHECKING:` has no `else` here."""
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING" and not node.orelse:
            return None
        return self.generic_visit(node)
