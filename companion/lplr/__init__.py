"""Layered private linear regression (LPLR): parameters, tree, noise, fits, baselines, regret,
closed forms.
"""
