"""Hyper-parameters of Joint-DP GLM, as data.

The paper tunes lambda, gamma and beta and scales its cutoffs by constants, and names none of their
values.  `table2` and `fig1` were found by matching the paper's rows; `tight` is what works best
here; `explore` makes Criterion I fire.  They were chosen on seeds that no experiment of the book
uses.  A reader changes one by `_replace`:

>>> PRESETS["tight"]._replace(gamma=1.0).gamma
1.0
"""

from typing import NamedTuple

from companion.private_glm.ledger import CALIBRATIONS
from companion.validate import need_choice, need_float, need_int, need_positive, need_probability


class Preset(NamedTuple):
    """One row; the ridges follow the noise: lambda_V = max(1, a_v N_V sqrt(d/3)), lambda_H =
    max(1/2, a_h N_H sqrt(d/3)) with N the standard deviation of the noisiest prefix."""

    calibration: str  # of the noise, see `ledger`
    a_v: float  # multiple of the noise in the ridge of V
    a_h: float  # ... and of H
    width: float  # beta, of the index
    gamma: float  # of elimination and of Criterion I
    steps_o: int  # gradient steps of a fit on explored rounds
    steps_tau: int  # ... on all others
    cutoff_o: int  # fits on explored rounds, at most
    cutoff_tau: int  # ... on all others
    penalty: float  # ridge of both fits
    share: float = 0.5  # of the budget for the trees; the rest is for the fits


PRESETS = {
    "table2": Preset("paper", 4.0, 8.0, 0.5, 0.5, 6, 6, 6, 10, 10.0),
    "fig1": Preset("paper", 4.0, 5.0, 0.5, 0.5, 6, 6, 6, 10, 10.0),
    "tight": Preset("corrected", 4.0, 3.0, 0.5, 0.5, 12, 4, 3, 10, 3.0),
    "explore": Preset("corrected", 4.0, 3.0, 0.5, 1.2, 6, 6, 6, 10, 10.0),
}


def need_preset(preset, **changes) -> Preset:
    """The `Preset` of this name, or the one given, with these changes; None changes nothing.

    Raises ValueError by field on values out of range: a_v, a_h, width >= 0; gamma, penalty > 0;
    steps and cutoffs in [1, 10_000]; share in (0, 1); calibration one of `ledger.CALIBRATIONS`.
    """
    named = not isinstance(preset, Preset)
    q = PRESETS[need_choice("preset", preset, tuple(PRESETS))] if named else preset
    q = q._replace(**{name: value for name, value in changes.items() if value is not None})
    need_choice("calibration", q.calibration, CALIBRATIONS)
    scales = {n: need_float(n, getattr(q, n), 0.0) for n in ("a_v", "a_h", "width")}
    counts = {
        n: need_int(n, getattr(q, n), 1, 10_000)
        for n in ("steps_o", "steps_tau", "cutoff_o", "cutoff_tau")
    }
    positive = {n: need_positive(n, getattr(q, n)) for n in ("gamma", "penalty")}
    share = need_probability("share", q.share)
    return q._replace(**scales, **counts, **positive, share=share)
