"""Paper folder of "Improved rate for locally differentially private linear bandits".

`online_linucb` is Algorithm 1 with its learner Maler, `anytime` Algorithm 9, `combiner` Algorithm
2; `corrected_ridge` is an ablation of ours; `experiments` has what the chapter measures besides
regret and the paper's closed forms, `published_code` what the program behind Figure 1 did.
"""

from companion.online_linucb.anytime import anytime_linucb
from companion.online_linucb.combiner import combiner
from companion.online_linucb.corrected_ridge import corrected_ridge
from companion.online_linucb.online_linucb import online_linucb

__all__ = ["anytime_linucb", "combiner", "corrected_ridge", "online_linucb"]
