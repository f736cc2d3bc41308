"""A run as a service: JSON lines in, JSON lines out, and a kill between any two loses nothing.

A request is a line with one verb and a ticket, the caller's own text for a round:

    {"select": [[0.1, 0.2], [0.3, 0.1]], "ticket": "a1"}      -> {"ticket": "a1", "arm": 1}
    {"update": 0.7, "arm": 1, "ticket": "a1"}                 -> {"ticket": "a1", "rounds": 1}
    {"drop": true, "ticket": "a2"}                            -> {"ticket": "a2", "rounds": 1}
    {"report": true}                                          -> {"rounds": 1, "guarantee": ...}

What is not in order is answered by {"refused": "why"}, and changes nothing.  The run is saved
before an answer leaves, all or nothing.  A caller that got no answer sends the same line again: a
ticket that is open gets its arm once more, one that has ended (of the last 1,000) is confirmed, and
no record enters twice.  The file holds private data, and so does a report: answer reports to the
owner of the data alone.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from companion.core import Policy
from companion.live import Live
from companion.validate import (
    need_array,
    need_choice,
    need_generator,
    need_kind,
    need_method,
    need_path,
    shown,
)

VERBS = ("select", "update", "drop", "report")


def serve(
    policy: Policy,
    path,
    seed: int | None = None,
    requests=None,
    answers=None,
) -> None:
    """Answer every line of `requests` on `answers` until they end; the run lives at `path`.

    A run that is saved there goes on (made with the same policy, else ValueError), or else a new
    one starts with `seed` (None: the operating system's).  requests, answers: text streams (None:
    standard input and output).  Raises ValueError on anything else.
    """
    need_generator("seed", seed)
    need_path("path", path)
    need_kind("policy", policy, Policy)
    if answers is not None:
        need_method("answers", answers, "write")
    lines = _lines(requests)
    live = Live.load(path, policy) if Path(path).exists() else policy.start(seed)
    for line in lines:
        said = answered(live, line, path)
        print(json.dumps(said), file=sys.stdout if answers is None else answers, flush=True)


def _lines(requests):
    if requests is None:
        return sys.stdin
    no_lines = (str, bytes, Mapping, np.ndarray)
    wrong = not isinstance(requests, Iterable) or isinstance(requests, no_lines)
    if isinstance(requests, Sequence):
        wrong = wrong or not all(isinstance(line, str) for line in requests)
    if wrong:
        raise ValueError(f"requests must be lines of text; got requests={shown(requests)}")
    return requests


def answered(live, line: str, path):
    """The answer to one line, as a dictionary; a run that has changed is saved at `path` first."""
    need_kind("live", live, Live)
    need_path("path", path)
    try:
        if not isinstance(line, str):
            raise ValueError(f"line must be a text; got line={shown(line)}")
        asked = json.loads(line)
        verbs = [v for v in VERBS if v in asked] if isinstance(asked, dict) else []
        if len(verbs) != 1 or (verbs[0] != "report" and not isinstance(asked.get("ticket"), str)):
            raise ValueError(f"a line must hold one of {VERBS}, and a ticket; got {shown(line)}")
        return ANSWERS[verbs[0]](live, asked, path)
    except (ValueError, RecursionError) as refusal:
        return {"refused": str(refusal)}


def _select(live, asked, path):
    ticket = asked["ticket"]
    if ticket in live.open:
        X, arm = live.open[ticket]
        if not np.array_equal(X, need_array("contexts X", asked["select"], ("K", "d"))):
            raise ValueError(f"ticket {ticket!r} is open with other contexts")
        return {"ticket": ticket, "arm": arm}
    if live.ended(ticket):
        raise ValueError(f"ticket {ticket!r} has ended: a new round needs a new one")
    arm = live.select(asked["select"], ticket)
    live.save(path)
    return {"ticket": ticket, "arm": arm}


def _update(live, asked, path):
    if not live.ended(asked["ticket"]):
        live.update(asked.get("arm"), asked["update"], asked["ticket"])
        live.save(path)
    return {"ticket": asked["ticket"], "rounds": live.rounds}


def _drop(live, asked, path):
    need_choice("drop", asked["drop"], (True,))
    if not live.ended(asked["ticket"]):
        live.drop(asked["ticket"])
        live.save(path)
    return {"ticket": asked["ticket"], "rounds": live.rounds}


def _report(live, asked, path):
    report = live.report()
    return report._asdict() | {"guarantee": str(report.guarantee), "open": len(live.open)}


ANSWERS = {"select": _select, "update": _update, "drop": _drop, "report": _report}
