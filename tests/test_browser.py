"""The site in a real Chromium: offline, without errors, at two widths, light and dark."""

import functools
import http.server
import json
import threading
from pathlib import Path

import axe_playwright_python
import pytest
from browser import CHROMIUM, needs_chromium
from playwright.sync_api import sync_playwright

pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.xdist_group("site"),
    needs_chromium,
]
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf8")
OFFLINE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
RENDERED = """() => (window.MathJax === undefined
    || (document.querySelectorAll('.math').length
        <= document.querySelectorAll('.math mjx-container').length))
    && 'settled' in document.documentElement.dataset"""
# What is drawn beyond the edge of the page, or of a box that hides what does not fit in
# it.
CUT = """selector => [...document.querySelectorAll(selector)].filter(e => e.checkVisibility())
    .filter(e => {
        const own = e.getBoundingClientRect();
        for (let box = e.parentElement; box !== document.documentElement; box = box.parentElement) {
            const style = getComputedStyle(box), edge = box.getBoundingClientRect();
            if (style.display === 'inline') continue;
            if (['auto', 'scroll'].includes(style.overflowX)) return false;
            if (style.overflowX !== 'visible'
                && (own.right > edge.right + 1 || own.left < edge.left - 1)) return true;
        }
        return own.right > innerWidth + 1 || own.left < -1;
    }).map(e => e.closest('p, li, td, th, div').textContent.slice(0, 60))"""
LOOKED_AT = ("book/index.html", "book/fliphat.html", "book/scoreboard.html")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address(smoke_site):
    """Where the site is served."""
    handler = functools.partial(Quiet, directory=smoke_site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def pages(smoke_site):
    """Relative paths of the pages that readers see."""
    found = [*sorted((smoke_site / "book").rglob("*.html")), smoke_site / "search.html"]
    return [p.relative_to(smoke_site).as_posix() for p in found]


@pytest.fixture(scope="module")
def chromium():
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", OFFLINE],
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def opener(chromium, address):
    """(a function that opens pages, a list of everything that goes wrong on the way)."""
    trouble = []
    here = (address, "data:", "blob:")

    def opened(path, width=1400, scheme="light", base=address, context=None):
        context = context or chromium.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            reduced_motion="reduce",  # colours are those after every transition
            permissions=["clipboard-read", "clipboard-write"],
        )
        context.set_default_timeout(90_000)  # for busy machines
        page = context.new_page()
        if base == address:  # a route instead would switch off the cache
            page.on(
                "request",
                lambda r: r.url.startswith(here) or trouble.append(f"asked for {r.url}"),
            )
        page.on("pageerror", lambda e: trouble.append(f"{path}: {e}"))
        page.on(
            "console",
            lambda m: (
                m.type in ("error", "warning")
                and trouble.append(f"{path}: {m.type} {m.text}")
            ),
        )
        page.on(
            "response",
            lambda r: r.status >= 400 and trouble.append(f"{r.status} {r.url}"),
        )
        page.goto(f"{base}/{path}", wait_until="load")
        page.wait_for_function(RENDERED)
        return page

    return opened, trouble


@pytest.fixture
def visit(opener, chromium):
    """Opens pages; everything that goes wrong on the way is in `visit.trouble`."""
    opened, trouble = opener
    trouble.clear()
    opened.trouble = trouble
    yield opened
    for context in chromium.contexts:
        context.close()


def test_every_page_renders_offline_without_errors_or_overflow(opener, pages):
    visit, trouble = opener
    trouble.clear()
    wrong = []
    reader = None
    for path in pages:
        page = visit(path, context=reader)
        reader = page.context
        for width in (1400, 375):
            page.set_viewport_size({"width": width, "height": 900})
            # formulas are fitted anew
            page.evaluate("new Promise(done => setTimeout(done, 100))")
            wide = page.evaluate("document.documentElement.scrollWidth") > width
            cut = page.evaluate(CUT, "article mjx-math")
            if wide or cut or page.locator("mjx-merror").count():
                wrong.append((path, width, wide, cut))
        page.close()
    reader.close()
    assert wrong == []
    assert trouble == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(visit, pages, scheme):
    for path in [p for p in LOOKED_AT if p in pages]:
        page = visit(path, scheme=scheme)
        page.evaluate(AXE)
        asked = json.dumps({"rules": {"region": {"enabled": False}}})
        found = page.evaluate(f"axe.run({asked})")["violations"]
        assert [
            v["nodes"] for v in found if v["impact"] in ("serious", "critical")
        ] == [], path


def test_search_finds_a_public_name(visit):
    page = visit("search.html?q=jdp_linucb")
    page.locator("#search-results li a[href*='companion.']").first.wait_for(
        timeout=30_000
    )
    assert visit.trouble == []
