"""Algorithm 1: streaming Frank-Wolfe whose sum of gradient leaves is released by a tree.

Source: the paper, Algorithms 1 and 4 and Theorem 3.1.
Cost: O(d) per record; O(d log n) memory with the tree, O(d n) with the square-root factorisation.
Differs: the default calibration clips the leaves and adds Gaussian noise of exactly the size that
the budget needs; the tree is kept in streaming form, so that powers of two are no special case.
"""

from companion.checks import need_choice
from companion.core import Optimiser
from companion.disclosure import Disclosure, corners
from companion.streaming_sco import attacks
from companion.streaming_sco import calibration as noise
from companion.streaming_sco.learner import METHODS, SQRT, init, release, run, step

FACTORISATIONS = METHODS[: SQRT + 1]
CALIBRATIONS = ("paper", "zcdp", "corrected")


def streaming_fw(
    d,
    n,
    epsilon,
    delta=None,
    *,
    p=2.0,
    radius=1.0,
    loss="squares",
    label_bound=1.0,
    calibration="corrected",
    factorisation="tree",
    clip=None,
    step_scale=1.0,
) -> Optimiser:
    """Algorithm 1 on the l_p ball of the given radius, for n records with ||x||_q <= 1.

    epsilon in (0, inf] (inf: no noise), delta in (0, 1) (None: 1/n); p in [1, inf]; loss: one of
    "squares", "logistic", "probit", "inner product"; labels are clipped to +-label_bound (to
    [0, label_bound] for logistic and probit); calibration: "paper" (Theorem 3.1 at valid
    constants), "zcdp" (the same noise, counted better) or "corrected"; factorisation: "tree" or
    "sqrt"; clip: bound C of the leaves in l_2 (in l_q for "zcdp"; refused for "paper"), inf for
    none, None for 2 (radius + label_bound) d^max(0, 1/2 - 1/q), which hardly ever binds;
    step_scale in (0, 1].  Raises ValueError on anything else.
    """
    c = noise.problem(d, n, p, radius, loss, label_bound)
    need_choice("calibration", calibration, CALIBRATIONS)
    need_choice("factorisation", factorisation, FACTORISATIONS)
    params, said = noise.calibrated(
        c, epsilon, delta, calibration, factorisation, clip=clip, step_scale=step_scale
    )
    name = "Algorithm 1" if factorisation == "tree" else "Algorithm 1, square root"
    return Optimiser(name, params, init, step, run, said)


def example():
    """A small instance for the common tests."""
    return streaming_fw(3, 400, 4.0, 1e-3, p=1.5, radius=1.0)


def attack(optimiser):
    """`audit.Attack`s: the nodes that hold the first record, the vertices that they lead to, and
    those of whole runs."""
    return *attacks.on_nodes(optimiser), attacks.on_parameters(optimiser)


def victims():
    """What the audits attack, by calibration; for a small ball the constants are attained."""
    kinds = "corrected", "paper"
    return tuple(streaming_fw(2, 16, 1.0, 0.1, radius=0.02, calibration=c) for c in kinds)


def disclosures():
    """What the common test of guarantees plays (`companion.disclosure`): every released sum.

    The printed constants, 2 (beta D + L), are nearly attained for a small ball and large labels.
    """

    def read(law):
        return {release: lambda _, p, t, total, noise, gradient, rng: [(law, gradient)]}

    secret, records = ("clipped", "memory"), corners(2)
    clipped = {"p": 1.5, "clip": 0.05}
    small = {"p": 1.5, "radius": 0.01}
    sums = [
        Disclosure(streaming_fw(2, 5, 1.0, 1e-2, factorisation=f, **clipped), read("gaussian"),
                   secret, rounds=5, records=records)
        for f in FACTORISATIONS
    ]  # fmt: skip
    sums += [
        Disclosure(streaming_fw(d, 3, 1.0, 1e-2, calibration=kind, **small), read(law), secret,
                   rounds=3, records=corners(d), reaches=False)
        for kind in ("paper", "zcdp") for d, law in ((2, "gaussian"), (9, "prefix"))
    ]  # fmt: skip
    return tuple(sums)
