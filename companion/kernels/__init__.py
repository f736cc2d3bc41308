"""Compiled ground that algorithms stand on: linear algebra, samplers, likelihoods,
trees."""
