"""Paper folder of "Improved rate for locally differentially private linear bandits".

`online_linucb` is Algorithm 1 with the online learner Maler, `combiner` Algorithms 9 and 2;
`corrected_ridge` is an ablation of ours; `experiments` has what the chapter measures besides regret
and the paper's closed forms, `published_code` what the program behind Figure 1 did.
"""

from companion.online_linucb.combiner import anytime_linucb, combiner
from companion.online_linucb.corrected_ridge import corrected_ridge
from companion.online_linucb.online_linucb import online_linucb

__all__ = ["anytime_linucb", "combiner", "corrected_ridge", "online_linucb"]
