"""Planted faults: what the tests must see.  `make mutants`.

Each fault in `mutants.toml` is planted in a copy of the project, the tests that its row
names run there, and one of them must fail.  Without the fault all of them must pass.
"""

import argparse
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = shutil.ignore_patterns(
    ".git",
    ".venv",
    "_build",
    "__pycache__",
    ".*_cache",
    "*.ipynb~",
)
# `make check` has to see a fault
FAST = ("-m", "not slow and not browser and not nightly")
# a run that takes longer hangs: of one fault, of all tests
SECONDS = 180
WHOLE = 3_600


class Mutant(NamedTuple):
    """A fault: in `file`, `old`, which stands there once, becomes `new`."""

    name: str
    file: str
    old: str
    new: str
    tests: str


MUTANTS = [
    Mutant(**row)
    for row in tomllib.loads((ROOT / "tests" / "mutants.toml").read_text("utf8"))["fault"]
]


def tests(m):
    """The tests of a mutant as pytest takes them."""
    return [f"tests/{test}" for test in m.tests.split()]


def wrong(m):
    """Why a row is no fault of this project, or ""."""
    if not (ROOT / m.file).is_file():
        return f"there is no {m.file}"
    for test in tests(m):
        file, _, name = test.partition("::")
        text = (ROOT / file).read_text("utf8") if (ROOT / file).is_file() else ""
        if not text or (name and f"def {name.partition('[')[0]}(" not in text):
            return f"there is no {test}"
    count = (ROOT / m.file).read_text("utf8").count(m.old)
    if count != 1 or m.old == m.new:
        return f"the old text stands {count} times in {m.file}, or is the new one"
    return ""


def pytest(root, names, *options, seconds=SECONDS):
    """(exit code, or None after so many seconds; output) of tests in a copy of the
    project.

    Kernels are interpreted: short tests end sooner.
    """
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        *FAST,
        *options,
    ]
    told = {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}
    told |= {"NUMBA_DISABLE_JIT": "1"}
    with tempfile.TemporaryFile("w+") as log:
        run = subprocess.Popen(
            [*command, *names],
            cwd=root,
            env=os.environ | told,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = run.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            code = run.wait() and None
        log.seek(0)
        return code, log.read()


def failing(root, mutants):
    """Tests that fail, or are not there, in a copy without any fault: they catch
    nothing."""
    names = {t for m in mutants for t in tests(m)}
    _, said = pytest(root, ["--collect-only", *names])
    gone = {t for t in names if re.search(rf"not found: \S*{re.escape(t)}$", said, re.M)}
    code, said = pytest(root, sorted(names - gone), seconds=WHOLE)
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", said, re.M)
    if code not in (0, 1) or bool(failed) != bool(code):
        sys.exit(f"without a fault pytest ends with {code}:\n{said[-2000:]}")
    return gone | {t for t in names if any(f.startswith(t) for f in failed)}


def tried(m, root):
    """(whether a fault is caught, by what) in a copy of the project, which is left as it
    was."""
    text = (root / m.file).read_text("utf8")
    (root / m.file).write_text(text.replace(m.old, m.new), "utf8")
    try:
        code, said = pytest(root, tests(m), "-x")
    finally:
        (root / m.file).write_text(text, "utf8")
    if code is None:
        return True, f"no end within {SECONDS} s: it hangs"
    if code in (0, 1):
        failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", said, re.M)
        return code == 1, " ".join(failed) or "all tests pass"
    return False, f"no test ran, pytest ends with {code}:\n{said[-2000:]}"


def main(arguments=None):
    """Plant the faults and print a line for each; 1 if one survives or a row is wrong,
    else 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="part of a mutant's name or file")
    parser.add_argument(
        "--jobs",
        type=int,
        default=1,
        help="copies in which faults are planted",
    )
    told = parser.parse_args(arguments)
    chosen = [m for m in MUTANTS if told.only in f"{m.name} {m.file}"]
    sound = [m for m in chosen if not wrong(m)]
    copies = queue.Queue()
    alive = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(told.jobs) as pool:
        for i in range(told.jobs):
            copies.put(shutil.copytree(ROOT, Path(folder, str(i)), ignore=LEFT_OUT))
        bad = failing(Path(folder, "0"), sound)

        def one(m):
            if why := wrong(m) or ", ".join(
                f"{t} fails without it" for t in tests(m) if t in bad
            ):
                return False, why, 0.0
            root = copies.get()
            begin = time.perf_counter()
            try:
                return *tried(m, root), time.perf_counter() - begin
            finally:
                copies.put(root)

        for m, (caught, by, seconds) in zip(chosen, pool.map(one, chosen), strict=True):
            said = "caught" if caught else "SURVIVES"
            print(f"{said:8} {seconds:5.1f} s  {m.name} ({m.file}): {by}", flush=True)
            alive += not caught
    print(f"{len(chosen) - alive} of {len(chosen)} faults are caught")
    return 1 if alive or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
