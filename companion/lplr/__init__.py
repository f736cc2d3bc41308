"""Room of "On the optimal regret of locally private linear contextual bandit".

Layered private linear regression (`params`, `bins`, `noise`, `crowd`, `fit`, `reading`), the
bandit made of it (`policy`, `elimination`), its rivals (`ssp`, `sufficient_statistics`,
`ldp_linucb_batches`), repeated runs (`repeat`, `trials`, `ssp_trials`, `input_trials`, `bandits`),
messages and audits (`messages`), worlds (`environments`) and closed forms (`theory`).
"""

from companion.lplr.bandits import eliminate_with
from companion.lplr.environments import (
    constant,
    contexts,
    design,
    easy_bandit,
    family,
    hard_bandit,
    rare,
    split,
    spread_bandit,
)
from companion.lplr.fit import fit_users
from companion.lplr.ldp_linucb_batches import ldp_linucb_regret
from companion.lplr.params import lplr_params
from companion.lplr.policy import lplr
from companion.lplr.reading import read
from companion.lplr.ssp import suffstats
from companion.lplr.ssp_trials import estimate_ssp
from companion.lplr.trials import estimate_lplr, fit_design

__all__ = [
    "constant",
    "contexts",
    "design",
    "easy_bandit",
    "eliminate_with",
    "estimate_lplr",
    "estimate_ssp",
    "family",
    "fit_design",
    "fit_users",
    "hard_bandit",
    "ldp_linucb_regret",
    "lplr",
    "lplr_params",
    "rare",
    "read",
    "split",
    "spread_bandit",
    "suffstats",
]
