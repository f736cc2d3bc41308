"""Figures as they are drawn, at both widths: no text meets a text, an edge, a line or a bar."""

import base64
import json
import re
import shutil
from pathlib import Path

import pytest
from matplotlib import pyplot as plt
from playwright.sync_api import sync_playwright

from companion.report import plots

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("site"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium: apt-get install chromium"),
]
MEASURE = (Path(__file__).parent / "pictures.js").read_text("utf8")
FIGURE = re.compile(r'<figure class="plot" id="fig-([^"]+)">(.*?)</figure>', re.DOTALL)
PICTURE = re.compile(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)")
COMMAND = re.compile(r"\\[a-zA-Z]+")
SIDES = re.compile(r"\b(left|right)[:,]|\((left|right)\)|\b(left|right) panel", re.IGNORECASE)


@pytest.fixture(scope="module")
def measured():
    """A function: the texts and faults of an SVG."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        yield lambda svg: page.evaluate(f"(svg) => ({MEASURE})(svg)", svg)
        browser.close()


def figures(page):
    """(name, HTML, narrow picture, wide picture) of every figure in a page."""
    for name, said in FIGURE.findall(page):
        pictures = [base64.b64decode(data).decode() for data in PICTURE.findall(said)]
        yield name, PICTURE.sub("", said), *pictures


def words(texts):
    """The texts that say something, in one line each: numbers and formulas are left out."""
    flat = {" ".join(t.split()) for t in texts}
    return {t for t in flat if re.search(r"[^\W\d_]{3}", COMMAND.sub("", t))}


def executed(folder):
    """(chapter, HTML of all outputs) of the latest execution of every chapter."""
    for chapter in sorted(p for p in folder.iterdir() if p.is_dir()):
        latest = max(chapter.glob("*.ipynb"), key=lambda p: p.stat().st_mtime)
        cells = json.loads(latest.read_text("utf8"))["cells"]
        outputs = [o.get("data", {}) for c in cells for o in c.get("outputs", [])]
        yield chapter.name, "".join("".join(d.get("text/html", "")) for d in outputs)


def faults(measured, page):
    """What is wrong with the figures of a page, a line each."""
    for name, said, narrow, wide in figures(page):
        seen = {"narrow": measured(narrow), "wide": measured(wide)}
        for width, found in seen.items():
            yield from (f"{name}, {width}: {fault}" for fault in found["found"])
        everywhere = " ".join(words(seen["narrow"]["texts"]))
        lost = [t for t in words(seen["wide"]["texts"]) if t not in everywhere]
        yield from (f"{name}, narrow: {text!r} is not there" for text in sorted(lost))
        if side := SIDES.search(said):
            yield f"{name} says {side[0]!r}, and its panels are stacked on a phone"


@pytest.mark.slow
def test_no_text_of_any_figure_is_covered_cut_or_lost(measured, smoke_site):
    found, count = {}, 0
    for chapter, page in executed(smoke_site.parent / "executed"):
        count += len(FIGURE.findall(page))
        if wrong := list(faults(measured, page)):
            found[chapter] = wrong
    assert count > 40
    assert found == {}


def legend(ax):
    ax.bar([0, 1], [1.0, 1.0], label="bars")
    ax.legend(loc="center")


def line(ax):
    ax.plot([0, 1], [0, 1])
    ax.text(0.5, 0.5, "on the line", ha="center", va="center")


def texts(ax):
    ax.plot([0, 1], [0, 1], alpha=0)
    ax.text(0.1, 0.5, "one text")
    ax.text(0.12, 0.5, "and another")


def marker(ax):
    ax.plot([0, 0.5, 1], [0, 0.5, 1], "o", linestyle="none")
    ax.text(0.5, 0.5, "on a marker", ha="center", va="center")


def good(ax):
    ax.barh(["first", "second"], [3, 2])
    ax.text(1.0, 0, "inside", va="center")
    ax.set(xlabel="a number", title="a title")


PLANTED = {legend: "stands on a bar", line: "is crossed by a line", marker: "stands on a marker",
           texts: 'meets "and another"', good: ""}  # fmt: skip


@pytest.mark.parametrize("draw", PLANTED)
def test_what_is_planted_is_found(measured, draw):
    with plt.rc_context():
        plots.use_style()
        fig, (ax,) = plots.panels(1)
        draw(ax)
        page = plots.figure_html(fig, alt="a", caption="c", data={"x": [1]}, name="planted")
        plt.close(fig)
    found = [fault for fault in faults(measured, page) if ", wide:" in fault]
    assert all(PLANTED[draw] in fault for fault in found)
    assert bool(found) == bool(PLANTED[draw]), found


def test_a_label_that_vanishes_is_found(measured, monkeypatch):
    """Names below ticks are turned on a phone; without that they would be hidden."""

    def page():
        with plt.rc_context():
            plots.use_style()
            fig, (ax,) = plots.panels(1, width=9.0)
            names = ["as printed", "exact Gaussian", "half the size", "clipped at 3", "no privacy"]
            ax.bar(names, [5, 4, 3, 2, 1])
            found = plots.figure_html(fig, alt="a", caption="c", data={"x": [1]}, name="planted")
            plt.close(fig)
        return found

    assert list(faults(measured, page())) == []
    monkeypatch.setattr(plots.phone, "_turn", lambda axis: None)
    assert any("is not there" in fault for fault in faults(measured, page()))


def test_captions_that_know_sides_are_found(measured):
    fig, (ax,) = plots.panels(1)
    ax.plot([0, 1], [0, 1])
    page = plots.figure_html(fig, alt="Left: a", caption="c", data={"x": [1]}, name="planted")
    plt.close(fig)
    assert any("says 'Left:'" in fault for fault in faults(measured, page))
