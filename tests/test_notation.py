"""The page of notation against the code: names exist, and every argument of a policy is explained,
on the page or in the docstring of its factory."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import companion
from companion import optimisers, policies
from tools.chapters import load, pages

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "book" / "notation.md").read_text("utf8")
CELL = re.compile(r"`([A-Za-z_]\w*)`")


def tables(text):
    """The rows of all tables, as lists of cells; heads and rules are left out."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in lines]
    return [r for r in rows if not set("".join(r)) <= {"-"} and r[1] != "name"]


SHARED, *OWN = PAGE.split("### Chapter ")
CHAPTERS = {CELL.search(part)[1]: tables(part) for part in OWN}  # chapter -> rows


def own_names(policy):
    """Names that the page keeps for one policy."""
    rows = [row for rows in CHAPTERS.values() for row in rows if policy in CELL.findall(row[0])]
    return {name for row in rows for name in CELL.findall(row[1])}


def shared_names():
    """Names of the whole book."""
    return {name for row in tables(SHARED) for name in CELL.findall(row[1])}


FOUND = {**policies.TABLE, **optimisers.TABLE}


def arguments(policy):
    """The arguments of the factory of a policy or optimiser."""
    factory = FOUND[policy].factory
    named = inspect.signature(factory).parameters.values()
    return {p.name for p in named if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}


@pytest.fixture(scope="module")
def known():
    """Arguments of public functions and fields of public tuples of the package, and parameters."""
    found = {name for chapter in load(ROOT).values() for name in chapter.parameters}
    for info in pkgutil.walk_packages(companion.__path__, "companion."):
        module = importlib.import_module(info.name)
        for name, thing in vars(module).items():
            if name.startswith("_") or getattr(thing, "__module__", None) != info.name:
                continue
            thing = getattr(thing, "py_func", thing)
            if inspect.isfunction(thing):
                found |= set(inspect.signature(thing).parameters)
            found |= set(getattr(thing, "_fields", ()))
    return found


def test_the_page_was_read():
    assert {"T", "epsilon", "delta", "ridge", "seed"} <= shared_names()
    assert {"learner", "clip", "jitter"} <= own_names("online_linucb")
    assert own_names("linucb") == set()


def test_every_name_exists_in_the_code(known):
    assert shared_names() - known == set()


def test_a_name_is_listed_once():
    names = [name for row in tables(SHARED) for name in CELL.findall(row[1])]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("policy", FOUND)
def test_every_argument_of_a_policy_is_explained(policy):
    """The arguments of the factory, each a word of its docstring or a name of the page."""
    said = set(re.findall(r"\w+", inspect.getdoc(FOUND[policy].factory) or ""))
    dark = sorted(arguments(policy) - shared_names() - own_names(policy) - said)
    where = f"the docstring of `{policy}` ({FOUND[policy].module})"
    assert not dark, f"say in {where} what {', '.join(dark)} is, or in book/notation.md"


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_names_of_single_policies_are_theirs(chapter, known):
    """Of finished chapters, that is of those that the table of contents lists."""
    finished = f"book/{chapter}" in pages(ROOT)
    for cell, names, *_ in CHAPTERS[chapter]:
        for policy in CELL.findall(cell):
            if policy in FOUND:
                factory = FOUND[policy].factory
                open_ended = any(
                    p.kind is p.VAR_KEYWORD for p in inspect.signature(factory).parameters.values()
                )
                wanted = known if open_ended else arguments(policy)
                assert set(CELL.findall(names)) <= wanted, policy
            else:
                assert not finished, f"{policy} is not in the package"


def test_every_citation_names_the_same_version():
    cff = (ROOT / "CITATION.cff").read_text("utf8")
    version = re.search(r"^version: (.+)$", cff, re.MULTILINE)[1]
    for page in ("README.md", "book/reproducibility.md"):
        assert re.findall(r"Version ([\d.]+)", (ROOT / page).read_text("utf8")) == [version], page
