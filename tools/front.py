"""The front page: what the executed chapters show stands where its text has a comment.

A line `% figure CHAPTER NAME` becomes the figure of that name without its caption, a line
`% caption CHAPTER NAME` the words of its caption, `% say CHAPTER NAME` a number or
sentence that it hands to its prose, and `% verdicts CHAPTER ...` the verdicts of a
paper's pages, counted, each of which leads to the first claim that has it; pages that are
not there are left out.  `% tally` says the verdicts of all pages in a sentence and shows
them as a bar.  `jupyter-book build .`, which executes nothing, leaves them out.
"""

import html
import re
from collections import Counter

from evidence.claims import markup
from evidence.claims.markup import SHADES
from evidence.claims.scoreboard import EVIDENCE
from tools import errata, results
from tools.errors import Failure

LINE = re.compile(r"^% (figure|caption|say|verdicts|tally)((?: \S+)*)$", re.MULTILINE)


def fill(text, notebooks):
    """The text with its comments filled from {chapter: executed notebook}.

    Raises Failure if a chapter or a figure that it names does not exist.
    """

    def filled(match):
        what = match[1]
        names = match[2].split()
        if what == "tally":
            return raw(tally(notebooks))
        if names[0] not in notebooks:
            raise Failure(f"the front page asks for {names[0]}, which is no chapter")
        if what == "verdicts":
            there = {name: notebooks[name] for name in names if name in notebooks}
            return raw(f'<p class="verdicts">{verdicts(there)}</p>')
        chapter, name = names
        if what == "figure":
            return raw(
                f'<div class="cell_output">{figure(notebooks[chapter], name)}</div>'
            )
        if what == "caption":
            return raw(f"<p><em>{caption(notebooks[chapter], name)}</em></p>")
        return raw(
            f"<p>{html.escape(spoken(notebooks[chapter], f'{chapter}_{name}'))}</p>"
        )

    return LINE.sub(filled, text)


def spoken(notebook, name):
    """What a chapter says of this name.  Raises Failure if it does not."""
    found = errata.said(notebook)
    if name not in found:
        raise Failure(f"the front page asks for {name}, which its chapter does not say")
    return found[name]


def verdicts(notebooks):
    """The verdicts of these pages, counted, as links to the first claim of each."""
    first = {}
    counts = Counter()
    for chapter, notebook in notebooks.items():
        for r in results.claims(chapter, notebook):
            if not r["finding"]:
                first.setdefault(r["verdict"], f"{chapter}.html#claim-{r['id']}")
                counts[r["verdict"]] += 1
    return (
        " ".join(
            f'<a href="{html.escape(first[v])}">{counts[v]} × {markup.badge(v)}</a>'
            for v in markup.SIGNS
            if v in counts
        )
        or "No claims yet."
    )


def counted(notebooks):
    """{verdict: number} of the tested sentences of all chapters, findings left out."""
    records = [
        r for name, notebook in notebooks.items() for r in results.claims(name, notebook)
    ]
    counts = Counter(r["verdict"] for r in records if not r["finding"])
    return {v: counts[v] for v in markup.SIGNS if counts[v]}


def tally(notebooks):
    """How many sentences of the papers were tested, and how they came out: a sentence and
    a bar."""
    given = counted(notebooks)
    total = sum(given.values())
    main = sum(
        counted({n: b for n, b in notebooks.items() if not n.endswith(EVIDENCE)}).values()
    )
    listed = ", ".join(f"<b>{n}</b> {html.escape(v)}" for v, n in given.items())
    said = (
        f"<p>We tested <b>{total}</b> sentences of five papers, {main} in the "
        "chapters and "
        f"{total - main} on their evidence pages: {listed or 'none yet'} "
        '(<a href="scoreboard.html#what-a-verdict-means">what a verdict means</a>).</p>'
    )
    parts = "".join(
        f'<span style="flex:{n} 0 0;background:{SHADES[v]};color:white" '
        f'title="{html.escape(v)}">{n}</span>'
        for v, n in given.items()
    )
    keys = "".join(
        (
            f'<li><i style="background:{SHADES[v]}"></i>{markup.SIGNS[v][0]} '
            f"{html.escape(v)}</li>"
        )
        for v in given
    )
    bar = f'<div class="tally" aria-hidden="true"><div>{parts}</div><ul>{keys}</ul></div>'
    return said + (bar if given else "")


def raw(page):
    """HTML as MyST passes it on."""
    return f"```{{raw}} html\n{page}\n```"


def figure(notebook, name):
    """The HTML of the figure `name`, without its caption.  Raises Failure if there is
    none."""
    whole = found(notebook, name)
    return re.sub(r"<figcaption>.*?</figcaption>", "", whole, flags=re.DOTALL)


def caption(notebook, name):
    """The words of the caption of the figure `name`, without its links."""
    words = re.search(
        r"<figcaption>(.*?)</figcaption>",
        found(notebook, name),
        re.DOTALL,
    )[1]
    return re.sub(r" <a\b.*?</a>| Run again.*", "", words, flags=re.DOTALL).strip()


def found(notebook, name):
    """The HTML of the figure `name`.  Raises Failure if there is none."""
    pattern = rf'<figure[^>]*id="fig-{re.escape(name)}".*?</figure>'
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            text = "".join(output.get("data", {}).get("text/html", ""))
            if match := re.search(pattern, text, re.DOTALL):
                return match[0]
    raise Failure(
        f"the front page asks for the figure {name}, which its chapter does not show"
    )
