"""Algorithm 2: streaming Frank-Wolfe on the l_1 ball by noisy choice of a vertex.

Source: the paper, Algorithm 2 and Theorem 3.11.
Cost: O(d) time per record, O(d) memory; 7 times the floor, a product, a place and an exponential
per record: half is the choice and the step, a quarter clips the record, the rest is its leaf; each
norm and product is a sum in order.
Differs: d_1 = grad f / 2 (d_0 = 0); besides the paper's Laplace noise on all 2 d scores, one draw
per coordinate ("coordinates") and the exponential mechanism ("gumbel"); the default calibration
clips the leaves and composes by concentrated privacy.
"""

from companion.accounting.audit import AuditInstance, AuditSpec, corners, lives, shows
from companion.core import Optimiser
from companion.streaming_sco import attacks
from companion.streaming_sco import calibration as noise
from companion.streaming_sco.learner import METHODS, SQRT, choose, init, run, step
from companion.validate import need_choice

SELECTORS = METHODS[SQRT + 1 :]
CALIBRATIONS = ("paper", "corrected")


def vertex_fw(
    d: int,
    n: int,
    *,
    epsilon: float,
    delta: float | None = None,
    radius: float = 1.0,
    loss: str = "squares",
    label_bound: float = 1.0,
    calibration: str = "corrected",
    selector: str = "gumbel",
    schedule: str = "constant",
    clip: float | None = None,
    step_scale: float = 1.0,
) -> Optimiser:
    """Algorithm 2 on the l_1 ball of the given radius, for n records with ||x||_inf <= 1.

    epsilon, delta, loss, label_bound, step_scale as in `streaming_fw`; calibration: "paper" or
    "corrected"; selector: "argmin" (the paper's), "coordinates" or "gumbel"; schedule of the losses
    epsilon_t: "falling" like 1/sqrt t, or "constant" (calibration "corrected" alone); clip: bound C
    of the leaves in l_inf, None for 2 (radius + label_bound), inf for none.  Raises ValueError on
    anything else.
    """
    c = noise.problem(d, n, 1.0, radius, loss, label_bound)
    need_choice("calibration", calibration, CALIBRATIONS)
    need_choice("selector", selector, SELECTORS)
    params, said = noise.calibrated(
        c, epsilon, delta, calibration, selector, schedule=schedule, clip=clip,
        step_scale=step_scale,
    )  # fmt: skip
    return Optimiser(
        "Algorithm 2",
        params,
        init,
        step,
        run,
        said,
        audit=AuditSpec(own_attacks, attack_instances, audit_instances),
    )


def own_attacks(optimiser: Optimiser):
    """`audit.Attack`s: all vertices as they are drawn, and as public parameters show them."""
    return attacks.on_choices(optimiser), attacks.on_parameters(optimiser)


def attack_instances():
    """What the audits attack, in both calibrations (the printed one is for `argmin`)."""
    own = vertex_fw(1, 16, epsilon=1.0, delta=0.1, radius=0.02)
    return own, vertex_fw(
        1, 16, epsilon=1.0, delta=0.1, radius=0.02, calibration="paper", selector="argmin"
    )


def audit_instances() -> tuple[AuditInstance, ...]:
    """What the laboratory of `companion.audits` plays: every chosen vertex."""
    secret, found = ("clipped", "memory.total", "memory.gradient", "memory.x"), ()
    kinds = zip(SELECTORS, ("falling", "constant", "falling"), strict=True)
    made = [
        vertex_fw(2, 4, epsilon=1.0, delta=1e-2, clip=0.05, selector=s, schedule=k)
        for s, k in kinds
    ]
    made.append(vertex_fw(2, 4, epsilon=1.0, delta=1e-2, clip=0.05))
    made.append(
        vertex_fw(
            2, 4, epsilon=1.0, delta=1e-2, radius=0.01, calibration="paper", selector="argmin"
        )
    )
    for s, o in zip((*SELECTORS, "gumbel", "argmin"), made, strict=True):
        law = "scores: " + ("laplace" if s == "argmin" else s)
        kernels, reaches = shows(choose, law, "total", "vertex", "v"), o is not made[-1]
        found += lives(kernels, secret, o, records=corners(2), bound_is_tight=reaches)
    return found
