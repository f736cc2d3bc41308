"""Paper folder of "On the optimal regret of locally private linear contextual bandit".

`lplr` is the algorithm, `ssp` what it is compared with, `environments` designs and bandits,
`experiments` the runs of the chapter's figures, attacks and closed forms.
"""

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
from companion.lplr.experiments import (
    eliminate_with,
    estimate_lplr,
    estimate_ssp,
    fit_design,
    ldp_linucb_regret,
)
from companion.lplr.lplr import fit_users, intervals, lplr, lplr_params
from companion.lplr.ssp import suffstats

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
    "intervals",
    "ldp_linucb_regret",
    "lplr",
    "lplr_params",
    "rare",
    "split",
    "spread_bandit",
    "suffstats",
]
