"""Records and contexts to learn from, and the excess risk of what optimisers publish.

Source: section C of the paper (normal contexts divided by their l_q norm, linear labels);
the other designs are ours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from companion.contract import need_records
from companion.environments import block_lengths, filled_blocks
from companion.jit import jit
from companion.kernels import glm
from companion.kernels.geometry import dual_exponent, lq_norm, need_exponent
from companion.kernels.linalg import dot
from companion.simulate import go_on, need_grid, need_seeds, parallel_map, stream
from companion.validate import need_array, need_choice, need_float, need_int

DESIGNS = ("sphere", "signs")


@jit
def fill_records(rng, signs, q, theta, noise, X, Y):
    """X (n, d) <- contexts with ||x||_q = 1, Y (n,) <- x'theta plus N(0, noise^2), one by
    one.

    signs: entries are +1 or -1 instead of normals, before they are divided by the norm.
    """
    for t in range(X.shape[0]):
        x = X[t]
        for i in range(x.shape[0]):
            if signs:
                x[i] = 1.0 if rng.random() < 0.5 else -1.0
            else:
                x[i] = rng.standard_normal()
        size = lq_norm(x, q)
        for i in range(x.shape[0]):
            x[i] /= size
        Y[t] = dot(x, theta) + noise * rng.standard_normal()


class Regression(NamedTuple):
    """Linear labels and an isotropic design; make one with `regression`."""

    p: float
    theta: np.ndarray
    noise: float
    design: str

    def records(self, n, rng):
        """(X (n, d), Y (n,))."""
        X = np.empty((n, len(self.theta)))
        Y = np.empty(n)
        signs = self.design == "signs"
        fill_records(rng, signs, dual_exponent(self.p), self.theta, self.noise, X, Y)
        return X, Y

    def excess(self, theta):
        """SubOpt of theta (..., d): ||theta - theta*||_2^2 / ||theta*||_2^2, exactly.

        The design is symmetric under signs and permutations of coordinates, so E x x' = c
        I, and c cancels from (F(theta) - F(theta*)) / (F(0) - F(theta*)).
        """
        return ((theta - self.theta) ** 2).sum(axis=-1) / (self.theta**2).sum()

    def second_moment(self, n=200_000):
        """(c, standard error): the c of E x x' = c I, from n draws with a fixed seed."""
        X, _ = self.records(n, np.random.default_rng(0))
        squares = (X**2).mean(axis=1)
        return float(squares.mean()), float(squares.std(ddof=1) / np.sqrt(n))

    def gradient(self, theta, c):
        """Exact gradient 2 c (theta - theta*) of the population loss at theta (...,
        d)."""
        return 2.0 * c * (theta - self.theta)


def flat(d, p):
    """The paper's parameter: all ones, divided by its l_p norm."""
    return np.full(d, 1.0 / d ** (0.0 if p == np.inf else 1.0 / p))


def first(d, p, s):
    """s equal entries, then zeros, of l_p norm 1: what the released program draws with s
    = 5."""
    return np.concatenate([flat(s, p), np.zeros(d - s)])


def regression(
    p: float,
    theta: np.ndarray,
    *,
    noise: float = 0.05,
    design: str = "sphere",
) -> Regression:
    """The paper's linear regression in the geometry of l_p.

    p in [1, inf]; theta (d,) the parameter; noise >= 0, standard deviation of the labels;
    design:
    "sphere" (normals divided by their l_q norm) or "signs" (+-1 divided by it).  Raises
    ValueError on anything else.
    """
    theta = need_array("theta", theta, ("d",))
    if not (theta != 0).any():
        raise ValueError(
            f"theta must not be zero (SubOpt is relative to it); got {theta}"
        )
    need_choice("design", design, DESIGNS)
    return Regression(
        p=need_exponent("p", p),
        theta=theta,
        noise=need_float("noise", noise, 0.0),
        design=design,
    )


class Functional(NamedTuple):
    """The loss <x, theta> of signs x of l_q norm 1 whose mean is -slope times the size of
    x_1."""

    d: int
    slope: float
    p: float = 1.0  # of the ball, whose radius is 1

    @property
    def size(self):
        """d^(-1/q): the entries of a record."""
        return self.d ** (-1.0 / dual_exponent(self.p))

    def records(self, n, rng):
        """(X (n, d), labels that nothing reads)."""
        X = np.where(rng.random((n, self.d)) < 0.5, self.size, -self.size)
        X[:, 0] = np.where(
            rng.random(n) < 0.5 * (1.0 + self.slope),
            -self.size,
            self.size,
        )
        return X, np.zeros(n)

    def excess(self, theta):
        """slope (1 - theta_1) times the size: the minimiser over the ball is e_1."""
        return self.size * self.slope * (1.0 - theta[..., 0])


@jit
def fill_rounds(rng, theta, link, noise, X, R, mu):
    """One block: contexts N(0, I) divided by their largest entry, and the rewards of all
    arms."""
    for t in range(R.shape[0]):
        x = X[t, 0]
        for i in range(x.shape[0]):
            x[i] = rng.standard_normal()
        size = lq_norm(x, np.inf)
        for i in range(x.shape[0]):
            x[i] /= size
            for k in range(1, X.shape[1]):
                X[t, k, i] = x[i]
        for k in range(R.shape[1]):
            m = glm.mean(link, dot(x, theta[k]))
            mu[t, k] = m
            if link == glm.LINEAR:
                R[t, k] = m + noise * rng.standard_normal()
            else:
                R[t, k] = 1.0 if rng.random() < m else 0.0


