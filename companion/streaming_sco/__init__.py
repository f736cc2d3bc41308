"""Optimal private streaming SCO in l_p geometry (Han, Liang, Liang, Wang, Yao and Zhang,
2022).

`streaming` holds Algorithms 1, 2 and 4, `sco_bandit` Algorithm 3 on them; `environments`
has records, contexts and the excess risk of runs, `experiments` what the chapters
measure.
"""
