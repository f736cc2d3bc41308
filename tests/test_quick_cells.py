"""Cells of the book that take seconds at the papers' scale: the claims that they make are
those of `book/results.lock`, and they show what `shown.toml` says."""

import ast
import builtins
import re
import tomllib
from dataclasses import asdict

import IPython.display
import pandas as pd
import pytest
from cell_names import names, needs
from real_book import BOOK, ROOT

from evidence.claims import plots, tables
from evidence.claims.page import Page
from tools import lock
from tools.chapters import plain, source, tags

CLAIMS = lock.read(ROOT)["claims"]
SHOWN = tomllib.loads((ROOT / "tests" / "shown.toml").read_text("utf8"))
PAGES = [name for name in BOOK if name in SHOWN]
WHOLE = {"mechanisms", "playing", "privacy_models"}
# tags of demonstrations, a seed, and what simulates for long
ASIDE = {"plain-numpy", "use-it", "seed", "covered", "shuffled"}


def quick(name):
    """The code of a page's cells; but for pages that are quick as a whole, of those that
    continue no demonstration, no long run and nothing with a seed."""
    cells = BOOK[name].notebook["cells"]
    above = needs(cells)
    left = set()
    for i, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        code = plain(source(cell))
        own = {*tags(cell)} | names(code)[1]
        unsure = i in above and name not in WHOLE
        if unsure and (ASIDE & own or left & {*above[i].values()}):
            left.add(i)
        else:
            yield code


def numbers(text):
    """The numbers of a text."""
    return " ".join(re.findall(r"\d[\d.,]*\b", text))


def exact(entry):
    """What is measured without an interval, and of the controls beside it."""
    found = []
    for row in entry["rows"]:
        if row["interval"] is None:
            found.append((row["setting"], row["measured"], row["control measured"]))
    return found


@pytest.fixture
def seen(monkeypatch):
    """{name: text} of what cells say to the prose, and of the last rows of tables and
    figures, with the numbers of captions."""
    found = {}

    def display(*things, metadata=None, **_):
        if metadata:
            (text,) = things[0].values()
            found[metadata["scrapbook"]["name"]] = ast.literal_eval(text)

    class Table(tables.Shown):
        def __init__(self, page, text):
            super().__init__(page, text)
            row = re.sub("<[^>]+>", " ", page.split("<tr>")[-1])
            found[f"table-{len(found)}"] = " ".join(row.split())

    def figure(fig, alt, caption, data, name):
        row = pd.DataFrame(data).iloc[-1]
        last = " ".join(f"{v:.3g}" if isinstance(v, float) else f"{v}" for v in row)
        found[name] = f"{numbers(alt + caption)}: {last}"

    monkeypatch.setattr(builtins, "display", display, raising=False)
    monkeypatch.setattr(IPython.display, "display", display)
    monkeypatch.setattr(tables, "Shown", Table)
    monkeypatch.setattr(plots, "figure_html", figure)
    monkeypatch.setattr(Page, "provenance", lambda *_, **settings: None)
    monkeypatch.chdir(ROOT / "book")
    return found


@pytest.mark.parametrize("name", PAGES)
def test_quick_cells_show_what_is_right(name, seen, capsys):
    given = {"__name__": "__main__"}
    for code in quick(name):
        exec(code, given)
    if said := numbers(capsys.readouterr().out):
        seen["printed"] = said
    records = [asdict(r) | {"verdict": r.verdict} for r in given["page"].records]
    kept = {lock.name(r): CLAIMS[lock.name(r)] for r in records}
    assert lock.differences({"claims": kept}, records) == {}
    for record in records:
        assert exact(lock.entry(record)) == exact(kept[lock.name(record)])
    assert seen == SHOWN[name]
