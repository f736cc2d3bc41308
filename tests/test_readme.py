"""Every command of the README, in a fresh copy of the sources with a home of its own.

What is not tried here: installing (`.venv` leads to the environment of these tests, and the copy
comes first on the path as an editable installation would put it; the wheel's tests install), and
what takes more than minutes, of which `make` says here what it would run.  A chapter runs with the
parameters of its command and the others at smoke scale: at the papers' scale the book is built.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from companion.jit import CACHE
from tools.build import arguments
from tools.chapters import load, requests, scales

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text("utf8")
VERBS = r"(?:make|pip|papermill|python|cd|\.venv/bin/\w+)"
# Command: a part of what it prints, or None where only `make -n` looks at it.
TRIED = {
    "cd private-bandits": "",
    "make book": None,
    "make book SCALE=smoke": None,
    "make pdf": None,
    ".venv/bin/papermill book/online_linucb.ipynb out.ipynb -p T 2000 -p n_reps 5": "",
    "make check": None,
    "make test": None,
    "make bench": None,
}
ELSEWHERE = {  # a figure: tests/report/test_rerun.py; installing: tests/test_wheel.py
    ".venv/bin/python -m companion.report.rerun book/online_linucb.ipynb online-figure1-corrected "
    '-p epsilons "[2.0]"',
    'pip install ".[notebooks]"',
    'pip install ".[data]"',
}
LONG = {command for command in TRIED if "online_linucb" in command}
SMOKE = json.dumps(scales(ROOT)["smoke"]["online_linucb"])  # `-p` has the last word


def commands(text):
    """The commands of a README: lines of its blocks of shell code, and code in its prose."""
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    lines = [line.split("  #")[0].strip() for line in blocks.splitlines()]
    inline = re.findall(rf"`({VERBS} [^`]+)`", prose.replace("\n", " "))
    return [re.sub(r"\s+#.*", "", c) for c in [*filter(None, lines), *inline]]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """(folder above a fresh copy of the sources, environment variables)."""
    base = tmp_path_factory.mktemp("from nothing")
    copy = base / "private-bandits"
    left = ("_build", "dist", "published", ".venv", ".git", "__pycache__", ".*_cache")
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*left))
    (copy / ".venv").mkdir()
    for part in Path(sys.prefix).iterdir():
        (copy / ".venv" / part.name).symlink_to(part)
    (copy / ".venv" / ".installed").unlink(missing_ok=True)
    (copy / ".venv" / ".installed").touch()
    env = os.environ | {"HOME": str(base / "home"), "PYTHONPATH": str(copy)}
    env["NUMBA_CACHE_DIR"] = str(CACHE)  # kernels are known by content: those of the same code
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    (base / "home").mkdir()
    return base, env


def test_every_command_is_tried_here_or_elsewhere():
    assert set(commands(TEXT)) - {"git clone"} == TRIED.keys() | ELSEWHERE


def test_commands_are_found_wherever_they_stand():
    text = "Say `make me` or `python -m\na`, not `made`.\n```sh\nmake it   # now\n\npip x\n```\n"
    assert commands(text) == ["make it", "pip x", "make me", "python -m a"]


@pytest.mark.parametrize("command", sorted(c for c in TRIED.keys() | ELSEWHERE if " -p " in c))
def test_the_parameters_of_a_command_are_allowed_at_the_papers_scale(command):
    args = arguments(shlex.split(command[command.index(" -p ") :]))
    assert args.pairs
    requests(ROOT, load(ROOT), args.scale, ["online_linucb"], args.pairs)  # raises otherwise


@pytest.mark.parametrize(
    "command", [pytest.param(c, marks=[pytest.mark.slow] * (c in LONG)) for c in TRIED]
)
def test_it_does_what_it_says(command, fresh):
    (base, env), said = fresh, TRIED[command]
    folder = base if command.startswith("cd ") else base / "private-bandits"
    if said is None:
        command = command.replace("make ", "make -n ")
    if command in LONG:
        command += f" -y {shlex.quote(SMOKE)}"
    done = subprocess.run(
        command, shell=True, cwd=folder, env=env, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    if command.startswith("make -n"):
        assert ".venv/bin/python -m " in done.stdout
        assert "pip install" not in done.stdout  # the stub stands for the installation
        for module in re.findall(r"-m (tools\.\w+|benchmarks)", done.stdout):
            assert (folder / module.replace(".", "/")).with_suffix(".py").is_file() or (
                folder / module / "__main__.py"
            ).is_file()
    else:
        assert (said or "") in done.stdout
    if "papermill" in command:
        about = json.loads((folder / "out.ipynb").read_text("utf8"))["metadata"]["papermill"]
        assert {"T": 2000, "n_reps": 5}.items() <= about["parameters"].items()
