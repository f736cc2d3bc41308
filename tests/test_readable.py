"""What papermill writes with the engine `readable` needs no Sphinx to be read."""

import json
import re
import sys
import tomllib

import nbformat
import papermill
import pytest
from papermill.engines import NBClientEngine, papermill_engines
from real_book import ROOT

from evidence import readable
from evidence.engine import Readable, need_own_kernel

MARKS = re.compile(
    r"\{(?:glue|cite|prf|eq|ref|term)[\w:]*\}|^[:`]{3,}\{|^\([\w-]+\)=$"
    r'|\]\([\w./#-]+\)|<a href="(?!http)',
    re.M,
)
PROSE = """(a-label)=
# Title

The number is
{glue:text}`small_n`, see {eq}`eq-a`, {prf:ref}`thm-a`, [here](a-label) \
and [there](https://example.org) {cite:p}`zheng2020`.
{cite:t}`zheng2020,anonymous_x` say so: it <a href="#evidence-a">holds</a>, and so does
<a href="#claim-b">{glue:text}`small_n`</a>.
What is judged elsewhere is [not settled](rows.ipynb#there).

:::{prf:theorem} theorem 1 of the paper
:label: thm-a

For $x\\in\\R$

$$
x = 1
$$ (eq-a)
:::

```python
{"a": 1}
```
"""
SAYS = (
    "from IPython.display import display\n"
    'meta = {"scrapbook": {"name": "small_n", "mime_prefix": ""}}\n'
    'display({"application/papermill.record/text/plain": repr(f"{n} users")}, '
    "raw=True, metadata=meta)"
)


def test_the_engine_is_declared_for_papermill():
    told = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))
    module, _, name = told["project"]["entry-points"]["papermill.engine"][
        "readable"
    ].partition(":")
    assert (module, name) == (Readable.__module__, Readable.__name__)


def test_a_run_leaves_numbers_titles_and_names_in_its_prose(tmp_path):
    papermill_engines.register("readable", Readable)
    cells = [
        nbformat.v4.new_markdown_cell(PROSE),
        nbformat.v4.new_code_cell("n = 1", metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell(SAYS),
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "", "language": "python"}}
    book = nbformat.v4.new_notebook(cells=cells, metadata=kernel)
    nbformat.write(book, tmp_path / "small.ipynb")
    out = tmp_path / "out.ipynb"
    papermill.execute_notebook(
        tmp_path / "small.ipynb",
        out,
        {"n": 7},
        engine_name="readable",
        progress_bar=False,
    )
    text = "".join(json.loads(out.read_text("utf8"))["cells"][0]["source"])
    assert "The number is\n7 users, see (1), Theorem 1 of the paper, here and" in text
    assert (
        "[there](https://example.org) (Zheng 2020).\nZheng (2020), Anonymous say" in text
    )
    assert "**Theorem 1 of the paper.**\n\n\nFor $x" in text
    assert "it holds (on the site), and so does\n7 users." in text
    assert "elsewhere is not settled (on the site).\n" in text
    assert "x = 1\n\\tag{1}\n$$\n\n◻\n\n```python" in text
    assert '```python\n{"a": 1}\n```' in text
    assert "\\newcommand{\\R}" in text
    assert not MARKS.search(text)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "book").glob("*.ipynb")), ids=lambda p: p.stem
)
def test_no_mark_of_the_site_is_left_in_a_chapter(path):
    """Where every number has been said."""
    book = json.loads(path.read_text("utf8"))
    text = "".join("".join(c["source"]) for c in book["cells"])
    names = re.findall(r"\{glue:text\}`([^`]+)`", text)
    outputs = []
    for name in names:
        said = {"data": {readable.PREFIX: "'said'"}}
        outputs.append(said | {"metadata": {"scrapbook": {"name": name}}})
    cell = {"cell_type": "code", "metadata": {}, "source": "", "outputs": outputs}
    book["cells"].append(cell)
    readable.make_readable(book)
    for cell in book["cells"]:
        if cell["cell_type"] == "markdown":
            left = MARKS.findall("".join(cell["source"]))
            assert not left, (cell["source"], left)


def test_it_runs_as_papermill_does():
    assert issubclass(Readable, NBClientEngine)


def test_a_kernel_of_another_environment_is_refused_with_both_names(
    tmp_path, monkeypatch
):
    need_own_kernel("python3")
    for name, command in (("plain", "python"), ("theirs", "/other/bin/python3")):
        folder = tmp_path / "kernels" / name
        folder.mkdir(parents=True)
        told = {"argv": [command], "display_name": "", "language": "python"}
        (folder / "kernel.json").write_text(json.dumps(told))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    need_own_kernel("plain")
    with pytest.raises(ValueError, match="starts /other/bin/python3") as refused:
        need_own_kernel("theirs")
    assert sys.executable in str(refused.value)
