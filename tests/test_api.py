"""The pages on the package: every folder has one, every public name stands there."""

import ast
import doctest
import importlib
from pathlib import Path

import pytest

from companion._jit import PACKAGE
from tools import api, chapters
from tools.errors import Failure

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {api._folder(m) for m in PACKAGE.modules()} - {""}
WITH_EXAMPLES = sorted(
    m for m in PACKAGE.modules() if ">>>" in PACKAGE.file(m).read_text() and m != "companion"
)


@pytest.fixture(scope="module")
def book():
    return chapters.load(ROOT)


def test_every_folder_has_a_page_that_the_contents_list():
    pages = {p.removeprefix("book/api/") for p in chapters.pages(ROOT) if p.startswith("book/api/")}
    assert pages == FOLDERS


@pytest.mark.parametrize("folder", sorted(FOLDERS))
def test_every_public_name_stands_on_its_page_with_its_docstring(folder, book):
    text = api.fill((ROOT / "book" / "api" / f"{folder}.md").read_text("utf8"), ROOT, book)
    assert "% api" not in text
    for module in PACKAGE.modules():
        if api._folder(module) == folder:
            assert f"## `{module}`" in text
            for node in api.public(ast.parse(PACKAGE.file(module).read_bytes())):
                assert f"### `{node.name}`" in text
                first = (ast.get_docstring(node) or node.name).splitlines()[0]
                assert first in text


def test_a_policy_leads_to_the_chapters_that_import_it(book):
    text = api.fill("% api baselines", ROOT, book)
    part = text.split("### `jdp_linucb`")[1].split("###")[0]
    assert "(../playing.ipynb)" in part


def test_a_folder_that_is_not_there_is_named(book):
    with pytest.raises(Failure, match="asks for cellar"):
        api.fill("% api cellar", ROOT, book)


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_in_docstrings_run(module):
    failed, tried = doctest.testmod(importlib.import_module(module))
    assert tried
    assert not failed
