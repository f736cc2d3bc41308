"""The contract of a policy, point by point: what every policy of the package satisfies, too.

A point raises `Broken` with what was found, or `Untested` where the policy gives it no hold.
"""

from typing import Any, NamedTuple

from companion.judge import in_play, on_paper


class Point(NamedTuple):
    """One point: its check, a function of `make`, and what to change where it fails."""

    check: Any
    change: str


POINTS = {
    "complete": Point(
        on_paper.complete,
        "give Policy(name, params, init, select, update, play, guarantee), and an "
        "example() for 400 rounds or more",
    ),
    "rows": Point(
        in_play.rows,
        "choose among range(X.shape[0]), write arms[0..n-1] alone; a policy for a fixed "
        "number of arms has K in its Params, and example(K=4)",
    ),
    "inside its arrays": Point(
        in_play.inside,
        "size every array of the State from Params; in compiled code use math.exp, "
        "math.log instead of NumPy's",
    ),
    "fresh state": Point(
        on_paper.fresh,
        "fill arrays in init: np.zeros instead of np.empty",
    ),
    "blocks": Point(
        in_play.cutting,
        "keep all that is remembered in the arrays of the State",
    ),
    "chosen reward": Point(
        in_play.chosen,
        "read R[t, arms[t]] alone",
    ),
    "data untouched": Point(
        in_play.untouched,
        "copy before you change X, R, x",
    ),
    "same bits twice": Point(
        in_play.repeats,
        "draw from the rng that is handed over, and keep nothing in the module: all "
        "memory is made by init",
    ),
    "one signature": Point(
        in_play.signature,
        "give State fields one type: 0.0, not 0, for a float",
    ),
    "live equals play": Point(
        in_play.live,
        "let play be the loop over select and update",
    ),
    "copies": Point(
        in_play.copies,
        "store x.copy(), never x itself",
    ),
    "told arm": Point(
        in_play.told,
        "learn in update from the arm, context and reward it is told",
    ),
    "guarantee": Point(
        on_paper.guarantee,
        "fill model, neighbours, unit, epsilon, delta",
    ),
    "pickles": Point(
        on_paper.pickles,
        "define kernels at the top of a module",
    ),
    "company": Point(
        in_play.company,
        "draw from the rng that is handed over; keep nothing in the module",
    ),
    "refusals": Point(
        on_paper.refusals,
        "check arguments by companion.validate, before anything is built",
    ),
}
