"""CONTRIBUTING followed to the letter, in a copy of the tree: a new policy is one file.

Two policies, one of them private, are put there, and the tests that look at every policy run.  What
is left out of a file then fails one test, which says what to write, and where.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from companion.jit import CACHE

ROOT = Path(__file__).resolve().parent.parent
POLICIES = sorted(Path(__file__).with_name("contributing").glob("*.py"))
LOOKING = (
    "streams.names",
    "ROOT.rglob",
)  # what a test that looks at every policy says
PARTS = ("companion", "tests", "book", "tools", "pyproject.toml", "_toc.yml", "CITATION.cff",
         "README.md", "CONTRIBUTING.md", "ERRATA.md", "CHANGELOG.md")  # fmt: skip
pytestmark = pytest.mark.slow


def looking():
    """The test files that look at every policy."""
    found = ROOT.glob("tests/**/test_*.py")
    said = {p.relative_to(ROOT): p.read_text("utf8") for p in found if p != Path(__file__)}
    return sorted(str(p) for p, text in said.items() if any(word in text for word in LOOKING))


@pytest.fixture
def copy(tmp_path):
    """A copy of the tree with both policies in `baselines`."""
    for name in PARTS:
        source, target = ROOT / name, tmp_path / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, target)
    for path in POLICIES:
        shutil.copy2(path, tmp_path / "companion" / "baselines" / path.name)
    return tmp_path


def tried(root, which):
    """What pytest prints for the tests of this expression in a copy, all but slow ones; kernels are
    known by content, so the copy takes those that are compiled here."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow"]
    job = subprocess.run(
        [*command, "-k", which, *looking()], cwd=root, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(root), "NUMBA_CACHE_DIR": str(CACHE)},
    )  # fmt: skip
    return job.stdout + job.stderr


NAMED = " or ".join(p.stem for p in POLICIES)
OF_ALL = "forgotten or recipe or trust_model or a_name or every_name"


def test_two_policies_are_two_files(copy):
    said = tried(copy, f"{NAMED} or {OF_ALL}")
    assert re.search(r"\d+ passed", said), said[-3000:]
    assert "failed" not in said, said[-3000:]
    assert "error" not in said, said[-3000:]
    passed = int(re.search(r"(\d+) passed", said)[1])
    assert passed > 60, "the common tests have looked at both"


LEFT_OUT = {  # what is taken out of a file: (from, to), and what the one failure says
    "an argument": ("explore in\n    [0, 1] is the share of rounds that try any arm.", "",
                    "say in the docstring of `noisy_direction`"),
    "the cost": ("Cost:", "Price:", "`Cost:`"),
    "what leaves it": ("def disclosures(", "def _audit_instances(",
                       "baselines.noisy_direction promises privacy: write `disclosures()` there"),
    "an attack": ("def attack(", "def _attacked(",
                  "baselines.noisy_direction must define `attack(policy)`"),
}  # fmt: skip


def test_what_is_missing_fails_one_test_each_that_says_so(copy):
    path = copy / "companion" / "baselines" / "noisy_direction.py"
    text = path.read_text("utf8")
    for old, new, _ in LEFT_OUT.values():
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    said = tried(copy, f"noisy_direction or {OF_ALL}")  # the other file is as it was
    failed = re.findall(r"^FAILED (.*)$", said, re.MULTILINE)
    assert len(failed) == len(LEFT_OUT), said[-5000:]
    assert "rror" not in said.splitlines()[-1]
    for _, _, words in LEFT_OUT.values():
        assert words in said
