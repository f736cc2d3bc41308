"""What the released program ran where it departs from the paper; used by the cells that explain the
published numbers, and by audits.  Nothing here is private.

Source: the authors' repository, the state of June to August 2022 that produced Tables 2 to 4.
1. The radius of the generalized Gaussian was drawn as R^2 ~ Gamma(d/2, scale 2 sigma_+), the
   misprint of Lemma 3.2, instead of 2 sigma_+^2.
2. Its exponent was kappa_(q,+) = min(q - 1, log d - 1) instead of kappa_(q,+) + 1 (Lemma 3.9), and
   every generalized normal draw was shifted by 1/exponent before its sign was flipped at random.
3. beta = 1 and L = 4, for a loss with beta = 2 and L = 2 (r + |y|).
4. Algorithm 3's program takes the coordinate of the vertex from noisy scores, but its sign from the
   exact gradient.
"""

import math

import numpy as np

from companion.baselines import noisy_sfw as sfw
from companion.jit import jit
from companion.kernels.geometry import admit, dual_exponent, vertex
from companion.kernels.mechanisms import laplace
from companion.kernels.tree import complete, trailing_zeros
from companion.streaming_sco import learner
from companion.streaming_sco.streaming_fw import streaming_fw

BETA, LIPSCHITZ = 1.0, 4.0


@jit
def noise(rng, exponent, sigma, out):
    """out (d,) <- the program's draw; exponent 2 stands for p > 2, where directions are normal."""
    total = 0.0
    for i in range(out.shape[0]):
        if exponent == 2.0:
            out[i] = rng.standard_normal()
        else:
            u = math.pow(rng.standard_gamma(1.0 / exponent), 1.0 / exponent)
            u = (u if rng.random() < 0.5 else -u) + 1.0 / exponent
            out[i] = u if rng.random() < 0.5 else -u
        total += math.pow(abs(out[i]), exponent)
    radius = math.sqrt(2.0 * sigma * rng.standard_gamma(0.5 * out.shape[0]))
    for i in range(out.shape[0]):
        out[i] *= radius / math.pow(total, 1.0 / exponent)


@jit
def node_outputs(rng, p, g, out):
    """`attacks.node_outputs` with the program's noise."""
    for i in range(out.shape[0]):
        for k in range(out.shape[1]):
            noise(rng, p.exponent, p.sigma, out[i, k])
            for j in range(p.d):
                out[i, k, j] += g[j]


@jit
def run_tree(p, s, X, Y, rng, out):
    """Algorithm 1 with the program's noise; out (n, d) <- the public parameters."""
    theta, old, total, gradient, v, nodes, inside = s.memory
    for t0 in range(X.shape[0]):
        t, row = t0 + 1, trailing_zeros(t0 + 1)
        y, _ = admit(X[t0], Y[t0], p.q, p.low, p.high, inside)
        c = learner.leaf(p, t, inside, y, theta, old)
        noise(rng, p.exponent, p.sigma, nodes[row])
        complete(nodes, t)
        for i in range(p.d):
            total[i] += c * inside[i]
            gradient[i] = (total[i] + nodes[row, i]) / (t + 1.0)
        vertex(gradient, p.p, p.radius, v)
        for i in range(p.d):
            old[i] = theta[i]
            theta[i] += p.step / (t + 1.0) * (v[i] - theta[i])
            out[t0, i] = theta[i]
    return learner.State(X.shape[0], theta, 0, s.memory)


@jit
def run_sfw(p, s, X, Y, rng, out):
    """NoisySFW with the program's noise; out (n, d) <- the public parameters."""
    t, theta = 0, s.theta
    for t0 in range(X.shape[0]):
        sfw.gather(p, s, t0, X[t0], Y[t0])
        t = t0 + 1
        size = sfw.batch_end(p, t)
        if size > 0:
            noise(rng, p.exponent, p.sigma_first if t == p.half else p.sigma, s.noise)
            sfw.add_mean(p, s, size)
            sfw.descend(p, s)
        out[t0] = theta
    return sfw.State(t, theta, 0, s.old, s.gradient, s.total, s.v, s.x, s.noise)


@jit
def clean_sign(rng, score, b, out):
    """out (runs, d) <- vertices whose coordinate is noisy and whose sign is not: the choice of
    Algorithm 3's program, for the scores (d,) and Laplace scale b.
    """
    for i in range(out.shape[0]):
        best, at = -np.inf, 0
        out[i] = 0.0
        for j in range(score.shape[0]):
            z = abs(score[j] + laplace(rng, b))
            if z > best:
                best, at = z, j
        out[i, at] = -np.sign(score[at])


def misprinted(p: float, d: int) -> tuple[float, float]:
    """(exponent, kappa) of Lemma 3.9 as printed; p > 2: normal directions, kappa cancels."""
    q = dual_exponent(p)
    if q < 2.0:
        return 2.0, 1.0
    return min(q - 1.0, math.log(d) - 1.0), min(q - 1.0, math.e**2 * (math.log(d) - 1.0))


def algorithm1(
    d: int, n: int, epsilon: float, delta: float, *, p: float, radius: float, step_scale: float
):
    """Algorithm 1 as run: the optimiser with the program's noise; no guarantee."""
    made = streaming_fw(d, n, epsilon=np.inf, delta=delta, p=p, radius=radius, label_bound=1e9, clip=np.inf,
                        step_scale=step_scale)  # fmt: skip
    exponent, kappa = misprinted(p, d)
    m = math.ceil(math.log2(n)) + 1
    size = BETA * 2.0 * radius + LIPSCHITZ
    sigma = math.sqrt(8.0 * kappa * math.log(m / delta)) * m * size / epsilon
    params = made.params._replace(exponent=exponent, sigma=sigma)
    return made._replace(name="Algorithm 1 as run", params=params, step=None, run=run_tree)


def noisy_sfw(
    d: int, n: int, *, epsilon: float, delta: float, p: float, radius: float, step_scale: float
):
    """NoisySFW as run: the same noise; no guarantee."""
    made = sfw.noisy_sfw(d, n, epsilon=np.inf, delta=delta, p=p, radius=radius, label_bound=1e9,
                         step_scale=step_scale)  # fmt: skip
    exponent, kappa = misprinted(p, d)
    unit = math.sqrt(32.0 * kappa * math.log(1.0 / delta)) / epsilon
    first = unit * LIPSCHITZ / n
    later = unit * BETA * 2.0 * radius * made.params.eta / math.sqrt(n)
    params = made.params._replace(exponent=exponent, sigma_first=first, sigma=later)
    return made._replace(name="NoisySFW as run", params=params, step=None, run=run_sfw)
