"""The site in a real Chromium: offline, without errors, on phones, in the dark, by keyboard."""

import functools
import http.server
import json
import shutil
import threading
from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import sync_playwright

from tools import pdf

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.xdist_group("site"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium: apt-get install chromium"),
]
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf8")
OFFLINE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
# The contrast is asked of one element of every look, over all pages; the rest of all elements, but
# for what lies outside of landmarks: never serious to axe, it takes two fifths of axe's time.
CONTRAST = ["color-contrast"]
OTHERS = {"rules": {rule: {"enabled": False} for rule in [*CONTRAST, "region"]}}
UNSEEN = Path(__file__).with_name("colours.js").read_text("utf8")
RENDERED = """() => (window.MathJax === undefined
    || (document.querySelectorAll('.math').length
        <= document.querySelectorAll('.math mjx-container').length))
    && 'settled' in document.documentElement.dataset"""
# What is drawn beyond the edge of the page, or of a box that hides what does not fit in it.
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
# Of a page: open code (share of the height, lines of the longest cell, of all), the longest stretch
# without a sentence and the whole, in screens of 1000 pixels.
MEASURE = """() => {
    const article = document.querySelector('article.bd-article') ?? document.body;
    const seen = selector => [...article.querySelectorAll(selector)]
        .filter(e => e.checkVisibility());
    const box = e => e.getBoundingClientRect();
    const code = seen('div.cell_input');
    const lines = code.map(e => e.innerText.trimEnd().split('\\n').length);
    const prose = seen('p, li, dd, h1, h2, h3, h4').filter(e => !e.closest('table, figcaption, pre')
        && (e.tagName[0] === 'H' || e.textContent.length >= 40)).map(box);
    let end = box(article).top, gap = 0;
    for (const r of prose.sort((a, b) => a.top - b.top)) {
        gap = Math.max(gap, r.top - end);
        end = Math.max(end, r.bottom);
    }
    const height = box(article).height;
    return {
        share: code.reduce((sum, e) => sum + box(e).height, 0) / height,
        longest: Math.max(0, ...lines),
        lines: lines.reduce((a, b) => a + b, 0),
        gap: gap / 1000,
        screens: height / 1000,
    };
}"""
# Links of a page into one of its folds, or into the page's cells: where, after a click on a page
# with every fold closed, there is nothing to see.
DEAD = """async () => {
    const dead = [], links = [...document.querySelectorAll('article a[href^="#"]')];
    for (const link of new Map(links.map(e => [e.hash, e])).values()) {  // one for every target
        const target = document.getElementById(decodeURIComponent(link.hash.slice(1)));
        if (!target || target.tagName === 'SECTION') continue;
        document.querySelectorAll('article details').forEach(fold => (fold.open = false));
        link.click();
        await new Promise(done => setTimeout(done, 5));
        const cell = target.matches('.needs') ? target.nextElementSibling : target;
        const shown = cell.querySelector('div.cell_input, .scoreboard') ?? cell;
        if (!shown.checkVisibility()) dead.push(link.hash);
    }
    return [...new Set(dead)];
}"""

PICTURES = """() => [...document.querySelectorAll('figure.plot')].filter(e => e.checkVisibility())
    .map(e => ({
        scale: e.querySelector('img').width / e.querySelector('img').naturalWidth,
        scrolls: e.scrollWidth > e.clientWidth,
    }))"""
TABLES = """() => [...document.querySelectorAll('.scoreboard, .numbers')]
    .filter(e => e.checkVisibility()).map(e => ({
        scrolls: e.scrollWidth > e.clientWidth + 1,
        cells: [...e.querySelectorAll('td')].map(d => getComputedStyle(d).display),
    }))"""
NUMBERS = """() => [...document.querySelectorAll('figure.plot')]
    .map(e => e.querySelector('figcaption > b')?.textContent)"""
OFF_PAPER = """() => [...document.querySelectorAll('article pre, article figure img')]
    .filter(e => e.checkVisibility())
    .filter(e => e.scrollWidth > e.clientWidth + 1
        || e.getBoundingClientRect().right > innerWidth + 1)
    .map(e => e.outerHTML.slice(0, 60))"""
