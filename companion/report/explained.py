"""A verdict in words: which settings hold, why the verdict follows, and what would settle it.

Everything is computed from the rows of evidence of a record (`claims.Claim`); nothing is typed.
"""

import math

from companion.report.evidence import PROOF

OUTCOMES = {"holds": "Holds", "fails": "Fails", "undecided": "Undecided"}
SHOWN = 4  # settings of one outcome


def explained(record) -> list[str]:
    """Sentences on the verdict of a record; none where nothing was tested at this scale."""
    if record.verdict.startswith("not tested"):
        return ["This run is smaller than the paper's, so no verdict is drawn."]
    return [s for s in (settings(record.evidence), reason(record), *remedies(record)) if s]


def settings(rows) -> str:
    """Which settings hold, fail and stay undecided, with what was measured."""
    found = {}
    for row in rows:
        where = f"{row.setting} " if row.setting else ""
        found.setdefault(row.outcome, []).append(f"{where}({row.measured})")
    return " ".join(f"{word}: {_some(found[o])}." for o, word in OUTCOMES.items() if o in found)


def _some(names):
    """The first of many names, and how many there are besides."""
    more = f"; and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return "; ".join(names[:SHOWN]) + more


def reason(record) -> str:
    """Why these rows give this verdict (`claims.verdict`, `claims.found`)."""
    outcomes = [row.outcome for row in record.evidence]
    if record.finding:
        return "This is a finding of ours. It counts neither for nor against a paper."
    if not outcomes:
        return "No row of evidence could be computed."
    fails, open_ = outcomes.count("fails"), outcomes.count("undecided")
    decided = sum(row.outcome == "fails" and row.decisive for row in record.evidence)
    reasons = {
        "wrong as printed": f"{_rows(decided)[:-1]} by proof, exact arithmetic or an attack. "
        "One such row is enough.",
        "not reproduced": f"{_rows(fails)} The sentence is about all of the settings, so one row "
        "that fails is enough.",
        "consistent": "All rows hold. A sentence that is a bound with a hidden constant, or a rule "
        "that could hardly have failed, gets no better verdict.",
        "reproduced with changes": "All rows hold, with the changes that are named here.",
        "reproduced": "All rows hold, and every rule rejects its control.",
    }
    if record.verdict != "not settled":
        return reasons[record.verdict]
    if fails:
        return (
            f"{_rows(fails)} The sentence is a bound with a hidden constant: at these sizes the "
            "constant can explain any number, so measuring cannot refute it."
        )
    return f"{open_} of {len(outcomes)} rows {'is' if open_ == 1 else 'are'} undecided."


def remedies(record):
    """What would have settled the claim: a sentence for every row that holds it up."""
    if record.verdict == "not settled" and "fails" in [r.outcome for r in record.evidence]:
        limits = sorted({row.rule for row in record.evidence if row.outcome == "fails"})
        yield f"To be consistent the rows need: {'; '.join(limits)}. A proof would settle it."
    for row in record.evidence:
        if row.outcome == "undecided" and (said := _undecided(row)):
            yield said


def _rows(n):
    return f"{n} row fails." if n == 1 else f"{n} rows fail."


def _undecided(row):
    """What would decide a row whose interval contains a limit of its rule."""
    if row.rule == PROOF or row.interval is None or row.limits is None:
        return ""
    low, high = (math.nan if end is None else end for end in row.interval)
    inside = [end for end in row.limits if end is not None and not (end < low or end > high)]
    where = row.setting or "all"
    if not inside:
        return f"{where}: the interval has no two ends, so the rule has no answer."
    times = _repetitions(row, inside)
    more = f" About {times:,} times as many repetitions would decide it" if times else ""
    more += ", if the mean stays where it is." if times else ""
    limit = " and ".join(f"{end:.4g}" for end in inside)
    return f"{where}: the interval contains the limit {limit}.{more}"


def _repetitions(row, inside):
    """How many times as many repetitions shrink the interval to the nearest limit, or None.

    Widths shrink like one over the root of the repetitions.  None where an end is infinite or
    bounds something other than a mean (an audit), or where the mean sits on the limit.
    """
    if row.decisive or None in row.interval:
        return None
    value = float(row.measured)
    factors = []
    for end in inside:
        if (gap := abs(value - end)) == 0:
            return None
        far = row.interval[0] if end < value else row.interval[1]
        factors.append((abs(far - value) / gap) ** 2)
    times = math.ceil(max(factors))
    return times if times < 1_000 else None
