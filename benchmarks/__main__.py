"""Nanoseconds a round of every policy: `python -m benchmarks [NAME ...]`.

Each policy of `companion.policies.TABLE` plays its example on one stream; below stand
LinUCB in plain NumPy and, if installed, the LinUCB of `river` and `mabwiser` (the extra
`bench`); then how the time of three policies grows with T, K and d.  Times are CPU
seconds of this process, the least of `repeats` runs, with kernels compiled.
"""

import argparse
import time
from importlib.util import find_spec

import numpy as np

from companion import policies
from companion.environments import sphere

# arms and dimension of the examples in `TABLE`
K = 4
D = 3
SIZES = {"T": (1_000, 4_000, 16_000), "K": (4, 40, 400), "d": (4, 16, 64)}
BASE = {"T": 1_000, "K": 4, "d": 4}
GROWING = {
    "linucb": lambda d, T: policies.factory("linucb")(d, noise=0.5),
    "jdp_linucb": lambda d, T: policies.factory("jdp_linucb")(
        d,
        T,
        epsilon=1.0,
        delta=0.1,
    ),
    "online_linucb": lambda d, T: policies.factory("online_linucb")(
        d,
        T,
        epsilon=1.0,
        delta=0.1,
    ),
}


def stream(T, K, d, seed):
    """Contexts X (T, K, d) and rewards R (T, K) in {0, 1} of one environment."""
    blocks = list(sphere(K, d).blocks(T, np.random.default_rng(seed)))
    return np.concatenate([b[0] for b in blocks]), np.concatenate([b[1] for b in blocks])


def least(run, X, R, repeats):
    """Nanoseconds a round of run(X, R): the least of `repeats` runs, after one that
    compiles."""
    times = []
    for _ in range(repeats + 1):
        begin = time.process_time()
        run(X, R)
        times.append(time.process_time() - begin)
    return 1e9 * min(times[1:]) / len(X)


def player(policy):
    """The function that plays a policy on a stream from its start."""

    def run(X, R):
        state = policy.init(policy.params)
        arms = np.empty(len(X), np.int64)
        policy.loop(policy.params, state, X, R, np.random.default_rng(2), arms)

    return run


def numpy_linucb(X, R, noise=0.5, failure=0.01):
    """LinUCB of Abbasi-Yadkori et al. (2011), Figure 1, with inverse and solve in every
    round."""
    T, _, d = X.shape
    V = np.eye(d)
    b = np.zeros(d)
    for t in range(T):
        V_inv = np.linalg.inv(V)
        theta = np.linalg.solve(V, b)
        width = np.sqrt(np.einsum("ki,ij,kj->k", X[t], V_inv, X[t]))
        radius = noise * np.sqrt(d * np.log1p(t / d) - 2 * np.log(failure)) + 1.0
        k = np.argmax(X[t] @ theta + radius * width)
        V += np.outer(X[t, k], X[t, k])
        b += R[t, k] * X[t, k]


def river_linucb(X, R):
    """LinUCB of `river`, one estimate for each arm; every arm sees the context of the
    first."""
    from river import bandit

    policy = bandit.LinUCBDisjoint(alpha=1.0, seed=1)
    arms = list(range(X.shape[1]))
    for x, rewards in zip(X[:, 0], R, strict=True):
        context = dict(enumerate(x.tolist()))
        arm = policy.pull(arms, context=context)
        policy.update(arm, context, float(rewards[arm]))


def mabwiser_linucb(X, R):
    """LinUCB of `mabwiser`, one estimate for each arm; every arm sees the context of the
    first."""
    from mabwiser.mab import MAB, LearningPolicy

    policy = MAB(list(range(X.shape[1])), LearningPolicy.LinUCB(alpha=1.0), seed=1)
    policy.fit([0], [float(R[0, 0])], X[:1, 0])
    for x, rewards in zip(X[:, :1], R, strict=True):
        arm = policy.predict(x)
        policy.partial_fit([arm], [float(rewards[arm])], x)


OTHERS = {"numpy": numpy_linucb, "river": river_linucb, "mabwiser": mabwiser_linucb}


def rounds(names=None, T=2_000, repeats=3, seed=1):
    """{policy or library: nanoseconds a round}; T rounds, and a tenth of them for
    OTHERS."""
    X, R = stream(T, K, D, seed)
    found = {}
    for name in names or policies.TABLE:
        policy = policies.example(name, K)
        n = min(T, getattr(policy.params, "T", T))  # an example may promise fewer rounds
        found[name] = least(player(policy), X[:n], R[:n], repeats)
    few = max(T // 10, 1)
    absent = missing()
    for name, run in OTHERS.items():
        if name not in absent:
            found[f"LinUCB of {name}"] = least(run, X[:few], R[:few], 1)
    return found


def missing():
    """The libraries of OTHERS that are not installed."""
    return [name for name in OTHERS if find_spec(name) is None]


def growth(sizes=SIZES, repeats=3, seed=1):
    """Rows (policy, what grows, its size, nanoseconds a round); the rest stays at
    BASE."""
    rows = []
    for name, make in GROWING.items():
        for what, values in sizes.items():
            for value in values:
                T, k, d = (BASE | {what: value}).values()
                ns = least(player(make(d, T)), *stream(T, k, d, seed), repeats)
                rows.append((name, what, value, ns))
    return rows


def main(argv=None):
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="policies; without one, all",
    )
    parser.add_argument("--rounds", type=int, default=2_000, metavar="T")
    args = parser.parse_args(argv)
    if wrong := sorted(set(args.names) - set(policies.TABLE)):
        parser.error(f"no policy of companion.policies: {', '.join(wrong)}")
    each = rounds(args.names, args.rounds)
    for name, ns in sorted(each.items(), key=lambda row: row[1]):
        print(f"{name:28}{ns:10,.0f} ns a round")
    for name in missing():
        print(f"LinUCB of {name:18}not installed: pip install {name}")
    for name, what, value, ns in [] if args.names else growth():
        print(f"{name:16}{what} = {value:<8,}{ns:10,.0f} ns a round")


if __name__ == "__main__":
    main()
