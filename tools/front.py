"""The front page: what the executed chapters show stands where its text has a comment.

A line `% figure CHAPTER NAME` becomes the figure of that name without its caption, and a line
`% verdicts CHAPTER` the chapter's verdicts, counted.  `jupyter-book build .`, which executes
nothing, leaves them out.
"""

import re

from companion.report.scoreboard import counted
from tools import results
from tools.errors import Failure

LINE = re.compile(r"^% (figure|verdicts) (\w+)(?: (\S+))?$", re.MULTILINE)


def fill(text, notebooks):
    """The text with its comments filled from {chapter: executed notebook}.

    Raises Failure if a chapter or a figure that it names does not exist.
    """

    def filled(match):
        what, chapter, name = match.groups()
        if chapter not in notebooks:
            raise Failure(f"the front page asks for {chapter}, which is no chapter")
        if what == "figure":
            return raw(f'<div class="cell_output">{figure(notebooks[chapter], name)}</div>')
        records = results.claims(chapter, notebooks[chapter])
        verdicts = [r["verdict"] for r in records if not r["finding"]]
        return raw(f'<p class="verdicts">{counted(verdicts) or "No claims yet."}</p>')

    return LINE.sub(filled, text)


def raw(page):
    """HTML as MyST passes it on."""
    return f"```{{raw}} html\n{page}\n```"


def figure(notebook, name):
    """The HTML of the figure `name`, without its caption.  Raises Failure if there is none."""
    pattern = rf'<figure[^>]*id="fig-{re.escape(name)}".*?</figure>'
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            text = "".join(output.get("data", {}).get("text/html", ""))
            if found := re.search(pattern, text, re.DOTALL):
                return re.sub(r"<figcaption>.*?</figcaption>", "", found[0], flags=re.DOTALL)
    raise Failure(f"the front page asks for the figure {name}, which its chapter does not show")
