"""High-dimensional sparse bandits: worlds, private sparse regression, and what it guarantees.

`regression` holds peeling and noisy iterative hard thresholding, `accounting` the noise that a
budget needs, `environments` the streams, `worlds` the kernels of the exact shortcuts in
`companion.sparse_paths`.  The policies are `companion.policies.fliphat` and its neighbours.
"""
