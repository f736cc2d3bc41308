"""The arena's explorer: plain controls over results that stand in the page, and no request.

The page holds the numbers as JSON and the controls hidden; `book/_static/explorer.js` shows the
controls and fills the table.  Without scripts a sentence stands there.
"""

import html
import json

from companion.arena.decision import TRUSTED, allowed, answer, runnable
from companion.report.tables import Shown

NOBODY = "No private policy with this guarantee can play here."


def explorer(settings) -> Shown:
    """The explorer over settings (`contest.Setting`), as HTML for a page."""
    data = as_data(settings)
    worlds = list(dict.fromkeys(s["world"] for s in data))
    first, trust = _first(settings, data)
    menus = [
        _menu("world", "World", {w: w for w in worlds}, first["world"]),
        _menu("trust", "Users trust", TRUSTED, trust),
        _menu("epsilon", "Budget ε", _numbers(s["epsilon"] for s in data), first["epsilon"]),
        _menu("T", "Rounds T", _numbers(s["T"] for s in data), first["T"]),
    ]
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True).replace("<", "\\u003c")
    page = (
        '<div class="explorer" id="explorer"><form hidden aria-label="Choose a policy">'
        f"{''.join(menus)}</form>"
        '<p class="explorer-said" role="status">The explorer needs scripts; the figures and tables '
        "of this page show the same numbers without.</p>"
        '<div class="explorer-code"></div><div class="explorer-table"></div>'
        f'<script type="application/json">{text}</script></div>'
    )
    return Shown(page, f"explorer of {len(data)} settings")


def as_data(settings):
    """What the explorer knows: for each setting its rows, best first, the answer for every kind of
    trust, who leads, and who cannot play."""
    found = []
    for s in settings:
        said = {trust: answer(s, trust) for trust in TRUSTED}
        ranked = sorted(s.runs, key=lambda n: s.runs[n].default.mean())
        found.append(
            {
                "world": s.world,
                "T": s.T,
                "epsilon": s.epsilon,
                "said": {t: one.words if one else NOBODY for t, one in said.items()},
                "leads": {t: one.factory for t, one in said.items() if one and one.learns},
                "rows": [_row(s, name, said) for name in ranked],
                "refused": s.refusals,
            }
        )
    return found


def _first(settings, data):
    """What is shown before anything is chosen: the first (setting, trust) with a policy that is
    better than random play, or the very first."""
    for s, shown in zip(settings, data, strict=True):
        for trust in TRUSTED:
            if (one := answer(s, trust)) and one.learns:
                return shown, trust
    return data[0], next(iter(TRUSTED))


def _row(s, name, said):
    """factory, model, share, its ends, tuned share, place for every trust that may use it, code."""
    run, share = s.runs[name], s.share(name, "default")
    numbers = share.value, share.low, share.high, s.share(name).value
    places = {t: _place(name, said[t]) for t in TRUSTED if name in allowed(s, t)}
    code = runnable(run.default_call or run.call) if places else ""
    return [name, run.model, *map(_short, numbers), places, code]


def _place(name, one):
    """ "best", "undecided" or nothing, as the `Answer` for this trust has it."""
    if not one.learns:
        return ""
    if name == one.factory:
        return "undecided" if one.close else "best"
    return "undecided" if name in one.close else ""


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
