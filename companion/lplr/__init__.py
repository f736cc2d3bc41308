"""Paper folder of "On the optimal regret of locally private linear contextual bandit".

`lplr` is the algorithm, `ssp` what it is compared with, `environments` designs and
bandits, `experiments` the runs of the chapter's figures, attacks and closed forms.
"""
