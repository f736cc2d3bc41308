"""The front page: what the executed chapters show stands where its text has a comment.

`% numbers` becomes three numbers, `% verdicts ROOM` the verdicts of a paper's pages,
counted, each of which leads to the scoreboard with those rows alone, and `% tally` the
verdicts of all pages, in a sentence and as a bar.  `jupyter-book build .`, which executes
nothing, leaves them out.
"""

import html
import re
from collections import Counter
from urllib.parse import urlencode

from evidence.claims import markup
from evidence.claims.published import paper
from evidence.claims.scoreboard import EVIDENCE, PAPERS
from evidence.readable import said as said_by
from tools import results
from tools.errors import Failure

LINE = re.compile(r"^% (numbers|verdicts|tally)(?: (\w+))?$", re.MULTILINE)


def fill(text, notebooks):
    """The text with its comments filled from {chapter: executed notebook}.

    Raises Failure if a paper that it names does not exist.
    """

    def filled(match):
        if match[1] == "numbers":
            return raw(numbers(notebooks))
        if match[1] == "tally":
            return raw(tally(notebooks))
        return raw(verdicts(match[2], notebooks))

    return LINE.sub(filled, text)


def of_paper(room, notebooks):
    """The executed pages of a paper.  Raises Failure if there is no such paper."""
    if room not in PAPERS:
        raise Failure(f"the front page asks for {room}, which is no paper")
    chapters = paper(room)["chapters"]
    return {name: notebooks[name] for name in chapters if name in notebooks}


def claims(notebooks):
    """The claim records of these pages, findings left out."""
    records = [r for n, book in notebooks.items() for r in results.claims(n, book)]
    return [r for r in records if not r["finding"]]


def counted(notebooks):
    """{verdict: number} of the tested sentences of these pages, findings left out."""
    counts = Counter(r["verdict"] for r in claims(notebooks))
    return {v: counts[v] for v in markup.SIGNS if counts[v]}


def board(**filters):
    """The address of the scoreboard with these filters set."""
    return f"scoreboard.html?{urlencode(filters)}#claims-of-the-papers"


def verdicts(room, notebooks):
    """The verdicts of a paper, counted, as links to the scoreboard's rows that have
    it."""
    links = []
    for verdict, count in counted(of_paper(room, notebooks)).items():
        address = html.escape(board(Paper=PAPERS[room], Verdict=verdict))
        links.append(f'<a href="{address}">{count} × {markup.badge(verdict)}</a>')
    return f'<p class="verdicts">{" ".join(links) or "No claims yet."}</p>'


def broken(notebooks):
    """How many papers have a sentence on privacy that is wrong as printed; None where no
    such sentence was tested."""
    wrong = 0
    tested = 0
    for room in PAPERS:
        found = claims(of_paper(room, notebooks))
        found = {r["verdict"] for r in found if r["kind"] == "privacy"}
        tested += bool(found - {"not tested at this scale"})
        wrong += "wrong as printed" in found
    return wrong if tested else None


def numbers(notebooks):
    """Three numbers: papers whose privacy breaks, and what the arena's best policies pay
    behind a shuffler and if nobody is trusted.  Raises Failure if the arena says
    none."""
    wrong = broken(notebooks)
    said = said_by(notebooks["arena"]) if "arena" in notebooks else {}
    names = ("arena_front_shuffle", "arena_front_local", "arena_front_where")
    if missing := [name for name in names if name not in said]:
        raise Failure(f"the front page asks for {missing[0]}, which no chapter says")
    shuffle, local, where = (html.escape(said[name]) for name in names)
    printed = board(Kind="privacy", Verdict="wrong as printed")
    prices = "arena.html#arena-prices"
    tiles = [
        (
            html.escape(printed),
            "not tested" if wrong is None else f"{wrong} of {len(PAPERS)}",
            "papers have a statement on privacy that is wrong as printed; the papers' "
            "cards below say where",
        ),
        (prices, shuffle, f"of random play's regret behind a shuffler, {where}"),
        (prices, local, f"if nobody is trusted, {where}"),
    ]
    shown = "".join(
        f'<a href="{address}"><b>{number}</b> <span>{words}</span></a>'
        for address, number, words in tiles
    )
    return f'<div class="front-numbers">{shown}</div>'


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
        f"chapters and {total - main} on their evidence pages: {listed or 'none yet'} "
        '(<a href="scoreboard.html#what-a-verdict-means">what a verdict means</a>).</p>'
    )
    return f"{said}{markup.site.bar(given)}{markup.site.key(given)}" if given else said


def raw(page):
    """HTML as MyST passes it on."""
    return f"```{{raw}} html\n{page}\n```"
