"""Sphinx extension: pictures and tables inside pages become files that are fetched when
needed.

An executed notebook carries its pictures and data in itself, so that a download of it is
whole.  A page that did so would be megabytes before its first word.  Here every data
address becomes a file in `_images`, named by its content; pictures are asked for when
they come into view.
"""

import base64
import hashlib
import itertools
import re
from pathlib import Path

DATA = re.compile(
    r'\b(srcset|src|href)="data:(image/svg\+xml|text/csv);base64,([\w+/=]+)"'
)
ENDING = {"image/svg+xml": "svg", "text/csv": "csv"}


def outsourced(body, up):
    """(page with addresses of files, {name: bytes} of them); up: from the page to the
    root."""
    files = {}

    def file(match):
        attribute, kind, text = match.groups()
        data = base64.b64decode(text)
        name = f"{hashlib.sha256(data).hexdigest()[:20]}.{ENDING[kind]}"
        files[name] = data
        lazy = ' loading="lazy"' if attribute == "src" else ""
        return f'{attribute}="{up}_images/{name}"{lazy}'

    return DATA.sub(file, body), files


NUMBER = re.compile(r'<h1>(?:<span class="section-number">([\d.]+)\. </span>)?')


def numbered(body):
    """The page with "Figure 4.2." before the second caption of chapter 4, "Figure 4.11.2."
    on its page 4.11; without a chapter's number where the page has none."""
    found = NUMBER.search(body)
    chapter = f"{found[1]}." if found and found[1] else ""
    counts = itertools.count(1)

    def one(match):
        return f"{match[0]}<b>Figure {chapter}{next(counts)}.</b> "

    return re.sub(r"(?<=</picture>)\s*<figcaption>", one, body)


def _body(app, pagename, templatename, context, doctree):
    if "body" not in context:
        return
    # entries of a bibliography are items of the list they stand in, which docutils does
    # not say
    body = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')
    body = numbered(body)
    context["body"], files = outsourced(body, "../" * pagename.count("/"))
    folder = Path(app.outdir) / "_images"
    for name, data in files.items():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def setup(app):
    app.connect("html-page-context", _body)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