# What MEASURE may find at smoke scale.  The aims: a share of 0.15, 30 lines a cell, 400 in all, a
# gap of 1.5 and 30 screens.
AIMS = {"share": 0.15, "longest": 30, "lines": 100, "gap": 1.5, "screens": 30.0}
PAPERS = AIMS | {"share": 0.08, "lines": 120}
READING = {
    "playing": AIMS,
    "privacy_models": AIMS,
    "mechanisms": AIMS,
    "online_linucb": PAPERS,
    "fliphat": PAPERS,
    "lplr": PAPERS,
    "streaming_sco": AIMS | {"lines": 250},
    "sco_bandit": AIMS | {"lines": 120},
    "joint_glm": AIMS,
    "shuffle_glm": AIMS,
    "audits": AIMS | {"gap": 1.7},  # a figure with a line for every algorithm and sampler
    "arena": AIMS,
    "your_data": AIMS,
    "streaming_rows": PAPERS,
    "glm_rows": PAPERS,
}


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
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", OFFLINE])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def opener(chromium, address):
    """(a function that opens pages, a list of everything that goes wrong on the way)."""
    trouble, here = [], (address, "data:", "blob:")

    def opened(path, width=1400, scheme="light", base=address, context=None):
        context = context or chromium.new_context(viewport={"width": width, "height": 900},
            color_scheme=scheme, permissions=["clipboard-read", "clipboard-write"])  # fmt: skip
        context.set_default_timeout(90_000)  # for busy machines
        page = context.new_page()
        if base == address:  # a route instead would switch off the cache
            page.on(
                "request", lambda r: r.url.startswith(here) or trouble.append(f"asked for {r.url}")
            )
        page.on("pageerror", lambda e: trouble.append(f"{path}: {e}"))
        page.on("console", lambda m: m.type in ("error", "warning")
                and trouble.append(f"{path}: {m.type} {m.text}"))  # fmt: skip
        page.on("response", lambda r: r.status >= 400 and trouble.append(f"{r.status} {r.url}"))
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


# Bytes of a page and its pictures that are fetched at first; scripts, styles and fonts are the same
# on every page and come once.
WEIGHT = """[...performance.getEntriesByType('navigation'),
    ...performance.getEntriesByType('resource').filter(e => /\\.(svg|png|csv)$/.test(e.name))]
    .reduce((sum, e) => sum + e.encodedBodySize, 0)"""
FORMULAS = "article mjx-math"
# Folded code is left out as a whole; what tables fold is printed where it stands, or is the list of
# every sentence, which would be longer than the rest of its page.
FOLDED_ON_PAPER = ".hide.above-input, td details, #every-sentence-of-the-papers details"
TEXT = "article :is(p, li, dt, dd, h1, h2, h3, code):not(mjx-container *)"
SEEN_AT = {  # width: name -> script or (script, argument)
    1400: {
        "formulas": (CUT, FORMULAS),
        "small bars": "document.querySelectorAll('mjx-c.mjx-c2016.TEX-S1').length",
        "bars": "document.querySelectorAll('mjx-c.mjx-c2225, mjx-c.mjx-c2016').length",
        "numbers": NUMBERS,
        "no button": """[...document.querySelectorAll('div.cell_input div.highlight')]
            .filter(e => !e.querySelector('button.copybtn')).length""",
        "reading": MEASURE,
        "links": "document.querySelectorAll('article .needs a').length",
        "listed": """[...document.querySelectorAll('.toc-entry :is(a, code)')]
            .filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth)
            .length""",
        "weight": WEIGHT,
    },
    700: {"formulas": (CUT, FORMULAS)},
    375: {
        "formulas": (CUT, FORMULAS),
        "cut": (CUT, ".verdict, figure.plot, .scoreboard td, .numbers td"),
        "text": (CUT, TEXT),
        "pictures": PICTURES,
        "tables": TABLES,
    },
    718: {  # A4 within margins of 1 cm
        "off": OFF_PAPER,
        "folded": f"""[...document.querySelectorAll('article details:not([open])')]
            .filter(e => !e.matches({FOLDED_ON_PAPER!r})).length""",
        "half": """[...document.querySelectorAll('article details.above-input:not([open])')]
            .filter(e => e.checkVisibility()).length""",
        "pale": """document.getAnimations().length""",
    },
    1399: {"dead": DEAD},  # the last: it leaves the page changed
}
PAPER = 718