class CommonContext(NamedTuple):
    """One context per round for K arms with a parameter each; make one with
    `one_context`."""

    K: int
    d: int
    s: int
    link: int
    noise: float

    def blocks(self, T, rng):
        """Yield (X, R, mu) for T rounds; the context of a round is repeated in its K
        rows."""
        theta = np.zeros((self.K, self.d))
        for k in range(self.K):
            theta[k, rng.permutation(self.d)[: self.s]] = rng.uniform(-1.0, 1.0, self.s)
            theta[k] /= np.abs(theta[k]).sum()
        law = theta, self.link, self.noise
        yield from filled_blocks(fill_rounds, law, self.K, self.d, T, rng)


def one_context(
    K: int,
    d: int,
    s: int,
    *,
    link: str = "linear",
    noise: float = 0.05,
) -> CommonContext:
    """K arms with s-sparse parameters of l_1 norm 1, new in every repetition, on one
    context.

    K >= 2, 1 <= s <= d; link "linear" (rewards with normal noise) or "logistic", "probit"
    (Bernoulli rewards); noise >= 0.  Raises ValueError on anything else.
    """
    K = need_int("K", K, 2)
    d = need_int("d", d, 1)
    s = need_int("s", s, 1, d)
    number = glm.need_link("link", link)
    return CommonContext(
        K=K,
        d=d,
        s=s,
        link=number,
        noise=need_float("noise", noise, 0.0),
    )


class Risk(NamedTuple):
    """What `excess_risk` returns; axes: repetition, method (in the order given), place on
    grid."""

    names: tuple
    records: np.ndarray  # (n_grid,) increasing numbers of records; the last one is n
    excess: np.ndarray  # (n_reps, n_methods, n_grid) excess risk of what is public then

    @property
    def final(self):
        """Excess risk after the last record, (n_reps, n_methods)."""
        return self.excess[:, :, -1]

    def of(self, name):
        """Excess risk of one method, (n_reps, n_grid)."""
        return self.excess[:, self.names.index(name)]


def excess_risk(env, optimisers, n: int, seeds, *, grid=None) -> Risk:
    """Run every optimiser on the same n records, once per seed.

    env: object with `records(n, rng) -> X (n, d), Y (n,)` and `excess(theta (m, d)) ->
    (m,)`; optimisers: `Optimiser` values with distinct names; seeds as in `simulate`,
    whose streams these are; grid: increasing numbers of records at which the
    risk is kept (default: n alone, which is all that a batch method can give).  Raises
    ValueError on anything else.
    """
    optimisers = tuple(optimisers)
    n = need_int("n", n, 1)
    names = tuple(o.name for o in optimisers)
    if not optimisers or len(set(names)) < len(names):
        raise ValueError(
            f"optimisers must have distinct names, one at least; got {names}"
        )
    grid = np.array([n]) if grid is None else need_grid(grid, n)
    batch = [o.name for o in optimisers if o.step is None]
    if batch and len(grid) > 1:
        raise ValueError(f"grid must be [n] for batch methods, here {batch}; got {grid}")
    jobs = [(env, optimisers, n, seed, grid) for seed in need_seeds(seeds)]
    return Risk(names, grid, np.stack(parallel_map(_repetition, jobs)))


def drawn(env, n, seed):
    """The n records (X, Y) of the repetition `seed`."""
    return env.records(n, stream(seed, "environment"))


def watch(optimiser, X, Y, seed, grid):
    """Yield (t, state, theta) at every t of the increasing grid, in one run on records X,
    Y.

    The run is that of `excess_risk` with this seed.  Arrays of `state` are overwritten
    afterwards.
    """
    o = optimiser
    rng = stream(seed, optimiser.name)
    begin = 0
    state = o.init(o.params, rng)
    rows = len(X) if o.step is None else block_lengths(len(X), 1, X.shape[1])[0]
    out = np.empty((rows, X.shape[1]))  # a small one is faster than a row for each record
    for t in grid:
        while begin < t:
            end = min(begin + rows, t)
            shown = out[: end - begin]
            go_on()
            o.run(o.params, state, X[begin:end], Y[begin:end], rng, shown)
            begin = end
        yield t, state, shown[-1].copy()


def _repetition(env, optimisers, n, seed, grid):
    """One repetition: excess (n_methods, n_grid)."""
    X, Y = drawn(env, n, seed)
    need_records(optimisers, X, Y)
    if len(X) != n:
        raise ValueError(f"env must give n={n} records; got {len(X)}")
    excess = []
    for o in optimisers:
        public = np.array([theta for _, _, theta in watch(o, X, Y, seed, grid)])
        if not np.isfinite(public).all():
            raise ValueError(
                f"optimiser {o.name!r} released a parameter that is not finite"
            )
        excess.append(env.excess(public))
    return np.array(excess)
