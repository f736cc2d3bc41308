"""Paper folder of "On the optimal regret of locally private linear contextual bandit".

`lplr` is the algorithm, `ssp` what it is compared with, `environments` designs and bandits,
`experiments` the runs of the chapter's figures, attacks and closed forms.
"""

from companion.lplr.lplr import fit_users, intervals, lplr, lplr_params
from companion.lplr.ssp import suffstats

__all__ = ["fit_users", "intervals", "lplr", "lplr_params", "suffstats"]
