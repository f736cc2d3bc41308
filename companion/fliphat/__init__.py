"""FLIPHAT: joint differential privacy for high dimensional sparse linear bandits.

`fliphat` is the paper's algorithm and our residual variant, `environments` the paper's
streams, `exact_simulation` a cheap simulation of the published configuration with the
same law, `experiments` the drivers of the figures and theory's closed forms.
"""
