"""What papers print, as data of a room: numbers (`published.json`), sentences
(`claims.toml`)."""

import json
import tomllib
from functools import cache
from importlib.resources import files

REPORT = "report"


def published(room: str):
    """The published numbers of a room, such as "fliphat", as written in its
    `published.json`."""
    return json.loads(_text(room, "published.json"))


@cache
def sentences(room: str):
    """What a room's chapters judge, by name, as written in its `claims.toml`.

    A claim of the paper has kind, says (the sentence), place, and perhaps changes,
    left_open, bound and errata (`Page.claim`); ours has finding (the sentence) in their
    place. What the paper asserts beyond them is listed in `paper.toml`
    (`paper`).
    """
    return tomllib.loads(_text(room, "claims.toml"))


@cache
def paper(room: str):
    """What a room's `paper.toml` says: paper, chapters, counters, assumed, sentences.

    A sentence has place, says, and at least one of claims, shown and why.  counters: the
    last number of every counter of the paper; assumed: places that define or assume, and
    assert nothing.
    """
    return tomllib.loads(_text(room, "paper.toml"))


def _text(room, name):
    """A file of a room; REPORT is the room of the pages that belong to no paper."""
    folder = files("evidence.claims" if room == REPORT else f"companion.{room}")
    return folder.joinpath(name).read_text("utf8")
