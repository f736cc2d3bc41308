"""The plan of the house: who imports whom, how long things get, where randomness comes from."""

import ast
import functools
import subprocess
import sys
from pathlib import Path

import pytest

import companion
from companion._closure import Package, bare

ROOT = Path(companion.__file__).parent
TESTS = Path(__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
TREES = {p.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."): p for p in FILES}
every_file = pytest.mark.parametrize("name", TREES)

ROOMS = {"online_linucb", "fliphat", "lplr", "streaming_sco", "private_glm"}
FLOORS = (  # from the ground up
    {
        "checks",
        "_borrowed",
        "_closure",
        "_compiler",
        "_generators",
        "_jit",
        "_linked",
        "_types",
        "stats",
    },
    {"kernels"},
    {"accounting"},
    {
        "core",
        "data",
        "late",
        "live",
        "logs",
        "saved",
        "service",
        "sweep",
        "environments",
        "simulate",
        "catalogue",
    },
    {"baselines"},
    ROOMS,
    {"report"},
    {"audits", "arena", "timing"},
    {"judge"},
)
FLOOR = {part: i for i, floor in enumerate(FLOORS) for part in floor}
DRAWING = ("report.", "audits.", "arena.", "judge.")


@functools.cache
def tree(name):
    """The syntax tree of a file, read once for all tests, which leave it as it is."""
    return ast.parse(TREES[name].read_text())


@functools.cache
def imports(name):
    """Dotted names that a file imports, at the top or inside functions, but for types alone."""
    found = []
    for node in ast.walk(bare(ast.parse(TREES[name].read_text()))):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "write imports in full"
            found += [f"{node.module}.{a.name}" for a in node.names]
    return tuple(found)


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
    """From a floor to itself or below; no room knows another, nor audits the arena."""
    part, others = name.split(".")[0], ours(name)
    if part == "__init__":
        assert not others
    if part in ("__init__", "__main__"):
        return
    assert all(FLOOR[other] <= FLOOR[part] for other in others)
    if "." in name:  # a folder, alone with what is below
        assert all(FLOOR[other] < FLOOR[part] for other in others - {part})


def test_no_imports_make_a_circle():
    package = Package(ROOT)
    trees = {m: bare(ast.parse(package.file(m).read_bytes())) for m in package.modules()}
    below = {m: package.imported(t) for m, t in trees.items()}
    while below:
        free = {m for m, others in below.items() if not others & below.keys()}
        assert free, below
        below = {m: others for m, others in below.items() if m not in free}


@every_file
def test_the_record_of_departures_is_imported_by_nobody(name):
    assert not any("as_run" in i.split(".") for i in imports(name))


@every_file
def test_only_what_shows_things_draws(name):
    drawing = {"matplotlib", "seaborn", "cycler"} & {i.split(".")[0] for i in imports(name)}
    assert not drawing or name.startswith(DRAWING)


@every_file
def test_pandas_is_imported_inside_functions_only(name):
    at_the_top = (n for n in tree(name).body if isinstance(n, (ast.Import, ast.ImportFrom)))
    assert name.startswith(DRAWING) or not any("pandas" in ast.unparse(n) for n in at_the_top)


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


def whole_slices(function):
    """Lines of a kernel that give a slice something else than a number: an array has its shape
    checked, whose words take two seconds to compile; `linalg.copy` takes none."""
    return [
        n.lineno
        for n in ast.walk(function)
        if isinstance(n, ast.Assign | ast.AugAssign)
        and not all(isinstance(v, ast.Constant) for v in getattr(n.value, "elts", [n.value]))
        and any(
            isinstance(t, ast.Subscript)
            and any(isinstance(x, ast.Slice) for x in ast.walk(t.slice))
            for t in ast.walk(n)
            if isinstance(getattr(t, "ctx", None), ast.Store)
        )
    ]


@every_file
def test_no_kernel_gives_a_whole_slice_an_array(name):
    assert not [n for f in functions(name) if is_kernel(f) for n in whole_slices(f)]
    (planted,) = ast.parse("def f(a, b):\n    a[:] = b").body
    assert whole_slices(planted) == [2]


def for_types(node):
    """Lines of a statement at the top that serves annotations alone."""
    serving = isinstance(node, ast.ImportFrom | ast.If) and not bare(ast.Module([node], [])).body
    return node.end_lineno - node.lineno + 1 if serving else 0


def reason(node):
    """Whether a docstring has a paragraph that begins with "Size:" and says more."""
    parts = (ast.get_docstring(node) or "").split("\n\n")
    return any(part.startswith("Size: ") and len(part) > 20 for part in parts)


def head(f):
    """Lines of a function's head, which types make longer, beyond the first."""
    return f.body[0].lineno - f.lineno - 1


def too_long(f):
    """Whether a function has more than 40 lines, its head as one, or a kernel over 8 arguments."""
    taken = len(f.args.posonlyargs + f.args.args + f.args.kwonlyargs)
    return f.end_lineno - f.lineno - head(f) >= 40 or (is_kernel(f) and taken > 8)


def test_a_reason_is_a_paragraph_of_a_docstring():
    long = "def f(a, b, c, d, e, f, g, h, i):\n    " + '"""x{}"""'
    why = "\n\n    Size: the recursion has nine numbers."
    plain, explained, empty = (ast.parse("@jit\n" + long.format(t)).body[0]
                               for t in ("", why, "\n\n    Size: "))  # fmt: skip
    assert too_long(plain)
    assert [reason(f) for f in (plain, explained, empty)] == [False, True, False]


@every_file
def test_sizes(name):
    """A file has 250 lines, a function 40, a kernel 8 arguments, or its docstring says why not.

    The head of a function counts as one line, imports that serve types alone as none.
    """
    lines = len(TREES[name].read_text().splitlines())
    lines -= sum(map(head, functions(name))) + sum(map(for_types, tree(name).body))
    assert lines <= 250 or reason(tree(name)), f"{lines} lines; a paragraph `Size:` may say why"
    long = [f.name for f in functions(name) if too_long(f) and not reason(f)]
    assert long == []


@every_file
def test_everything_public_is_documented(name):
    module = tree(name)
    assert ast.get_docstring(module)
    classes = [n for n in module.body if isinstance(n, ast.ClassDef) and n.name[0] != "_"]
    for node in (n for parent in (module, *classes) for n in parent.body):
        public = isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name[0] != "_"
        if public and node.name not in {"Params", "State", "Model"}:  # their fields are commented
            assert ast.get_docstring(node), node.name


WITHOUT_TESTS = {}  # module: why no test file has its name


def mirror(name):
    """Where the tests of a module stand: its place below `tests`, without leading underlines."""
    *folders, stem = name.split(".")
    return TESTS.joinpath(*folders, f"test_{stem.strip('_')}.py")


def untested(names, reasons):
    """Modules with neither a test file of their name nor a reason, and reasons for others."""
    missing = {name for name in names if not mirror(name).is_file()}
    return sorted(missing - reasons.keys()), sorted(reasons.keys() - missing)


def test_every_module_has_a_test_file_of_its_name():
    names = [name for name in TREES if name.split(".")[-1] != "__init__"]
    assert untested(names, WITHOUT_TESTS) == ([], [])
    assert all(len(why) > 20 for why in WITHOUT_TESTS.values())
    assert untested(["_jit", "report.no_such"], {}) == (["report.no_such"], [])
    assert untested(["_jit"], {"_jit": "it has one"}) == ([], ["_jit"])


def test_importing_the_package_is_light():
    heavy = "matplotlib", "seaborn", "pandas", "dp_accounting", "distributed"
    modules = [f"companion.{n}" for n in TREES if "__init__" not in n and not n.startswith(DRAWING)]
    code = f"import sys, {', '.join(modules)}; print([m for m in {heavy} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
