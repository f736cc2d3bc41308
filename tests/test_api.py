"""The pages on the package: every folder has one, every public name stands there, explained."""

import ast
import doctest
import html
import importlib
import re
from pathlib import Path

import pytest

from companion.jit import PACKAGE
from tools import api, api_names, api_page, chapters, code_pages
from tools.errors import Failure

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {api_names.folder(m) for m in PACKAGE.modules()} - {""}
PAGES = ROOT / "book" / "api"
WITH_EXAMPLES = sorted(
    m for m in PACKAGE.modules() if ">>>" in PACKAGE.file(m).read_text() and m != "companion"
)


@pytest.fixture(scope="module")
def used():
    return api.users(chapters.load(ROOT))


@pytest.fixture(scope="module")
def pages(used):
    return {f: api.fill((PAGES / f"{f}.md").read_text("utf8"), ROOT, used) for f in FOLDERS}


def read(module):
    """(syntax tree, lines) of a module."""
    text = PACKAGE.file(module).read_text("utf8")
    return ast.parse(text), text.splitlines()


def test_every_folder_has_a_page_that_the_contents_list():
    pages = {p.removeprefix("book/api/") for p in chapters.pages(ROOT) if p.startswith("book/api/")}
    assert pages == FOLDERS | {"arguments"}


@pytest.mark.parametrize("folder", sorted(FOLDERS))
def test_every_public_name_stands_on_its_page_with_its_arguments_and_errors(folder, pages):
    assert "\nSource: " in (PAGES / f"{folder}.md").read_text("utf8")
    text = pages[folder]
    assert "% api" not in text
    for module in PACKAGE.modules():
        if api_names.folder(module) == folder:
            assert f"## `{module}`" in text
            tree, _ = read(module)
            for node in api_names.public(tree):
                part = text.split(f' id="{module}.{node.name}" ')[1].split("\n## ")[0]
                said = part.split(f' id="{module}.')[0].split('<dl class="field-list">')[-1]
                missing = [
                    n for n in api_names.taken(node) if f"<li><code>{n}</code> (" not in said
                ]
                missing += [e for e in api_names.raised(node) if f"<code>{e}</code>" not in said]
                assert not missing, node.name
                if api_page.makes(node):
                    assert "Source:" in said or "<dt>Source</dt>" in said, node.name


@pytest.fixture(scope="module")
def code():
    return api.code(ROOT)


@pytest.mark.parametrize("folder", sorted(FOLDERS))
def test_every_link_of_a_page_leads_to_a_place_that_is_there(folder, pages, code):
    links = re.findall(r'href="([^"]+)"', pages[folder])
    assert sum("_code/" in link for link in links) > 1
    for link in links:
        place, _, name = link.partition("#")
        if place.startswith("../../"):
            where = code[place.removeprefix("../../")]
        elif place.startswith("../"):
            where = (ROOT / "book" / place[3:]).with_suffix(".ipynb").read_text("utf8")
        else:
            where = pages[place.removesuffix(".html")]
        assert not name or f'id="{name}"' in where, link


def test_every_public_name_leads_to_its_code(pages, code):
    for module in PACKAGE.modules():
        if folder := api_names.folder(module):
            for node in api_names.public(read(module)[0]):
                assert f'href="../../{code_pages.link(module, node.name)}"' in pages[folder]


def test_a_page_of_code_has_its_module_letter_by_letter_and_marks_a_whole_definition(code):
    for module in ("companion.core", "companion.stats", "companion.kernels.linalg"):
        text = PACKAGE.file(module).read_text("utf8")
        page = code[code_pages.link(module)]
        shown = page.split('<pre tabindex="0">')[1].split("</pre>")[0]
        assert html.unescape(re.sub(r"<[^>]+>", "", shown)) == text
    text = "@jit\ndef f(x):\n    'Twice.'\n    return x < 2  # two\n\ny = 'a'\n"
    assert code_pages.marked(text, [("f", 1, 4)]) == (
        "<span id=\"f\">@jit\ndef f(x):\n    <i>'Twice.'</i>\n    return x &lt; 2  <i># two</i>\n"
        "</span>\ny = 'a'\n"
    )


def test_a_page_of_code_leads_to_its_file_once_there_is_an_address():
    page = code_pages.page("companion.a", "x = 1\n", "h", "https://forge/p", "companion/a.py")
    assert '<a href="https://forge/p/blob/HEAD/companion/a.py">companion/a.py</a>' in page
    assert "blob" not in code_pages.page("companion.a", "x = 1\n", "h")


@pytest.mark.parametrize("folder", sorted(FOLDERS))
def test_every_public_name_says_its_purpose_arguments_and_result(folder):
    known = api_names.meanings(ROOT, folder)
    assert not [name for name, text in known.items() if "$" in text]
    found = {}
    for module in PACKAGE.modules():
        if api_names.folder(module) == folder:
            tree, lines = read(module)
            for node in api_names.public(tree):
                if dark := api_names.lacking(node, lines, known):
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
    assert api_names.lacking(node, text.splitlines(), known) == DARK[text]