def serious(page, context, **options):
    """What axe objects to in these elements (JavaScript) of a page: (rule, element, how many)."""
    asked = json.dumps(options | {"resultTypes": ["violations"], "preload": False})
    return [
        (v["id"], v["nodes"][0]["html"][:160], len(v["nodes"]))
        for v in page.evaluate(f"axe.run({context}, {asked})")["violations"]
        if v["impact"] in ("serious", "critical")
    ]


def asked_of_axe(path):
    """Whether a page is looked at: of those on the package, which are made alike, one is."""
    return "/api/" not in path or path == "book/api/kernels.html"


def axe(page, looks):
    """What axe objects to in a page, in colours of light and dark that `looks` does not know."""
    still = page.add_style_tag(
        content="* { transition: none !important; animation: none !important }"
    )
    page.evaluate(AXE)
    found = serious(page, "document", **OTHERS)
    for scheme, known in looks.items():
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(f"document.documentElement.dataset.theme === '{scheme}'")
        page.wait_for_timeout(100)  # colours that were on their way arrive
        if new := page.evaluate(UNSEEN, known):
            met = serious(page, "{include: window.unseen}", runOnly=CONTRAST)
            found += [(scheme, *v) for v in met]
            known += new
    page.emulate_media(color_scheme="light")
    still.evaluate("element => element.remove()")
    return found


@pytest.fixture(scope="module")
def survey(opener, pages):
    """(path, width) -> what SEEN_AT asks and more; every page is opened once, and made narrower.

    All are opened by one reader, whose browser keeps the scripts that pages share.
    """
    found, (visit, trouble), reader = {}, opener, None
    looks = {"light": [], "dark": []}
    trouble.clear()
    for path in pages:
        page = visit(path, context=reader)
        reader = page.context
        objections = axe(page, looks) if asked_of_axe(path) else []
        for width, scripts in SEEN_AT.items():
            page.set_viewport_size({"width": width, "height": 900})
            if width == PAPER:
                page.emulate_media(media="print")
                page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
            page.evaluate("new Promise(done => setTimeout(done, 100))")  # formulas are fitted anew
            if "pictures" in scripts:
                page.evaluate(pdf.LOADED)  # they wait for a reader to come near
            seen = found[path, width] = {
                "wide": page.evaluate("document.documentElement.scrollWidth") > width,
                "raw": page.locator("mjx-merror").count(),
            }
            for name, script in scripts.items():
                asked = script if isinstance(script, tuple) else (script,)
                seen[name] = page.evaluate(*asked)
            if width == PAPER:
                page.emulate_media(media="screen")
                page.evaluate("window.dispatchEvent(new Event('afterprint'))")
            seen["trouble"] = list(trouble)
            trouble.clear()
        found[path, 1400]["axe"] = objections
        page.close()
    reader.close()
    return found


def told(survey, name):
    """(path, width) -> what was seen under this name, where it was anything."""
    return {place: seen[name] for place, seen in survey.items() if seen.get(name)}


def test_every_page_renders_offline_without_errors_or_overflow(survey):
    assert told(survey, "trouble") == {}
    assert {place for place in told(survey, "wide") if place[1] != PAPER} == set()
    assert told(survey, "raw") == {}


def test_axe_finds_nothing_serious_in_light_or_dark(survey):
    assert told(survey, "axe") == {}
    assert all("axe" in survey[f"book/{chapter}.html", 1400] for chapter in READING)


def test_a_pale_text_among_others_is_found(chromium):
    page = chromium.new_page()
    page.set_content("<p>Dark words</p><p>More of them</p><p style='color: #999'>Pale words</p>")
    page.evaluate(AXE)
    known = page.evaluate(UNSEEN, [])
    assert len(known) == 2
    (found,) = serious(page, "{include: window.unseen}", runOnly=CONTRAST)
    assert found[0] == "color-contrast"
    assert "Pale" in found[1]
    assert page.evaluate(UNSEEN, known) == []
    page.context.close()


