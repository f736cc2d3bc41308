"""Which policies take rewards late and in any order, as data.

A policy that is asked again before the last reward came must learn from each record alone: its
`update` may read nothing that `select` noted, and nothing that is only true of the round under way.
Then a run with late rewards is a run in order of the records' arrival, whose privacy the guarantee
covers: each record enters once, and its noise is drawn when it enters.  **When** a record arrives,
and that it never does, is not protected: a delay that tells about a person is not hidden.

Until a reward comes nothing is learned from its round: asked many times, a policy that is forced to
play an arm by the number of the round plays the same one many times.
"""

import sys
from typing import Any

from companion.checks import need_kind
from companion.core import Policy

ANY_ORDER = {  # modules of the policies' kernels
    "companion.baselines.ecolog",
    "companion.baselines.glm_ucb",
    "companion.baselines.gloc",
    "companion.baselines.jdp_linucb",
    "companion.baselines.lasso_bandit",
    "companion.baselines.ldp_linucb",
    "companion.baselines.linucb",
    "companion.baselines.random",
    "companion.baselines.sdp_linucb",
    "companion.fliphat.episodes",
    "companion.lplr.policy",
    "companion.online_linucb.anytime",
    "companion.online_linucb.corrected_ridge",
    "companion.online_linucb.policy",
    "companion.private_glm.shuffle",
    "companion.streaming_sco.policy",
}
IN_ORDER = {  # module: why a reward must come before the next question
    "companion.baselines.forced_lasso": "it takes a record as forced by the number of its round",
    "companion.baselines.rs_glinucb": "update reads what select noted, whether it warms up",
    "companion.online_linucb.combiner": "the learner that gave the advice is credited, and changes",
    "companion.private_glm.joint": "select notes the context and side of its round, in its row",
}


def why_in_order(policy: Policy) -> Any:
    """Why this policy takes one question at a time; empty text if rewards may come late.

    A policy of one's own says `late = True` in the module of its `init`, else it is in order.
    """
    module = need_kind("policy", policy, Policy).init.__module__
    if module in ANY_ORDER or getattr(sys.modules.get(module), "late", False) is True:
        return ""
    return IN_ORDER.get(module, "its module does not say that rewards may come late")
