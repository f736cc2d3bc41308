"""Every sentence of every paper beside its verdict: what is judged, shown, or not judged, and why.

A paper's folder lists its sentences in `paper.toml`, in the paper's order.  A sentence names the
claims that judge it (`claims`), sections that show it without a rule (`shown`, CHAPTER#SECTION), or
why nobody judges it (`why`); verdicts come from the records of a build.
"""

import html
import tomllib
from collections import Counter
from functools import cache
from importlib.resources import files

from companion.report import markup
from companion.report.published import rooms


@cache
def paper(room: str):
    """What a folder's `paper.toml` says: paper, chapters, counters, assumed, sentences.

    A sentence has place, says, and at least one of claims, shown and why.  counters: the last
    number of every counter of the paper; assumed: places that define or assume, and assert nothing.
    """
    return tomllib.loads(files(f"companion.{room}").joinpath("paper.toml").read_text("utf8"))


def tables(records) -> str:
    """A folded table of all sentences of every paper; records: the `Claim`s of a build."""
    shown = ""
    for room in rooms():
        if not files(f"companion.{room}").joinpath("paper.toml").is_file():
            continue
        told = paper(room)
        own = {r.id: r for r in records if r.chapter in told["chapters"]}
        n = Counter(_how(s) for s in told["sentences"])
        counts = ", ".join(f"{n[how]} {how}" for how in ("judged", "shown", "not judged"))
        rows, name = [_row(s, own) for s in told["sentences"]], html.escape(told["paper"])
        page = markup.table(name, ["Place", "Sentence", "Verdict", "Remark"], rows)
        shown += markup.folded(f"{name}: {n.total()} sentences, {counts}", page)
    return shown


def _how(sentence):
    return "judged" if "claims" in sentence else "shown" if "shown" in sentence else "not judged"


def _row(sentence, own):
    """One sentence; what judges or shows it is linked."""
    links = []
    for name in sentence.get("claims", ()):
        page = f"{own[name].chapter}.html#claim-{name}" if name in own else ""
        links.append(
            (page, markup.badge(own[name].verdict)) if page else ("", f"{name}: not built")
        )
    for place in sentence.get("shown", ()):
        links.append((place.replace("#", ".html#"), "shown"))
    said = [f'<a href="{html.escape(to)}">{what}</a>' if to else what for to, what in links]
    place, says, why = (html.escape(sentence.get(key, "")) for key in ("place", "says", "why"))
    return [place, says, "<br>".join(said) or "not judged", why]
