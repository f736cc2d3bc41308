"""The arena's explorer: plain controls over results that stand in the page, and no request.

The page holds the numbers as JSON and the controls hidden; `book/_static/explorer.js` shows the
controls and fills the table.  Without scripts a sentence stands there.
"""

import html
import json

from companion.report.tables import Shown

TRUST = {
    "": "anybody: show all",
    "local": "nobody (local)",
    "shuffle": "a shuffler (shuffle)",
    "joint": "the server (joint)",
    "none": "nothing is private (none)",
}


def explorer(settings):
    """The explorer over settings (`contest.Setting`), as HTML for a page."""
    data = as_data(settings)
    worlds = list(dict.fromkeys(s["world"] for s in data))
    first = data[0]
    menus = [
        _menu("world", "World", {w: w for w in worlds}, first["world"]),
        _menu("model", "Users trust", TRUST, ""),
        _menu("epsilon", "Budget ε", _numbers(s["epsilon"] for s in data), first["epsilon"]),
        _menu("T", "Rounds T", _numbers(s["T"] for s in data), first["T"]),
    ]
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True).replace("<", "\\u003c")
    page = (
        '<div class="explorer" id="explorer"><form hidden aria-label="Explore the results">'
        f"{''.join(menus)}</form>"
        '<p class="explorer-said" role="status">The explorer needs scripts; the figures and tables '
        "of this page show the same numbers without.</p>"
        '<div class="explorer-table"></div>'
        f'<script type="application/json">{text}</script></div>'
    )
    return Shown(page, f"explorer of {len(data)} settings")


def as_data(settings):
    """What the explorer knows: for each setting its rows, best first, and who cannot play."""
    found = []
    for s in settings:
        everybody = s.leader([n for n in s.runs if n != "random"])
        ranked = sorted(s.runs, key=lambda n: s.runs[n].tuned.mean())
        found.append(
            {
                "world": s.world,
                "T": s.T,
                "epsilon": s.epsilon,
                "rows": [_row(s, name, everybody) for name in ranked],
                "refused": s.refusals,
            }
        )
    return found


def _row(s, name, everybody):
    """factory, model, share, its ends, untuned share, place among all and in its model, call."""
    run, share = s.runs[name], s.share(name)
    leaders = (everybody, s.winners[run.model]) if name != "random" else ()
    places = [_status(name, leader) for leader in leaders] or ["", ""]
    numbers = share.value, share.low, share.high, s.share(name, "default").value
    return [name, run.model, *map(_short, numbers), *places, str(run.call)]


def _status(name, leader):
    first, close = leader
    if name == first:
        return "undecided" if close else "best"
    return "undecided" if name in close else ""


def _short(value):
    return round(float(value), 3) if abs(value) < 1e6 else None


def _numbers(values):
    return {_key(v): f"{v:,}" if isinstance(v, int) else _key(v) for v in sorted(set(values))}


def _key(value):
    """A number as JavaScript writes it."""
    return str(value) if isinstance(value, (int, str)) else f"{value:g}"


def _menu(name, label, options, chosen):
    chosen = _key(chosen)
    lines = "".join(
        f'<option value="{html.escape(k)}"{" selected" if k == chosen else ""}>'
        f"{html.escape(v)}</option>"
        for k, v in options.items()
    )
    return f'<label>{html.escape(label)} <select name="{name}">{lines}</select></label>'
