"""The shape of the package: who imports whom, how long things get, where randomness comes from."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import companion

ROOT = Path(companion.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
TREES = {p.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."): p for p in FILES}
every_file = pytest.mark.parametrize("name", TREES)

LAYERS = [
    {"_jit", "checks"},
    {"core", "privacy", "binomial", "stats"},
    {"linalg"},
    {"glm", "mechanisms", "tree", "environments", "maler"},
    {"sparse", "lplr"},
    {"policies", "sco"},
    {"simulate", "audit"},
    {"sparse_paths"},
    {"as_run"},
    {"claims"},
    {"plots"},
]
HEIGHT = {name: i for i, layer in enumerate(LAYERS) for name in layer}
SAME_LAYER = {"core", "privacy", "binomial", "glm", "mechanisms", "tree", "environments"}
SAME_LAYER |= {"as_run", "lplr", "policies", "sco", "sparse"}


def tree(name):
    return ast.parse(TREES[name].read_text())


def imports(name):
    """Dotted names that a file imports, at the top or inside functions."""
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "write imports in full"
            yield from (f"{node.module}.{a.name}" for a in node.names)


def ours(name):
    """Top-level parts of our own package that a file imports."""
    found = (i.split(".") for i in imports(name))
    return {parts[1] for parts in found if parts[0] == "companion" and len(parts) > 1}


def functions(name):
    return [n for n in ast.walk(tree(name)) if isinstance(n, ast.FunctionDef)]


def is_kernel(function):
    return any(getattr(d, "id", "") == "jit" for d in function.decorator_list)


def dotted(node):
    return ast.unparse(node) if isinstance(node, ast.Attribute) else ""


@every_file
def test_imports_point_downwards(name):
    part = name.split(".")[0]
    if part == "__init__":
        assert not ours(name)
        return
    assert part in HEIGHT, f"give {part} a place in LAYERS"
    for other in ours(name):
        below = HEIGHT[other] < HEIGHT[part]
        assert below or (other in SAME_LAYER and HEIGHT[other] == HEIGHT[part]), other


def test_privacy_depends_on_checks_alone():
    assert ours("privacy") == {"checks"}


@every_file
def test_the_record_of_departures_is_imported_by_nobody(name):
    assert name.startswith("as_run.") or "as_run" not in ours(name)


@every_file
def test_only_plots_draws(name):
    drawing = {"matplotlib", "seaborn", "cycler"} & {i.split(".")[0] for i in imports(name)}
    assert not drawing or name == "plots"


@every_file
def test_randomness_comes_from_a_generator(name):
    allowed = {"Generator", "SeedSequence", "default_rng", "PCG64"}
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "np.random":
            assert node.attr in allowed, ast.unparse(node)
    for kernel in filter(is_kernel, functions(name)):
        assert "np.random" not in ast.unparse(kernel), kernel.name
    assert "random" not in {i.split(".")[0] for i in imports(name)}


@every_file
def test_kernels_compute_alike_with_and_without_compilation(name):
    """NumPy's own exp, log and the like differ from the C library's in the last bit."""
    inexact = {"exp", "log", "log1p", "expm1", "tanh", "log2", "log10", "power", "sum", "mean"}
    for kernel in filter(is_kernel, functions(name)):
        used = {n.attr for n in ast.walk(kernel) if dotted(n).startswith("np.")}
        assert not used & inexact, f"{kernel.name}: take {used & inexact} from math"


@every_file
def test_sizes(name):
    assert len(TREES[name].read_text().splitlines()) <= 300
    for f in functions(name):
        assert f.end_lineno - f.lineno < 60, f.name


@every_file
def test_everything_public_is_documented(name):
    module = tree(name)
    assert ast.get_docstring(module)
    classes = [n for n in module.body if isinstance(n, ast.ClassDef)]
    for node in (n for parent in (module, *classes) for n in parent.body):
        public = isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name[0] != "_"
        if public and node.name not in {"Params", "State", "Model"}:  # their fields are commented
            assert ast.get_docstring(node), node.name


def test_importing_the_package_is_light():
    heavy = "matplotlib", "seaborn", "pandas", "dp_accounting", "distributed"
    modules = [f"companion.{n}" for n in TREES if "__init__" not in n and n != "plots"]
    code = f"import sys, {', '.join(modules)}; print([m for m in {heavy} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
