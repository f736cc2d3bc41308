"""PDFs of the chapters, printed from the built site: `python -m tools.pdf [CHAPTER] ...`.

`make pdf` prints every chapter into _build/pdf, on A4 with page numbers.  Code that the
page shows folded is left out, as book/_static/custom.css says; everything else is there.
"""

import argparse
import shutil
import sys
from pathlib import Path

from tools import cache, chapters
from tools.errors import Refusal, one_of

BROWSERS = ("chromium", "google-chrome", "chromium-browser")
# formulas are set, site.js has said so
SETTLED = "'settled' in document.documentElement.dataset"
LOADED = """Promise.all([...document.images].map(image => {
    image.loading = 'eager';
    return image.decode().catch(() => {});
}))"""
FOOT = """<div style="font-size: 8px; width: 100%; text-align: center">
    <span class="pageNumber"></span></div>"""
PAPER = {
    "format": "A4",
    "margin": dict.fromkeys(("top", "bottom", "left", "right"), "15mm"),
    "display_header_footer": True,
    "header_template": "<span></span>",
    "footer_template": FOOT,
    "tagged": True,
    "outline": True,
}


def chromium():
    """The path of a Chromium.  Raises Refusal if there is none."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise Refusal(f"no browser to print with: install one of {', '.join(BROWSERS)}")
    return found


def printed(html, names):
    """Yield (name, bytes of a PDF) for chapters `names` of the site in the folder
    `html`."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=chromium(),
            args=["--no-sandbox"],
        )
        page = browser.new_page(color_scheme="light")
        page.set_default_timeout(120_000)  # for busy machines
        for name in names:
            page.goto((html / "book" / f"{name}.html").as_uri())
            page.wait_for_function(SETTLED)
            page.evaluate(LOADED)
            yield name, page.pdf(**PAPER)
        browser.close()


def make(root, names):
    """Print chapters (none named: all) into _build/pdf; return the last line to print."""
    book = chapters.load(root)
    html = root / "_build" / "html"
    for name in names:
        one_of("chapter", name, book)
    names = names or list(book)
    missing = [name for name in names if not (html / "book" / f"{name}.html").is_file()]
    if missing:
        raise Refusal(f"the site has no {', '.join(missing)}: run `make book` first")
    for name, data in printed(html, names):
        cache.put(root / "_build" / "pdf" / f"{name}.pdf", data)
    return f"Printed: {len(names)} in _build/pdf"


def main(argv=None):
    """Exit code: 0 done, 2 refused."""
    what = "Print the chapters of the built site as PDFs."
    parser = argparse.ArgumentParser(prog="python -m tools.pdf", description=what)
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="by default, all")
    root = Path(__file__).resolve().parent.parent
    parser.add_argument("--root", type=Path, default=root, help="the project")
    args = parser.parse_args(argv)
    try:
        print(make(args.root.resolve(), args.chapters))
    except Refusal as error:
        print(f"Refused: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