def test_a_page_of_code_shows_the_definition_that_it_was_opened_at(chromium, address):
    for scheme in ("light", "dark"):
        context = chromium.new_context(viewport={"width": 375, "height": 800}, color_scheme=scheme)
        page = context.new_page()
        page.goto(f"{address}/_code/companion.core.html#Policy")
        top, said = page.evaluate("""(() => {
            const target = document.querySelector(':target');
            return [target.getBoundingClientRect().top, target.innerText];
        })()""")
        assert -50 < top < 400
        assert said.startswith("class Policy(NamedTuple):")
        assert page.evaluate("document.documentElement.scrollWidth") <= 375
        page.evaluate(AXE)
        assert page.evaluate("axe.run()")["violations"] == []
        context.close()


def test_from_the_file_system(visit, smoke_site):
    page = visit("book/scoreboard.html", base=smoke_site.as_uri())
    assert "Scoreboard" in page.locator("h1").first.inner_text()
    assert visit.trouble == []


def test_filters_of_the_scoreboard_work_by_keyboard(visit):
    page = visit("book/scoreboard.html")
    rows = page.locator(".scoreboard tbody tr:has([data-kind])")
    everything = rows.count()
    assert page.locator("[data-filters] output").inner_text().startswith(f"{everything} of")
    page.locator("[data-filters] select").nth(1).focus()
    page.keyboard.type("find")  # chooses "finding"
    shown = [row.locator("[data-kind]").get_attribute("data-kind") for row in rows.all()
             if row.is_visible()]  # fmt: skip
    assert set(shown) == {"finding"}
    assert len(shown) < everything
    assert page.locator("[data-filters] output").inner_text().startswith(f"{len(shown)} of")
    assert not page.locator("table:has([data-kind]) tr.group:visible").count()  # now empty


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


def test_search_finds_a_public_name_and_leads_to_it(visit):
    page = visit("search.html?q=jdp_linucb")
    hit = page.locator("#search-results li a[href*='#companion.']").first
    hit.wait_for(timeout=30_000)
    assert "jdp_linucb" in hit.inner_text()
    hit.click()
    page.wait_for_function(RENDERED)
    assert page.evaluate("document.getElementById(location.hash.slice(1)).checkVisibility()")
    assert visit.trouble == []


def test_copy_button_fills_the_clipboard(visit):
    page = visit("book/scoreboard.html")
    page.locator("details.above-input > summary").first.click()
    cell = page.locator("div.cell_input div.highlight:visible").first
    cell.hover()
    cell.locator("button.copybtn").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.strip() == cell.locator("pre").inner_text().strip()


def test_every_code_cell_has_a_copy_button(survey):
    assert told(survey, "no button") == {}


def test_no_formula_is_cut(survey):
    assert told(survey, "formulas") == {}


def test_the_bars_of_norms_are_as_tall_as_brackets(survey):
    assert told(survey, "small bars") == {}
    assert told(survey, "bars")


def test_on_a_phone_figures_fit_and_keep_the_size_of_their_text(survey):
    pictures = told(survey, "pictures")
    assert sum(map(len, pictures.values())) > 10
    for path, seen in pictures.items():
        # the smallest text has 7.5 points, which are 10 pixels
        assert all(picture["scale"] > 0.88 and not picture["scrolls"] for picture in seen), path


def test_on_a_phone_nothing_is_cut_and_tables_are_cards(survey):
    assert told(survey, "cut") == {}
    assert told(survey, "text") == {}
    tables = told(survey, "tables")
    assert tables
    for path, seen in tables.items():
        assert not any(t["scrolls"] or "table-cell" in t["cells"] for t in seen), path


def test_figures_are_numbered(survey):
    numbers = told(survey, "numbers")
    assert numbers
    for path, said in numbers.items():
        if path[0] != "book/index.html":  # the front page shows a figure of a chapter
            assert said == [f"Figure {i + 1}." for i in range(len(said))], path


def test_links_into_folds_open_them(survey):
    assert told(survey, "dead") == {}
    assert told(survey, "links")


def test_a_page_opened_at_a_fold_opens_it(visit):
    for chapter in READING:
        page = visit(f"book/{chapter}.html")
        fold = page.evaluate("""[...document.querySelectorAll('.needs')]
            .find(e => e.nextElementSibling?.querySelector('details'))?.id""")
        page.context.close()
        if fold:
            page = visit(f"book/{chapter}.html#{fold}")
            page.locator(f"[id='{fold}'] + .cell .cell_input").wait_for(timeout=5_000)
            page.context.close()
            return
    pytest.fail("no page has a fold to open")


