"""The disk cache: used when nothing changed that matters, never stale when a callee did."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import companion.jit

FILES = {
    "__init__": "",
    "_jit": companion.jit.__file__,
    "constants": '"""Numbers."""\n\nFACTOR = 2.0\n',
    "callee": "from tiny._jit import jit\nfrom tiny import constants\n\n"
    "FACTOR = constants.FACTOR\n\n@jit\ndef f(x):\n    return FACTOR * x\n",
    "caller": "from tiny._jit import jit\nfrom tiny.callee import f\n\n@jit\ndef g(x):\n"
    '    """One more."""\n    return f(x) + 1\n',
    "aside": "from tiny._jit import jit\n\n@jit\ndef h(x):\n    return 5 * x\n",
}
ASK = (
    "from tiny.caller import g; from tiny.aside import h; print(g(10.0), h(1.0),"
    " sum(g.stats.cache_misses.values()), sum(h.stats.cache_misses.values()))"
)


@pytest.fixture
def package(tmp_path):
    """A package of three modules in a chain and one aside; call it to run them in a new process:
    (g(10), h(1), kernels compiled of g's module, of h's).
    """
    root = tmp_path / "tiny"
    root.mkdir()
    for name, text in FILES.items():
        text = Path(text).read_text() if name == "_jit" else text
        (root / f"{name}.py").write_text(text)
    env = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA")}

    def ask(**more):
        run = subprocess.run(
            [sys.executable, "-c", ASK],
            cwd=tmp_path, env=env | more, capture_output=True, text=True, check=True,
        )  # fmt: skip
        *values, one, other = run.stdout.split()
        return (*map(float, values), int(one), int(other))

    def edit(name, old, new):
        path = root / f"{name}.py"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    ask.root, ask.edit = root, edit
    return ask


def test_what_an_edit_compiles(package):
    assert package() == (21.0, 5.0, 1, 1)
    assert package() == (21.0, 5.0, 0, 0)  # unchanged: from the cache
    package.edit("caller", '"""One more."""', '"""One more, said\n\n    at length."""  # or so')
    package.edit("caller", "from tiny._jit", "# a comment moves every line\nfrom tiny._jit")
    package.edit("constants", "Numbers.", "Numbers, and what they are for.")
    package.edit("callee", "def f(x):", "def f(x: float) -> float:")  # a type
    package.edit("constants", "FACTOR =", "FACTOR: float =")
    assert package() == (21.0, 5.0, 0, 0)
    package.edit("aside", "5 *", "6 *")  # another module's edit
    assert package() == (21.0, 6.0, 0, 1)
    package.edit("callee", "FACTOR * x", "FACTOR * x + 1.0")  # a callee
    assert package() == (22.0, 6.0, 1, 0)
    package.edit("constants", "2.0", "3.0")  # a constant two modules away
    assert package() == (32.0, 6.0, 1, 0)
    package.edit("constants", "3.0", "2.0")  # and back: it is still there
    assert package() == (22.0, 6.0, 0, 0)


@pytest.mark.slow
def test_four_cold_processes_at_once_agree(package):
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: package()[:2], range(4)))
    assert found == [(21.0, 5.0)] * 4
    assert package() == (21.0, 5.0, 0, 0)


def test_numba_cache_dir_is_respected(package, tmp_path):
    assert package(NUMBA_CACHE_DIR=str(tmp_path / "elsewhere"))[0] == 21.0
    assert list((tmp_path / "elsewhere").rglob("*.nbi"))
    assert not list(package.root.rglob("*.nbi"))


def test_old_kernels_go(package):
    package()
    (old,) = package.root.rglob("caller.g-*.nbi")
    os.utime(old, (0, 0))
    package.edit("callee", "FACTOR * x", "x")
    package()
    assert not old.exists()
    assert len(list(package.root.rglob("caller.g-*.nbi"))) == 1


def test_options_are_the_house_options():
    kernel = companion.jit.jit(lambda x: x)
    assert kernel.targetoptions["nogil"]
    assert kernel.targetoptions["error_model"] == "numpy"
    assert not kernel.targetoptions.get("fastmath")


def test_a_function_outside_the_package_is_never_taken_from_the_disk():
    kernel = companion.jit.jit(lambda x: x + 1)
    assert kernel(1) == 2
    assert not kernel.stats.cache_path


def test_no_kernel_depends_on_a_file_or_on_the_environment():
    """The digest covers syntax trees: a module with kernels reads nothing else."""
    package = companion.jit.PACKAGE
    reading = {"open", "read_text", "environ", "files", "load"}
    for module in package.modules() - {"companion.jit"}:
        text = package.file(module).read_text()
        if "import jit" in text or "import inlined" in text:
            names = {w for w in reading if re.search(rf"\b{w}\(|\.{w}\b", text)}
            assert not names, f"{module} uses {names}"


def with_part(idle):
    """(a kernel with so many statements that do little, a kernel that calls it twice in a loop)."""
    work = "".join(f"    a[{i}:] += x * a[{i + 1}]\n" for i in range(3))
    work += "    x = 0.5 * x + 0.25 * x\n" * idle
    made = {"jit": companion.jit.jit}
    exec(f"@jit\ndef part(a, x):\n{work}    a[0] += x\n    return a", made)
    exec(
        "@jit\ndef whole(a):\n    for x in a:\n        a = part(part(a, x), -x)\n    return a", made
    )
    return made["part"], made["whole"]


@pytest.mark.parametrize(("idle", "short"), [(1, True), (60, False)])
def test_a_short_kernel_stands_in_its_callers(idle, short):
    """It is not called: its machine code is there.  A long one is called, and both give the bits of
    plain Python."""
    part, whole = with_part(idle)
    a = np.random.default_rng(1).random(5) / 3.0
    made, plain = whole(a.copy()), a.copy()
    for x in plain:
        part.py_func(part.py_func(plain, x), -x)
    np.testing.assert_array_equal(made, plain)
    (code,) = whole.inspect_llvm().values()
    calls = [line for line in code.splitlines() if " call " in line and "4part" in line]
    assert companion.jit.is_short(part.py_func) == short
    assert bool(calls) != short
