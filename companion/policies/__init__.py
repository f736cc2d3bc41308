"""One file per bandit algorithm; each offers a factory and an `example()` that the common tests
play.
"""
