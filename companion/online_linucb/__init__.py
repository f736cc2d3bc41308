"""Paper folder of "Improved rate for locally differentially private linear bandits".

`online_linucb` is Algorithm 1 with the online learner Maler, `combiner` Algorithms 9 and
2; `corrected_ridge` is an ablation of ours; `experiments` has what the chapter measures
besides regret and the paper's closed forms, `published_code` what the program behind
Figure 1 did.
"""
