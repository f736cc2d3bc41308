"""One file per bandit algorithm: a factory, and an `example()` that the common tests play."""
