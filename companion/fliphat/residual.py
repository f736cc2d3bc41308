"""Residual FLIPHAT: FLIPHAT whose gradient is bounded by clipping, so that little noise is needed.

The mean of x (y - x'theta) in the gradient becomes that of clip(x) clip(y - x'theta), with bounds
that the user chooses: private for any contexts and rewards.  For symmetric errors it still vanishes
at the truth.  Our own variant; kernels are those of `companion.fliphat.policy`.

Source: the FLIPHAT paper, Algorithms 1 to 3.
Cost: as FLIPHAT.
Differs: the gradient is clipped; the noise follows from exact composition; optionally a release
starts from the last estimate, or data are kept.
"""

import numpy as np

from companion.accounting.audit import AuditInstance, AuditSpec
from companion.accounting.privacy import NO_PRIVACY, REPLACE_RECORD, Guarantee
from companion.core import Policy
from companion.fliphat.accounting import exact_factor
from companion.fliphat.attack import own_attacks
from companion.fliphat.episodes import Params, init, rows_in_release, universe_of
from companion.fliphat.policy import (
    MOST,
    SECRET,
    need_problem,
    need_scale,
    peeled,
    play,
    select,
    update,
    warn_idle,
)
from companion.kernels.mechanisms import lazy_peel
from companion.validate import LARGEST, need_choice, need_int, need_positive


def residual_fliphat(
    d: int,
    T: int,
    *,
    sparsity: int,
    epsilon: float,
    delta: float = 0.01,
    x_clip: float = 1.0,
    residual_clip: float = 1.0,
    l1_radius: float = np.inf,
    eta: float = 1.0,
    iterations: int = 3,
    warm: bool = False,
    forget: bool = True,
    skip: int = 32,
) -> Policy:
    """FLIPHAT whose gradient is the mean of clip(x) clip(y - x'theta): private for any data.

    x_clip, residual_clip in [1e-50, 1e50] are the two bounds, so a swap of one of n rows moves eta
    times the gradient by at most 4 eta x_clip residual_clip/n in every iteration; the noise follows
    by exact composition of all picks that one row enters: sparsity times iterations, times the
    number of releases if forget=False.  l1_radius > 0 may be inf; iterations in [1, 1000]; with
    warm=True, N-IHT starts from the last estimate (public by then); releases on fewer than
    skip >= 0 rows are left out.  sparsity, epsilon, delta, eta as in `fliphat`.  iterations=1,
    warm=False is FLIPHAT with one clipped step.  Raises ValueError on anything else, and warns if
    no release takes a step.
    """
    d, T, sparsity, epsilon, delta = need_problem(d, T, sparsity, epsilon, delta)
    x_clip, residual_clip = need_scale("x_clip", x_clip), need_scale("residual_clip", residual_clip)
    l1_radius = need_positive("l1_radius", l1_radius, allow_inf=True)
    eta, m = need_scale("eta", eta), need_int("iterations", iterations, 1, MOST)
    need_choice("warm", warm, (True, False))
    need_choice("forget", forget, (True, False))
    skip = need_int("skip", skip, 0, LARGEST)
    n = rows_in_release(T, forget)
    steps = np.where(n >= skip, m, 0).astype(np.int64)
    warn_idle("Residual FLIPHAT", steps)
    uses = 1 if forget else max(int((steps > 0).sum()), 1)
    factor = exact_factor(sparsity * m * uses, epsilon, delta)
    xi = 4.0 * eta * x_clip * residual_clip / n * factor
    clips, start = (np.inf, x_clip, residual_clip), (bool(warm), bool(forget))
    rewards = np.full(len(n), np.inf)  # are clipped with the residual
    p = Params(d, T, sparsity, eta, l1_radius, *clips, *start, steps, rewards, xi, xi.copy())
    guarantee = NO_PRIVACY
    if epsilon < np.inf:
        guarantee = Guarantee("joint", epsilon, delta, REPLACE_RECORD, "user")
    return Policy(
        "Residual FLIPHAT",
        p,
        init,
        select,
        update,
        play,
        guarantee,
        universe=universe_of(p),
        delayed_feedback=True,
        audit=AuditSpec(own_attacks, attack_instances, audit_instances),
    )


def attack_instances():
    """What the audits attack: one release of one step, of one pick; see `policy.attack_instances`."""
    return (residual_fliphat(2, 12, sparsity=1, epsilon=4.0, delta=0.1, iterations=1, skip=4),)


def audit_instances() -> tuple[AuditInstance, ...]:
    """What the laboratory of `companion.audits` plays: three releases."""
    options = {"sparsity": 2, "epsilon": 1.0, "skip": 0}
    policies = (
        residual_fliphat(3, 8, iterations=2, warm=True, **options),
        residual_fliphat(3, 8, iterations=1, forget=False, **options),
        residual_fliphat(3, 8, iterations=2, warm=True, forget=False, l1_radius=2.0, **options),
    )
    return tuple(AuditInstance(q, {lazy_peel: peeled}, SECRET, rounds=7) for q in policies)
