"""What the arena's settings say about each policy, and about each paper's own policies."""

from companion import catalogue
from companion.report import recipes

REPAIRS = ("corrected_ridge", "residual_fliphat")  # policies of this book, not of a paper


def roster(settings):
    """A row for every policy of the package: where it plays, what is tuned, why not elsewhere."""
    rows = []
    for name in catalogue.policies():
        runs = [s.runs[name] for s in settings if name in s.runs]
        why = {s.refusals[name] for s in settings if name in s.refusals}
        rows.append(
            {
                "policy": name,
                "model": runs[0].model if runs else "",
                "worlds": len({s.world for s in settings if name in s.runs}),
                "tuned": recipes.NUMBERS.get(name, "nothing"),
                "chosen at an end": f"{sum(r.edge for r in runs)} of {len(runs)}",
                "elsewhere": "; ".join(sorted(why)),
            }
        )
    return rows


def record(settings, own, model):
    """(settings that the policies `own` surely win, number surely lost, number played).

    Rivals are the published policies of the trust model: REPAIRS do not compete.  Surely: as
    `Setting.leader` has it, with the intervals widened for all settings.
    """
    won, lost, played = [], 0, [s for s in settings if set(own) & set(s.runs)]
    for s in played:
        names = [n for n in s.of(model) if n not in REPAIRS]
        rivals = set(names) - set(own)
        first, close = s.leader(names, looks=len(settings))
        if first in own and rivals and not set(close) & rivals:
            won.append(s)
        lost += first not in own and not set(close) & set(own)
    return won, lost, len(played)
