"""What the results of a module depend on: its own syntax tree and those of all that it
imports.

Docstrings, comments and line numbers are left out, so editing them changes no digest; an
edited constant or callee changes the digest of every module that imports it, however far
away.
"""

import ast
import functools
import hashlib
from pathlib import Path

from companion._stamps import stamp, stamps

IMPORT_BY_NAME = {"evidence.claims.scoreboard"}  # it depends on all modules
DATA = {".json", ".toml"}  # files that the modules of a folder read


class Package:
    """The Python files below some folders, by dotted name: `companion`, `companion.core`,
    ...

    seen: the `stamps` of the folders at the moment from which on no file may change
    (None: now).
    """

    def __init__(self, *roots, seen=None) -> None:
        self.roots = {Path(root).name: Path(root) for root in roots}
        self._seen = stamps(*roots) if seen is None else seen
        self._facts = functools.cache(self._read)

    def file(self, module: str) -> Path | None:
        """Path of a module of this package, or None."""
        first, *rest = module.split(".")
        if first not in self.roots:
            return None
        stem = self.roots[first].joinpath(*rest)
        folder = stem / "__init__.py"
        if folder.is_file():
            return folder
        single = stem.with_suffix(".py")
        return single if rest and single.is_file() else None

    def modules(self) -> set[str]:
        """Dotted names of all modules."""
        names = set()
        for root in self.roots.values():
            for path in root.rglob("*.py"):
                name = ".".join(path.relative_to(root.parent).with_suffix("").parts)
                names.add(name.removesuffix(".__init__"))
        return names

    def closure(self, modules) -> set[str]:
        """The modules of this package that `modules` import, transitively, with
        themselves."""
        found = set()
        todo = {m for m in modules if self.file(m)}
        while todo:
            module = todo.pop()
            found.add(module)
            if module in IMPORT_BY_NAME:
                return self.modules()
            _, imported = self._facts(module)
            todo |= imported - found
        return found

    def imported(self, tree) -> set[str]:
        """Modules of this package that a syntax tree imports, also inside functions.

        `from a import b` counts as a, and as a.b if that is a module.
        """
        found = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found |= {a.name for a in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    found.add(inner if self.file(inner) else node.module)
        return {m for m in found if self.file(m)}

    def digest(self, modules) -> str:
        """Hexadecimal digest (16 characters) of the closure of `modules`."""
        parts = []
        for module in sorted(self.closure(modules)):
            own, _ = self._facts(module)
            parts.append((module, own))
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]

    def written(self, paths) -> list[Path]:
        """Those of these paths that were written to, or vanished, since the stamps were
        seen."""
        changed = []
        for path in paths:
            if stamp(path) != self._seen.get(str(path)):
                changed.append(path)
        return changed

    def seen(self, modules) -> dict:
        """{path: its stamp as seen} of a closure and of the data files beside its
        modules."""
        paths = [self.file(m) for m in self.closure(modules)]
        paths += self.data(modules)
        return {str(p): self._seen.get(str(p)) for p in paths}

    def data(self, modules) -> list[Path]:
        """Paths of the data files beside the modules of a closure, in order."""
        paths = []
        for folder in {self.file(m).parent for m in self.closure(modules)}:
            paths += [p for p in folder.iterdir() if p.suffix in DATA]
        return sorted(paths)

    def _read(self, module):
        """(digest of the syntax tree without docstrings, modules imported) of one
        file."""
        tree = bare(ast.parse(self.file(module).read_bytes()))
        own = hashlib.sha256(ast.dump(tree).encode()).hexdigest()
        return own, self.imported(tree)


def bare(tree):
    """The syntax tree without docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            match node.body:
                case [ast.Expr(value=ast.Constant(value=str())), *rest]:
                    node.body = rest
    return tree
