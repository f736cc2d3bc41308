"""The pages on the package: every folder has one, every public name stands there, explained."""

import ast
import doctest
import importlib
from pathlib import Path

import pytest

from companion._jit import PACKAGE
from tools import api, chapters
from tools.errors import Failure
from tools.ext.reference import plain, prepared

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {api.folder(m) for m in PACKAGE.modules()} - {""}
PAGES = ROOT / "book" / "api"
WITH_EXAMPLES = sorted(
    m for m in PACKAGE.modules() if ">>>" in PACKAGE.file(m).read_text() and m != "companion"
)


@pytest.fixture(scope="module")
def used():
    return api.users(chapters.load(ROOT))


def read(module):
    """(syntax tree, lines) of a module."""
    text = PACKAGE.file(module).read_text("utf8")
    return ast.parse(text), text.splitlines()


def test_every_folder_has_a_page_that_the_contents_list():
    pages = {p.removeprefix("book/api/") for p in chapters.pages(ROOT) if p.startswith("book/api/")}
    assert pages == FOLDERS | {"arguments"}


@pytest.mark.parametrize("folder", sorted(FOLDERS))
def test_every_public_name_stands_on_its_page_with_its_arguments_and_errors(folder, used):
    own = (PAGES / f"{folder}.md").read_text("utf8")
    assert "\nSource: " in own
    text = api.fill(own, ROOT, used)
    assert "% api" not in text
    for module in PACKAGE.modules():
        if api.folder(module) == folder:
            assert f"## `{module}`" in text
            tree, _ = read(module)
            for node in api.public(tree):
                part = text.split(f":: {module}.{node.name}\n")[1].split("\n..")[0]
                assert all(f":param {name}:" in part for name in api.taken(node)), node.name
                assert all(f":raises {name}: " in part for name in api.raised(node)), node.name
            assert f"literalinclude:: /{PACKAGE.file(module).relative_to(ROOT).as_posix()}" in text


@pytest.mark.parametrize("folder", sorted(FOLDERS))
def test_every_public_name_says_its_purpose_arguments_and_result(folder):
    known = api.meanings(ROOT, folder)
    assert not [name for name, text in known.items() if "$" in text]
    found = {}
    for module in PACKAGE.modules():
        if api.folder(module) == folder:
            tree, lines = read(module)
            for node in api.public(tree):
                if dark := api.lacking(node, lines, known):
                    found[f"{module}.{node.name}"] = dark
    assert not found, "say it in the docstring or in book/api/arguments.md"


DARK = {
    "def f(x: int) -> int: ...": ["purpose", "x"],
    "def f(x: int):\n    'Twice x.'": ["result"],
    "def f(x: int, y: int, *z: int) -> int:\n    'Sum of x and z.'": ["y"],
    "def f(x: int, *, rng: int, _: int) -> int:\n    'A draw with x.'": [],
    "class A(NamedTuple):\n    'A pair.'\n    x: int  # a count\n    y: int": ["y"],
    "class Params(NamedTuple):\n    x: int  # a count": [],
    "class B:\n    x: int  # a count": ["purpose"],
}


@pytest.mark.parametrize("text", DARK)
def test_what_is_not_said_is_found(text):
    (node,) = ast.parse(text).body
    known = {"rng": "a generator", "Params": "the parameters"}
    assert api.lacking(node, text.splitlines(), known) == DARK[text]


def test_errors_are_told_in_the_words_of_the_code():
    (node,) = ast.parse(
        "def f(n):\n    need_int('n', n)\n    if n > 3:\n"
        "        raise ValueError(f'n must be at most {TOP}; got {n}')\n    raise Unfit()"
    ).body
    said = {"ValueError": "an argument is outside its range; n must be at most TOP", "Unfit": ""}
    assert api.raised(node) == said


def test_a_folder_s_own_meaning_of_a_name_comes_first(tmp_path):
    (tmp_path / "book" / "api").mkdir(parents=True)
    head = "| name | what it is |\n|---|---|\n"
    (tmp_path / api.ARGUMENTS).write_text(
        f"{head}| `a`, `b` | common |\n\n## Of `one`\n\n{head}| `a` | own |\n\n## Of `two`\n"
    )
    row = "| $a$ | `c` | far | above 0 |"
    (tmp_path / api.NOTATION).write_text(f"| symbol | name | meaning | range |\n|---|---|\n{row}")
    assert api.meanings(tmp_path, "one") == {"a": "own", "b": "common", "c": "far; above 0"}
    assert api.meanings(tmp_path, "two")["a"] == "common"


def test_a_policy_leads_to_the_chapters_that_import_it(used):
    text = api.fill("% api baselines", ROOT, used)
    part = text.split("jdp_linucb.jdp_linucb\n")[1].split("\n..")[0]
    assert "`Playing </book/playing>`" in part


def test_a_folder_that_is_not_there_is_named(used):
    with pytest.raises(Failure, match="asks for cellar"):
        api.fill("% api cellar", ROOT, used)


def test_house_prose_is_plain_text_and_code():
    assert plain("x' of a_b|c, `f`s and (`g`)") == "x' of a\\_b\\|c, `f`\\ s and (\\ `g`\\ )"
    lines = "Source: one\n  two.\nCost: O(d).\n\n* a\n  b\n\n    x  y\n\n>>> 1\n1".splitlines()
    fields = ":Source: one two.\n:Cost: O(d).\n\n\n* a b\n\n"
    end = "\n.. code-block:: text\n\n    x  y\n\n>>> 1\n1\n"
    assert "\n".join(prepared(lines, fields=True)) == fields + end
    assert prepared(["Source: one"], fields=False) == ["", "Source: one", "", ""]


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_in_docstrings_run(module):
    failed, tried = doctest.testmod(importlib.import_module(module))
    assert tried
    assert not failed
