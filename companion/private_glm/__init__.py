"""Folder of "Shuffle and joint differential privacy for generalized linear contextual
bandits".

`joint_glm` is Algorithm 2, `shuffle_glm` Algorithm 1, `environments` the streams that
they play on, `experiments` what the chapters measure, and the closed forms of the theory.
"""