def test_a_link_to_a_claim_opens_its_evidence_and_no_other(visit):
    page = visit("book/online_linucb.html#claim-privacy")
    page.locator("tr:has(#claim-privacy) td > details[open]").wait_for(timeout=5_000)
    assert page.locator(".scoreboard td > details[open]").count() == 1
    assert visit.trouble == []


HIDDEN_CODE = """[...document.querySelectorAll('div.cell_input')]
    .map(e => !e.checkVisibility())"""


def test_one_control_shows_and_hides_all_code_by_keyboard(visit):
    page = visit("book/fliphat.html")
    button = page.get_by_role("button", name="All code of this page")

    def state(go_to=None):
        if go_to:
            page.goto(page.url.split("book/")[0] + go_to)
            page.wait_for_function(RENDERED)
        return button.get_attribute("aria-pressed"), page.evaluate(HIDDEN_CODE)

    pressed, arranged = state()
    assert pressed == "mixed"
    assert len(set(arranged)) == 2
    page.keyboard.press("Alt+c")
    for pressed, hidden in (state(), state("book/lplr.html")):
        assert (pressed, any(hidden)) == ("true", False)
    button.focus()
    page.keyboard.press("Enter")
    for pressed, hidden in (state(), state("book/fliphat.html")):
        assert (pressed, all(hidden)) == ("false", True)
    button.focus()
    page.keyboard.press("Space")
    assert state() == state("book/fliphat.html") == ("mixed", arranged)
    assert visit.trouble == []


def test_a_search_hit_opens_at_its_section(visit):
    page = visit("search.html?q=factor")
    hit = page.locator("#search-results li > a[href*='.html']:not([href*='#'])").first
    hit.wait_for(timeout=30_000)
    hit.click()
    page.wait_for_function("location.hash.length > 1", timeout=30_000)
    page.wait_for_timeout(500)
    top, words = page.evaluate("""(() => {
        const section = document.getElementById(location.hash.slice(1));
        return [section.getBoundingClientRect().top, section.textContent.toLowerCase()];
    })()""")
    assert "factor" in words
    assert -50 < top < 900
    assert visit.trouble == []


def test_the_contents_of_a_page_stay_in_the_window(survey):
    assert told(survey, "listed") == {}


def test_on_paper_nothing_runs_off_the_edge_and_folds_are_open(survey):
    assert told(survey, "off") == {}
    assert told(survey, "folded") == {}
    assert told(survey, "half") == {}  # folded code is left out, its summary, too
    assert told(survey, "pale") == {}  # nothing fades in while the printer waits for nobody


def test_a_page_and_its_first_pictures_weigh_at_most_a_megabyte_and_a_half(survey):
    weights = told(survey, "weight")
    assert len(weights) > 15
    assert {path: size for (path, _), size in weights.items() if size > 1_500_000} == {}


def test_a_number_of_a_theorem_and_the_file_of_a_chapter_are_found_first(visit):
    found = """[...document.querySelectorAll('#places li')].map(
        e => [e.querySelector('a').pathname.split('/').pop(), e.innerText])"""
    page = visit("search.html?q=Theorem+3.2")
    places = page.evaluate(found)
    assert {page for page, _ in places} >= {"fliphat.html", "online_linucb.html"}
    assert all("Theorem 3.2" in said for _, said in places)
    assert any("Locally Differentially Private Linear Bandits" in said for _, said in places)
    page.locator("#places a").first.click()
    page.wait_for_function(RENDERED)
    assert page.evaluate("document.getElementById(location.hash.slice(1)) !== null")
    assert visit("search.html?q=joint_glm").evaluate(found)[0][0] == "joint_glm.html"
    assert visit("search.html?q=LinUCB").evaluate(found)[0][0] == "online_linucb.html"
    words = ["epsilon: privacy budget", "Notation"]
    (here,) = visit("search.html?q=epsilon").evaluate(found)
    assert here[0] == "notation.html"
    assert all(word in here[1] for word in words)
    assert visit("search.html?q=factor").evaluate(found) == []
    assert visit.trouble == []


@pytest.mark.parametrize("chapter", READING)
def test_pages_are_for_reading(survey, chapter):
    found, limit = survey[f"book/{chapter}.html", 1400]["reading"], READING[chapter]
    assert {k: v for k, v in found.items() if v > limit[k]} == {}, found
