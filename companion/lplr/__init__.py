"""Room of "On the optimal regret of locally private linear contextual bandit".

Layered private linear regression (`params`, `bins`, `noise`, `fit`), the bandit made of it
(`policy`, `elimination`), its rival on perturbed sufficient statistics (`ssp`,
`sufficient_statistics`), experiments (`trials`, `bandits`, `regret`), worlds and closed forms.
"""

from companion.lplr.policy import lplr
from companion.lplr.ssp import suffstats

__all__ = ["lplr", "suffstats"]
