"""The plan of the house: who imports whom, how long things get, where randomness comes from."""

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

ROOMS = {"online_linucb", "fliphat", "lplr", "streaming_sco", "private_glm"}
HIGHER = {"baselines", "report", "catalogue"} | ROOMS  # all else is the ground


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
    return any(getattr(d, "id", "") in ("jit", "inlined") for d in function.decorator_list)


def dotted(node):
    return ast.unparse(node) if isinstance(node, ast.Attribute) else ""


@every_file
def test_imports_point_down(name):
    """Ground < baselines < rooms; `report` stands on the ground; no room knows another."""
    part, others = name.split(".")[0], ours(name)
    if part == "__init__":
        assert not others
    elif part in ROOMS:
        assert others & HIGHER <= {"baselines", part}
    elif part in HIGHER:
        assert others & HIGHER <= {part, "catalogue"}
    else:
        assert not others & HIGHER


def test_the_ground_has_no_circles():
    below = {name: ours(name) for name in TREES if "." not in name and name != "__init__"}
    while below:
        free = {name for name, others in below.items() if not others & below.keys()}
        assert free, below
        below = {name: others for name, others in below.items() if name not in free}


def test_privacy_depends_on_checks_alone():
    assert ours("privacy") == {"checks"}


@every_file
def test_the_record_of_departures_is_imported_by_nobody(name):
    assert not any("as_run" in i.split(".") for i in imports(name))


@every_file
def test_only_report_draws(name):
    drawing = {"matplotlib", "seaborn", "cycler"} & {i.split(".")[0] for i in imports(name)}
    assert not drawing or name.startswith("report.")


@every_file
def test_pandas_is_imported_inside_functions_only(name):
    at_the_top = (n for n in tree(name).body if isinstance(n, (ast.Import, ast.ImportFrom)))
    assert name.startswith("report.") or not any("pandas" in ast.unparse(n) for n in at_the_top)


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
    modules = [f"companion.{n}" for n in TREES if "__init__" not in n and "report" not in n]
    code = f"import sys, {', '.join(modules)}; print([m for m in {heavy} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
