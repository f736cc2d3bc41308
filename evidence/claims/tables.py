"""Tables of numbers in one look, and our numbers beside the published ones."""

import itertools

import numpy as np
import pandas as pd
from scipy.special import ndtri
from scipy.stats import sem

from companion.stats import Interval, mean_interval
from evidence.claims import markup


class Shown:
    """HTML for a page, with a plain text for terminals."""

    def __init__(self, page, text="See the page."):
        self._page = page
        self._text = text

    def _repr_html_(self):
        return self._page

    def __repr__(self):
        return self._text


def numbers(
    data,
    head=None,
    *,
    caption="",
    precision=3,
    formats=None,
    fold=None,
) -> Shown:
    """A table as the book shows it.

    data: a DataFrame, or what makes one (rows as dicts); a default index is left out, any
    other becomes the first column.  head: the columns' names, a list or "one | two", of
    rows that are no dicts; precision: significant digits of floats; formats: column ->
    format string, or a function from a number to its text, as `at_least` for a lower
    bound; fold: a line behind which the table is folded away.
    """
    columns = head.split(" | ") if isinstance(head, str) else head
    frame = pd.DataFrame(data, columns=columns)
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.rename_axis(frame.index.name or "").reset_index()
    frame.columns = frame.columns.astype(str)

    formats = formats or {}
    shown = []
    for row in frame.astype(object).to_numpy():
        cells = zip(frame.columns, row, strict=True)
        shown.append([_cell(value, formats.get(c), precision) for c, value in cells])
    page = markup.table(caption, frame.columns, shown, "numbers")
    page = markup.folded(fold, page) if fold else page
    return Shown(page, frame.to_string(index=False))


def _cell(value, form, precision):
    """A value as text: by its form (a format string or a function), if it has one."""
    if isinstance(value, float) and np.isnan(value):
        return ""
    if callable(form):
        return form(value)
    if form and not isinstance(value, str):
        return format(value, form)
    if isinstance(value, (float, Interval)):
        return f"{value:.{precision}g}"
    return value


def mean(samples: np.ndarray) -> str:
    """The mean of samples (n,) with its 95 % interval, in whole numbers, as a cell."""
    return f"{mean_interval(samples):.0f}"


def beside(*groups):
    """Published means beside ours, as a frame.

    groups: of rows: setting, published mean, its standard error, our samples; z is the
    difference in joint standard errors.
    """
    table = []
    for setting, mean, se, samples in itertools.chain(*groups):
        ours = mean_interval(samples)
        z = (ours.value - mean) / np.hypot(se, sem(samples))
        table.append([setting, mean, se, ours, z])
    columns = ["setting", "paper", "paper's s.e.", "ours (95 %)", "z"]
    return pd.DataFrame(table, columns=columns)


def compared(groups) -> Shown:
    """`beside` as a folded table, or why there is none."""
    if not groups:
        text = (
            "These are not the parameters of the published numbers: nothing to compare."
        )
        return Shown(f"<p>{text}</p>", text)
    table = beside(*groups)
    return numbers(table, formats=dict.fromkeys(table, ".1f"), fold="All settings")


def share(groups) -> Interval:
    """Mean over all rows of ours / published, with its joint 95 % interval.

    groups: lists of rows as for `beside`; rows of one group come from the same runs, so
    that their errors add up; groups are independent.
    """
    means = []
    errors = []
    for rows in groups:
        samples = np.mean([np.asarray(y) / mean for _, mean, _, y in rows], axis=0)
        printed = np.mean([se / mean for _, mean, se, _ in rows])
        means.append(samples.mean())
        errors.append(np.hypot(sem(samples), printed))
    value = float(np.mean(means))
    half = float(-ndtri(0.025) * np.linalg.norm(errors) / len(errors))
    return Interval(value, value - half, value + half)


def published_curves(values, final, table, word, per=1.0):
    """(groups, points) of curves over a setting: for `confirm`, and hollow circles of a
    picture.

    values: our settings; final: {epsilon: samples (n_reps, len(values))}; table: rows
    (setting, epsilon, published mean, error), an error being `per` standard errors.
    Between our settings we interpolate in the logarithm, repetition by repetition.
    """
    groups = []
    points = {}
    for v, e, mean, error in table:
        if e in final and values[0] <= v <= values[-1]:
            ours = np.stack([np.interp(np.log(v), np.log(values), y) for y in final[e]])
            groups.append([[f"{word} = {v}, ε = {e:g}", mean, error / per, ours]])
            points.setdefault(f"ε = {e:g}", []).append((v, mean, error / per))
    return groups, points


def published_rounds(rounds, curves, table):
    """(groups, points), as `published_curves`, of curves of regret over rounds.

    curves: {label: samples (n_reps, len(rounds))}; table: rows (label or epsilon as text,
    round, published mean, half width of its 95 % interval).
    """
    groups = {}
    points = {}
    for label, t, mean, half in table:
        label = f"ε = {label}" if label[0].isdigit() else label
        if label in curves and t in rounds:
            ours = curves[label][:, np.searchsorted(rounds, t)]
            groups.setdefault(label, []).append(
                [f"{label}, t = {t}", mean, half / 1.96, ours]
            )
            points.setdefault(label, []).append((t, mean, half / 1.96))
    return list(groups.values()), points


def confirm(
    claim,
    groups,
    tolerance,
    control,
    setting="mean over all settings of ours / published",
):
    """Add two rows to a claim: `share` within the tolerance, and no single wild
    difference.

    The second fails by chance with probability 1e-6 over all settings.  control: (words,
    groups of other runs), which both rules must reject; without groups of other runs
    there is no control, and without groups (these are not the published parameters) there
    is no row.  Returns the claim.
    """
    if not groups:
        return claim
    what, others = control
    mean = others and (what, share(others))
    wildest = others and (what, _wildest(others))
    of = "ours over published, 95 % interval"
    claim.row(
        setting,
        share(groups),
        of=of,
        low=1 - tolerance,
        high=1 + tolerance,
        control=mean,
    )
    limit = -ndtri(5e-7 / len(beside(*groups)))
    of = "largest |z| of all settings (false alarm one in a million)"
    claim.row(
        "largest single difference",
        _wildest(groups),
        of=of,
        high=limit,
        control=wildest,
    )
    return claim


def _wildest(groups):
    return beside(*groups)["z"].abs().max()


def without_errors(claim, setting, mean: float, samples, control) -> str:
    """Judge a published mean of ten runs without an error; the outcome of the row.

    Measured is the ratio of our mean over it, with the 95 % interval of two means of ten
    runs with our spread; it has to lie within a tenth of 1, and that of control, (words,
    other samples), must not.
    """
    other, theirs = control
    return claim.row(
        setting,
        _of_ten(samples / mean),
        of="ours over the printed mean",
        low=0.9,
        high=1.1,
        control=(other, _of_ten(theirs / mean)),
    )


def _of_ten(samples):
    value = samples.mean()
    half = -ndtri(0.025) * samples.std(ddof=1) * np.sqrt(2 / 10)
    return Interval(value, value - half, value + half)
