"""Algorithm 1: streaming Frank-Wolfe whose sum of gradient leaves is released by a tree.

Source: the paper, Algorithms 1 and 4 and Theorem 3.1.
Cost: O(d) time per record; O(d log n) memory with the tree, O(d n) with the square-root
factorisation; 4 times the floor, a product and d normals per record.
Differs: the default calibration clips the leaves and adds Gaussian noise of exactly the size that
the budget needs; the tree is kept in streaming form, so that powers of two are no special case.
"""

from companion.accounting.audit import AuditInstance, AuditSpec, corners, in_both, lives, shows
from companion.core import Optimiser
from companion.streaming_sco import attacks
from companion.streaming_sco import calibration as noise
from companion.streaming_sco.learner import METHODS, SQRT, init, release, run, step
from companion.validate import need_choice

FACTORISATIONS = METHODS[: SQRT + 1]
CALIBRATIONS = ("paper", "zcdp", "corrected")


def streaming_fw(
    d: int,
    n: int,
    *,
    epsilon: float,
    delta: float | None = None,
    p: float = 2.0,
    radius: float = 1.0,
    loss: str = "squares",
    label_bound: float = 1.0,
    calibration: str = "corrected",
    factorisation: str = "tree",
    clip: float | None = None,
    step_scale: float = 1.0,
) -> Optimiser:
    """Algorithm 1 on the l_p ball of the given radius, for n records with ||x||_q <= 1.

    epsilon in (0, inf] (inf: no noise), delta in (0, 1) (None: 1/n); p in [1, inf]; loss: one of
    "squares", "logistic", "probit", "inner product"; labels are clipped to +-label_bound (to
    [0, label_bound] for logistic and probit); calibration: "paper" (Theorem 3.1 at valid
    constants), "zcdp" (the same noise, counted better) or "corrected"; factorisation: "tree" or
    "sqrt"; clip: bound C of the leaves in l_2 (in l_q for "zcdp"; refused for "paper"), inf for
    none, None for 2 (radius + label_bound) d^max(0, 1/2 - 1/q), which hardly ever binds; clipped
    squares at p = 2 get the noise of the exact movement, which is below 2 C (`movement`);
    step_scale in (0, 1].  Raises ValueError on anything else.
    """
    c = noise.problem(d, n, p, radius, loss, label_bound)
    need_choice("calibration", calibration, CALIBRATIONS)
    need_choice("factorisation", factorisation, FACTORISATIONS)
    params, said = noise.calibrated(
        c, epsilon, delta, calibration, factorisation, clip=clip, step_scale=step_scale
    )
    name = "Algorithm 1" if factorisation == "tree" else "Algorithm 1, square root"
    return Optimiser(
        name,
        params,
        init,
        step,
        run,
        said,
        audit=AuditSpec(own_attacks, attack_instances, audit_instances),
    )


def own_attacks(optimiser: Optimiser):
    """`audit.Attack`s: the nodes that hold the first record, the vertices that they lead to, those
    of whole runs, and the nodes that hold the second record, whose leaf can move further."""
    later = (attacks.on_second_nodes(optimiser),) if optimiser.params.d > 1 else ()
    return *attacks.on_nodes(optimiser), attacks.on_parameters(optimiser), *later


def attack_instances():
    """What the audits attack, by calibration; for a small ball the constants are attained."""
    return in_both(streaming_fw, 2, 16, epsilon=1.0, delta=0.1, radius=0.02)


def audit_instances() -> tuple[AuditInstance, ...]:
    """What the laboratory of `companion.audits` plays: every released sum.

    The printed constants, 2 (beta D + L), are nearly attained for a small ball and large labels.
    """
    secret = "clipped", "memory.total", "memory.noise", "memory.x"
    normal, blocks = (shows(release, law, "gradient") for law in ("gaussian", "prefix"))
    exact = [streaming_fw(2, 5, epsilon=1.0, delta=1e-2, p=1.5, clip=0.05, factorisation=f)
             for f in FACTORISATIONS]  # fmt: skip
    sums = lives(normal, secret, *exact, records=corners(2))
    for kind in ("paper", "zcdp"):
        for d, law in ((2, normal), (9, blocks)):
            made = streaming_fw(d, 3, epsilon=1.0, delta=1e-2, p=1.5, radius=0.01, calibration=kind)
            sums += lives(law, secret, made, records=corners(d), bound_is_tight=False)
    return sums
