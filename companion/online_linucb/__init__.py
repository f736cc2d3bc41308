"""Room of "Improved rate for locally differentially private linear bandits".

`policy` is Algorithm 1 with its learner `maler` of many `experts`, `anytime` and `combiner` are
Algorithms 9 and 2; `corrected_ridge` is an ablation of ours, `theory` holds closed forms,
`experiments` what the chapter measures besides regret, `as_run` what the program behind Figure 1
did.
"""

from companion.online_linucb.anytime import anytime_linucb
from companion.online_linucb.combiner import combiner
from companion.online_linucb.corrected_ridge import corrected_ridge
from companion.online_linucb.policy import online_linucb

__all__ = ["anytime_linucb", "combiner", "corrected_ridge", "online_linucb"]
