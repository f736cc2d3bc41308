"""The site in a real Chromium: offline, without errors, on phones, in the dark, by keyboard."""

import functools
import http.server
import shutil
import threading
from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.xdist_group("site"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium: apt-get install chromium"),
]
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf8")
RENDERED = """() => window.MathJax === undefined
    || (document.querySelectorAll('.math').length
        <= document.querySelectorAll('.math mjx-container').length)"""


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
    found = [*sorted((smoke_site / "book").glob("*.html")), smoke_site / "search.html"]
    return [p.relative_to(smoke_site).as_posix() for p in found]


@pytest.fixture(scope="module")
def chromium():
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium, address):
    """Opens pages; everything that goes wrong on the way is in `visit.trouble`."""
    contexts, trouble = [], []

    def guard(route):
        if route.request.url.startswith((address, "data:", "blob:")):
            route.continue_()
        else:
            trouble.append(f"asked for {route.request.url}")
            route.abort()

    def opened(path, width=1400, scheme="light", base=address):
        context = chromium.new_context(viewport={"width": width, "height": 900},
            color_scheme=scheme, permissions=["clipboard-read", "clipboard-write"])  # fmt: skip
        contexts.append(context)
        page = context.new_page()
        if base == address:
            page.route("**/*", guard)
        page.on("pageerror", lambda e: trouble.append(f"{path}: {e}"))
        page.on("console", lambda m: m.type in ("error", "warning")
                and trouble.append(f"{path}: {m.type} {m.text}"))  # fmt: skip
        page.on("response", lambda r: r.status >= 400 and trouble.append(f"{r.status} {r.url}"))
        page.goto(f"{base}/{path}", wait_until="load")
        page.wait_for_function(RENDERED, timeout=30_000)
        return page

    opened.trouble = trouble
    yield opened
    for context in contexts:
        context.close()


@pytest.mark.parametrize("width", [1400, 375])
def test_every_page_renders_offline_without_errors_or_overflow(visit, pages, width):
    wide, raw = [], []
    for path in pages:
        page = visit(path, width)
        if page.evaluate("document.documentElement.scrollWidth") > width:
            wide.append(path)
        if page.locator("mjx-merror").count():
            raw.append(path)
        page.context.close()
    assert visit.trouble == []
    assert wide == []
    assert raw == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(visit, pages, scheme):
    found = []
    for path in pages:
        page = visit(path, scheme=scheme)
        page.evaluate(AXE)
        result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        found += [
            (path, v["id"], v["nodes"][0]["html"][:160], len(v["nodes"]))
            for v in result["violations"]
            if v["impact"] in ("serious", "critical")
        ]
        page.context.close()
    assert found == []


def test_from_the_file_system(visit, smoke_site):
    page = visit("book/scoreboard.html", base=smoke_site.as_uri())
    assert "Scoreboard" in page.locator("h1").first.inner_text()
    assert visit.trouble == []


def test_theme_button_changes_the_theme(visit):
    page = visit("book/scoreboard.html")
    seen = {page.evaluate("document.documentElement.dataset.theme")}
    for _ in range(2):
        page.locator("button.theme-switch-button:visible").first.click()
        seen.add(page.evaluate("document.documentElement.dataset.theme"))
    assert seen == {"light", "dark"}


def test_search_finds_a_term_and_opens_by_keyboard(visit):
    page = visit("search.html?q=scoreboard")
    page.locator("#search-results li a", has_text="Scoreboard").first.wait_for(timeout=15_000)
    page = visit("book/scoreboard.html")
    page.keyboard.press("Control+k")
    page.locator("dialog#pst-search-dialog[open] input").wait_for(timeout=5_000)
    assert visit.trouble == []


def test_copy_button_fills_the_clipboard(visit):
    page = visit("book/scoreboard.html")
    page.locator("details summary").first.click()
    cell = page.locator("div.cell_input div.highlight:visible").first
    cell.hover()
    cell.locator("button.copybtn").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.strip() == cell.locator("pre").inner_text().strip()


def test_every_code_cell_has_a_copy_button(visit, pages):
    for path in pages:
        page = visit(path)
        cells = page.locator("div.cell_input div.highlight")
        assert cells.count() == cells.locator("button.copybtn").count(), path
        page.context.close()
