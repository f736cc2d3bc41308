"""Types: every public function has them, and names for annotations serve annotations alone."""

import ast
import re

import pytest

from companion._closure import bare
from companion._jit import PACKAGE

MODULES = sorted(PACKAGE.modules() - {"companion._types"})
PASSED_OVER = 75  # lines that the checker is told to pass over; fewer is better


def run_with(tree):
    """Names of `companion._types` that code uses outside annotations: no digest knows them."""
    names = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "companion._types"
        for alias in node.names
    }
    return names & {n.id for n in ast.walk(bare(tree)) if isinstance(n, ast.Name)}


@pytest.mark.parametrize("module", MODULES)
def test_names_for_annotations_are_not_run(module):
    assert not run_with(ast.parse(PACKAGE.file(module).read_bytes()))


def test_a_name_that_is_run_is_found():
    text = "from companion._types import Array\ndef f(x: Array): return {}"
    assert run_with(ast.parse(text.format("Array(x)"))) == {"Array"}
    assert not run_with(ast.parse(text.format("x")))


def unannotated(tree):
    """Public functions, and methods of public classes, with an argument or a result of no type."""
    found = []
    for home in (tree, *(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name[0] != "_")):
        for f in home.body:
            if not isinstance(f, ast.FunctionDef) or (f.name[0] == "_" and f.name != "__init__"):
                continue
            a, static = f.args, "staticmethod" in map(ast.unparse, f.decorator_list)
            taken = [*a.posonlyargs, *a.args][0 if home is tree or static else 1 :]
            taken += [*a.kwonlyargs, *(x for x in (a.vararg, a.kwarg) if x)]
            if f.returns is None or any(x.annotation is None for x in taken):
                found.append(f.name)
    return found


@pytest.mark.parametrize("module", MODULES)
def test_every_public_function_says_its_types(module):
    assert unannotated(ast.parse(PACKAGE.file(module).read_bytes())) == []


def test_what_says_no_types_is_found():
    text = (
        "def f(x): pass\ndef g(x: int) -> int: pass\ndef _h(x): pass\ndef i(*x: int): pass\n"
        "class A:\n    def j(self, x): pass\n    def k(self) -> int: pass\n"
        "    def __init__(self, x): pass\n"
    )
    assert unannotated(ast.parse(text)) == ["f", "i", "j", "__init__"]


def test_what_the_checker_passes_over_names_its_error_and_does_not_grow():
    lines = [
        line
        for module in PACKAGE.modules()
        for line in PACKAGE.file(module).read_text("utf8").splitlines()
        if re.search("# type: ?ignore", line)
    ]
    named = r"# type: ignore\[[a-z-]+(, [a-z-]+)*\]"
    assert [line for line in lines if not re.search(named, line)] == []
    assert len(lines) <= PASSED_OVER


def test_the_package_says_that_it_has_types():
    assert (PACKAGE.root / "py.typed").is_file()