def test_errors_are_told_in_the_words_of_the_code():
    (node,) = ast.parse(
        "def f(n):\n    need_int('n', n)\n    if n > 3:\n"
        "        raise ValueError(f'n must be at most {TOP}; got {n}')\n    raise Unfit()"
    ).body
    said = {"ValueError": "an argument is outside its range; n must be at most TOP", "Unfit": ""}
    assert api_names.raised(node) == said


def test_a_folder_s_own_meaning_of_a_name_comes_first(tmp_path):
    (tmp_path / "book" / "api").mkdir(parents=True)
    head = "| name | what it is |\n|---|---|\n"
    (tmp_path / api_names.ARGUMENTS).write_text(
        f"{head}| `a`, `b` | common |\n\n## Of `one`\n\n{head}| `a` | own |\n\n## Of `two`\n"
    )
    row = "| $a$ | `c` | far | above 0 |"
    (tmp_path / api_names.NOTATION).write_text(
        f"| symbol | name | meaning | range |\n|---|---|\n{row}"
    )
    assert api_names.meanings(tmp_path, "one") == {"a": "own", "b": "common", "c": "far; above 0"}
    assert api_names.meanings(tmp_path, "two")["a"] == "common"


def test_a_policy_leads_to_the_chapters_that_import_it_and_to_the_type_it_makes(pages):
    part = pages["baselines"].split(' id="companion.baselines.jdp_linucb.jdp_linucb"')[1]
    part = part.split(' id="')[0]
    assert '<a href="../playing.html">Playing</a>' in part
    assert '<a href="ground.html#companion.core.Policy">Policy</a>' in part


def test_a_type_is_that_of_the_module_first():
    where = {"State": "here"}
    said = api_page.typed(ast.parse("Sequence['State'] | a.State").body[0].value, where)
    assert said == 'Sequence[<a href="here">State</a>] | a.State'


def test_a_row_on_one_function_comes_first_and_every_row_is_of_a_name_that_is_there():
    (node,) = ast.parse("def f(a: int, b: int) -> int: ...").body
    assert api_names.explained(node, [], {"a": "1", "f.a": "2", "g.b": "3"}) == {"a": "2"}
    common, *own = (ROOT / api_names.ARGUMENTS).read_text("utf8").split(api_names.OWN)
    for part, folders in [(common, FOLDERS), *((p, {p.split("`")[1]}) for p in own)]:
        names = set()
        for module in PACKAGE.modules():
            if api_names.folder(module) in folders:
                for node in api_names.public(read(module)[0]):
                    nodes = [
                        node,
                        *(api_names.public(node) if isinstance(node, ast.ClassDef) else ()),
                    ]
                    names |= {node.name, *(n for x in nodes for n in api_names.taken(x))}
                    names |= {f"{node.name}.{n}" for n in api_names.taken(node)}
        rows = re.findall(r"^\| (`.*?) \|", part, re.MULTILINE)
        told = [n for row in rows for n in re.findall(r"`([\w.]+)`", row)]
        assert len(told) == len(set(told)) > 5
        assert set(told) <= names, set(told) - names


def test_a_folder_that_is_not_there_is_named(used):
    with pytest.raises(Failure, match="asks for cellar"):
        api.fill("% api cellar", ROOT, used)


def test_signatures_have_defaults_and_no_types():
    tree = ast.parse(
        "def f(a: int, b: str = 'x', *, c: float = 1.0, **d: Any) -> int: ...\n"
        "class A:\n    def m(self, x: int): ...\n"
        "class B:\n    u: int\n    v: float = 2.0\n"
    ).body
    assert api_page.signature(tree[0]) == "(a, b='x', *, c=1.0, **d)"
    assert api_page.signature(tree[1].body[0]) == "(x)"
    assert api_page.signature(tree[2]) == "(u, v=2.0)"


def test_house_prose_is_plain_text_and_code():
    assert api_page.text("x' of a_b<c, `f`s (`g`)") == (
        "x' of a_b&lt;c, <code>f</code>s (<code>g</code>)"
    )
    doc = "Source: one\n  two.\nCost: O(d).\n\n* a\n  b\n* c\n\n    x  y\n\n>>> 1\n1\n"
    shown, fields = api_page.prose(doc, fields=True)
    assert fields == [("Source", "one two."), ("Cost", "O(d).")]
    assert shown.startswith("<ul><li>a b</li><li>c</li></ul>\n")
    assert '<pre tabindex="0">    x  y</pre>' in shown
    assert '<div class="highlight"><pre tabindex="0">' in shown
    assert api_page.prose("Source: one") == ("<p>Source: one</p>", [])


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_in_docstrings_run(module):
    failed, tried = doctest.testmod(importlib.import_module(module))
    assert tried
    assert not failed
