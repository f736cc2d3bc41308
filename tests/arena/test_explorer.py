"""The explorer: what stands in the page, and what a reader does with it in a real Chromium."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from companion.accounting.privacy import NO_PRIVACY, Guarantee
from companion.arena.contest import Run, Setting
from companion.arena.explorer import NOBODY, as_data, explorer
from companion.arena.worlds import Call

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
STATIC = Path(__file__).resolve().parents[2] / "book" / "_static"
browser = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium: apt-get install chromium"),
]


def run(model, mean, spread=1.0):
    """A `Run` with final regrets around a mean."""
    finals = mean + spread * np.sin(np.arange(20) * mean)
    g = NO_PRIVACY if model == "none" else Guarantee(model, 1.0, 0.0, "x", "user")
    call = Call("linucb", {"d": 2, "note": "</script><b>"})
    tuned = finals if model == "none" else 0.5 * finals
    return Run(call, model, g, 1.0, False, finals, tuned, call)


def setting(world, T, epsilon, **runs):
    found = {"random": run("none", 100.0)} | {k: run(*v) for k, v in runs.items()}
    return Setting(world, T, epsilon, found, {"lplr": "too slow"})


SETTINGS = [
    setting("flat", 2_000, 0.25, a=("local", 80.0), b=("joint", 80.1), free=("none", 3.0)),
    setting("flat", 2_000, 1.0, a=("local", 60.0), b=("joint", 20.0), free=("none", 3.0)),
    setting("flat", 1_000_000, 1.0, a=("local", 30.0)),
    setting("steep", 2_000, 1.0, c=("shuffle", 50.0)),
]


def test_the_page_carries_its_numbers_and_no_open_tag():
    page = explorer(SETTINGS)._repr_html_()
    (text,) = re.findall(r'<script type="application/json">(.*?)</script>', page)
    data = json.loads(text)
    assert [(s["world"], s["T"], s["epsilon"]) for s in data] == [s[:3] for s in SETTINGS]
    assert [row[0] for row in data[1]["rows"]] == ["free", "b", "a", "random"]
    share = SETTINGS[1].share("b", "default")
    assert data[1]["rows"][1][2:5] == [round(v, 3) for v in share]
    assert [row[6] for row in data[1]["rows"]] == [
        {}, {"joint": "best"}, {"local": "best", "shuffle": "best", "joint": ""}, {}
    ]  # fmt: skip
    assert data[1]["said"]["joint"].startswith("b: 20%")
    assert data[3]["said"]["local"] == NOBODY
    close = setting("x", 9, 1.0, a=("local", 30.0), b=("local", 33.0, 30.0), c=("local", 90.0))
    (one,) = as_data([close])
    assert [row[6].get("local") for row in one["rows"]] == ["undecided", "undecided", "", None]
    (idle,) = as_data([setting("x", 9, 1.0, a=("local", 99.9, 9.0))])
    assert {row[6].get("local") for row in idle["rows"]} == {"", None}
    assert "from companion.policies import linucb" in data[1]["rows"][2][7]
    assert [row[7] for row in data[1]["rows"] if row[1] == "none"] == ["", ""]
    assert data[0]["refused"] == {"lplr": "too slow"}
    assert page.count("<select") == page.count("<label>") == 4
    assert "<form hidden" in page


@pytest.fixture
def opened(tmp_path):
    """Opens the explorer: a function that gives (page, all that it asked for or got wrong)."""
    from playwright.sync_api import sync_playwright

    style, script = ((STATIC / n).read_text("utf8") for n in ("custom.css", "explorer.js"))
    page = f"<!doctype html><meta charset=utf-8><title>x</title><style>{style}"
    page += "* { box-sizing: border-box }</style>"  # as the theme has it
    page += f'<body class="bd-content">{explorer(SETTINGS)._repr_html_()}<script>{script}</script>'
    (tmp_path / "page.html").write_text(page)
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])

        def visit(width=1000, scripts=True):
            trouble = []
            context = chromium.new_context(
                viewport={"width": width, "height": 800}, java_script_enabled=scripts
            )
            page = context.new_page()
            page.on("pageerror", lambda e: trouble.append(str(e)))
            page.goto((tmp_path / "page.html").as_uri())
            page.on("request", lambda r: trouble.append(r.url))
            return page, trouble

        yield visit
        chromium.close()


def rows(page):
    """Names and places in the table shown."""
    return page.evaluate("""[...document.querySelectorAll('.explorer tbody tr')]
        .map(r => [r.cells[0].textContent, r.cells[5].textContent])""")


class TestInTheBrowser:
    pytestmark = browser

    def test_by_keyboard(self, opened):
        page, trouble = opened()
        y = "yardstick"
        assert rows(page) == [["free", y], ["a", "best"], ["random", y]]
        page.keyboard.press("Tab")  # world
        page.keyboard.press("Tab")  # users trust
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        assert [r[0] for r in rows(page)] == ["free", "a", "b", "random"]
        page.keyboard.press("Tab")  # budget
        page.keyboard.press("ArrowDown")
        assert "ε = 1, T = 2,000" in page.locator(".explorer caption").inner_text()
        assert rows(page) == [["free", y], ["b", "best"], ["a", ""], ["random", y]]
        assert page.locator("[role=status]").inner_text().startswith("b: 20%")
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Home")
        assert [r[0] for r in rows(page)] == ["free", "a", "random"]
        assert trouble == []

    def test_only_what_was_played_can_be_chosen(self, opened):
        page, trouble = opened()
        page.select_option("select[name=epsilon]", "1")
        page.select_option("select[name=T]", "1000000")
        assert [r[0] for r in rows(page)] == ["a", "random"]
        page.select_option("select[name=world]", "steep")  # was played at 2,000 rounds alone
        assert page.locator("select[name=T]").input_value() == "2000"
        closed = "select[name=T] option:disabled"
        assert page.locator(closed).all_inner_texts() == ["1,000,000"]
        assert [r[0] for r in rows(page)] == ["random"]
        assert page.locator("[role=status]").inner_text() == NOBODY
        page.select_option("select[name=trust]", "joint")
        assert [r[0] for r in rows(page)] == ["c", "random"]
        page.locator(".explorer-table > details summary").click()
        assert page.locator(".explorer li").inner_text() == "lplr: too slow"
        assert "import linucb" in page.locator(".explorer-code").inner_text()
        page.select_option("select[name=trust]", "local")
        assert page.locator(".explorer-code").inner_text() == ""  # no answer, no code
        assert trouble == []

    def test_what_stands_in_the_data_is_text(self, opened):
        page, _ = opened()
        assert page.locator(".explorer b").count() == 0
        assert "</script><b>" in page.locator(".explorer tbody td pre code").first.text_content()

    def test_on_a_phone_nothing_is_wider_than_the_page(self, opened):
        page, _ = opened(width=375)
        assert page.evaluate("document.documentElement.scrollWidth") <= 375
        assert page.locator("select").first.bounding_box()["width"] > 300

    def test_without_scripts_a_sentence_stands_there(self, opened):
        page, _ = opened(scripts=False)
        assert page.locator("form").is_hidden()
        assert "needs scripts" in page.locator(".explorer").inner_text()


def test_the_explorer_opens_where_something_learns():
    idle = setting("idle", 2_000, 0.25, a=("local", 99.9, 9.0), b=("joint", 99.8, 9.0))
    page = explorer([idle, *SETTINGS[3:]])._repr_html_()
    assert '<option value="steep" selected>' in page
    assert '<option value="shuffle" selected>' in page
    page = explorer([idle])._repr_html_()
    assert '<option value="idle" selected>' in page
    assert '<option value="local" selected>' in page
