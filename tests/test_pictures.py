"""Figures as they are drawn: no text meets a text, an edge, a line or a bar."""

import base64
import json
import re
from pathlib import Path

import pytest
from browser import CHROMIUM, needs_chromium
from matplotlib import pyplot as plt
from playwright.sync_api import sync_playwright

from evidence.claims import plots

pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("site"),
    needs_chromium,
]
MEASURE = (Path(__file__).parent / "pictures.js").read_text("utf8")
FIGURE = re.compile(r'<figure class="plot" id="fig-([^"]+)">(.*?)</figure>', re.DOTALL)
PICTURE = re.compile(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)")


@pytest.fixture(scope="module")
def faults():
    """A function: what is wrong with the figures of a page, a line each."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})

        def found(text):
            for name, said in FIGURE.findall(text):
                for picture in PICTURE.findall(said):
                    svg = base64.b64decode(picture).decode()
                    wrong = page.evaluate(f"(svg) => ({MEASURE})(svg)", svg)
                    yield from (f"{name}: {w}" for w in wrong)

        yield lambda text: list(found(text))
        browser.close()


def executed(folder):
    """(chapter, HTML of all outputs) of the latest execution of every chapter."""
    for chapter in sorted(p for p in folder.iterdir() if p.is_dir()):
        latest = max(chapter.glob("*.ipynb"), key=lambda p: p.stat().st_mtime)
        cells = json.loads(latest.read_text("utf8"))["cells"]
        outputs = [o.get("data", {}) for c in cells for o in c.get("outputs", [])]
        yield chapter.name, "".join("".join(d.get("text/html", "")) for d in outputs)


@pytest.mark.slow
def test_no_text_of_any_figure_is_covered_or_cut(faults, smoke_site):
    pages = dict(executed(smoke_site.parent / "executed"))
    assert sum(len(FIGURE.findall(page)) for page in pages.values()) > 40
    assert {
        chapter: wrong for chapter, page in pages.items() if (wrong := faults(page))
    } == {}


def test_a_text_on_a_line_is_found(faults):
    with plt.rc_context():
        plots.use_style()
        fig, (ax,) = plots.panels(1)
        ax.plot([0, 1], [0, 1])
        ax.text(0.5, 0.5, "on the line", ha="center", va="center")
        page = plots.figure_html(
            fig,
            alt="a",
            caption="c",
            data={"x": [1]},
            name="planted",
        )
        plt.close(fig)
    assert any("is crossed by a line" in fault for fault in faults(page))
