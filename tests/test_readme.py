"""Every command of the README is there: what `make` would run, and what parameters it
names."""

import re
import shlex
import subprocess

import pytest
from real_book import BOOK, ROOT

from tools.build import arguments
from tools.chapters import requests

TEXT = (ROOT / "README.md").read_text("utf8")
VERBS = r"(?:make|pip|papermill|python|cd|\.venv/bin/\w+)"


def commands(text):
    """The commands of a README: lines of its blocks of shell code, and code in its
    prose."""
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    lines = [line.split("  #")[0].strip() for line in blocks.splitlines()]
    inline = re.findall(rf"`({VERBS} [^`]+)`", prose.replace("\n", " "))
    return [re.sub(r"\s+#.*", "", c) for c in [*filter(None, lines), *inline]]


COMMANDS = commands(TEXT)


@pytest.mark.parametrize("command", [c for c in COMMANDS if "papermill" in c])
def test_the_parameters_of_a_command_are_allowed_at_the_papers_scale(command):
    args = arguments(shlex.split(command[command.index(" -p ") :]))
    assert args.pairs
    # raises otherwise
    requests(ROOT, BOOK, args.scale, ["online_linucb"], args.pairs)


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("make ")])
def test_make_runs_modules_that_are_there(command):
    asked = command.replace("make ", "make -n ")
    done = subprocess.run(asked, shell=True, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert ".venv/bin/python -m " in done.stdout
    for module in re.findall(r"-m (tools\.\w+|benchmarks)", done.stdout):
        folder = ROOT / module.replace(".", "/")
        assert folder.with_suffix(".py").is_file() or (folder / "__main__.py").is_file()
