"""LPLR: regret of order sqrt(T) under pure local privacy, by regression in layers of
bins.

A bin holds vectors of nearly the same norm, and its noise is as small as its vectors.
Each of d layers removes one direction from a vector and sorts what is left of it, the
residual, into bins again.  RegCB.Elimination plays the arms that no finished epoch's
intervals rule out. Each epoch has 2d stages of equally many users.  Stage 2h fits the
models of layer h (from 0), stage 2h + 1 measures how far the errors of the layers above
may move them (the interval statistic).

Source: Li, Simchi-Levi and Wang, "On the optimal regret of locally private linear
contextual bandit" (2024), Algorithms 1 to 6 and Lemmas 1 to 3; their alpha is `epsilon`
here.
Privacy: local, delta = 0; neighbours: replace the user's (x, a, y).  Every user sends one
message, to one stage of one epoch, so budgets do not add up.  The sensitivities are in
`noise_scales`.
Differs: noise "corrected" (the default) or "paper" (as printed, not private for any
epsilon: the support of one-sided Wishart noise moves with the data, two bins change and
not one, and labels are unbounded).  One pooled oracle on phi(x, a), as all actions share
theta; per_action gives one oracle per action as printed.  Algorithm 4, line 6 is
compress-and-clip, V (V'XV)_+ V', and the top eigenvalue is kept within the range of the
true one.  An inactive bin has half-width eta(parent) + ||phi_h||; line 11 of Algorithm 5
prints gamma^-k alone, which ignores the errors of the layers above.  Residual labels use
clipped predictions.  The second test of Algorithm 5, line 10 follows from the first and
is left out, and so is the message of layer 1's interval stage, which has nothing to
measure.  Where a half-width is no less than ||phi|| the interval is (0, ||phi||).  Users
left over by the 2d stages, and those of the last epoch, are not asked. Records outside
the unit ball or [-1, 1] are clipped before anything else.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from companion.accounting.privacy import NO_PRIVACY, REPLACE_RECORD, Guarantee
from companion.core import WIDEST, Policy, Universe, plain_loop
from companion.jit import jit
from companion.kernels.linalg import (
    add_outer,
    axpy,
    copy,
    dot,
    jacobi,
    norm,
    set_identity,
)
from companion.kernels.mechanisms import add_wishart, clip_to_ball, laplace
from companion.validate import (
    need_array,
    need_choice,
    need_float,
    need_int,
    need_probability,
)

MAX_USERS = 10**18  # beyond, integer binomials lose precision
MAX_NODES = 10**6
MAX_DIMENSION = 64  # far beyond what is practical
MAX_NUMBERS = 5 * 10**7  # memory of a policy, in floats
SMALLEST_BUDGET = 1e-100  # squares of the noise of a smaller one are infinite
SLACK = 1e-9  # of a norm or label that is 1 up to rounding


# Calibration


class Oracle(NamedTuple):
    """Parameters of one LPLR oracle."""

    d: int  # dimension, and number of layers
    M: int  # bins per node; bin M collects vectors below gamma^-M and is never tracked
    # logarithm of the ratio gamma between the edges of neighbouring bins
    log_gamma: float
    edge: np.ndarray  # (M+1,) gamma^-k
    count_scale: float  # b_c, Laplace scale of counts
    vector_scale: np.ndarray  # (d,) b_v, Laplace scale of vectors on every layer
    matrix_scale: float  # c, Wishart scale of matrices
    error_scale: float  # b_e, Laplace scale of the interval statistic
    # matrix noise as printed (True) or a difference of two Wishart matrices
    one_sided: bool
    clip: bool  # coefficients, and predictions that enter a label, are clipped to [-1, 1]
    cap: float  # largest half-width
    threshold: float  # a bin is active if its noisy share exceeds threshold / sqrt(n)
    flat: float  # kappa_3 gamma^2 (d+1)^4, 0 if calibrated
    tilt: float  # kappa_2 gamma d^1.5, 0 if calibrated
    # half-widths from the known noise (True) or from the constants flat and tilt
    calibrated: bool
    z: float  # calibrated widths: number of standard deviations


def need_budget(epsilon) -> float:
    """`epsilon` as a float in [1e-100, inf]; smaller budgets have infinite noise."""
    return need_float("epsilon", epsilon, SMALLEST_BUDGET, allow_inf=True)


class Noise(NamedTuple):
    """The noise of a message: see the fields of an `Oracle`."""

    count_scale: float
    vector_scale: np.ndarray
    matrix_scale: float
    error_scale: float


def noise_scales(d: int, epsilon: float, calibration: str) -> Noise:
    """The noise, printed or corrected.

    Let v = gamma^k phi_h, ||v|| <= 1, be a user's normalised vector in its bin on layer
    h.  Adding or removing the user in one bin changes the count by 1, the vector gamma^k
    y_h phi_h by at most sqrt(d) Y in L1 norm (|y_h| <= Y) and the matrix v v' by at most
    1 in nuclear norm.  Replacing a user's data moves him to another bin, which changes
    two bins, or changes his value in the same one, by at most 2 sqrt(d) Y and 2.  So a
    message of Algorithm 3 is (2/b_c + 2 sqrt(d) Y / b_v + 2/(2c))-private: a third of
    epsilon for each term.  On layer 1, Y = 1; deeper, y_h = y - clip(prediction), so Y =
    2.  The interval statistic is at most cap gamma^-k / sqrt(s) in one bin and may move
    to another: the loss is 2 cap / b_e.
    """
    root = math.sqrt(d)
    if calibration == "paper":
        return Noise(
            count_scale=3 / epsilon,
            vector_scale=3 * root * np.ones(d) / epsilon,
            matrix_scale=4.5 / epsilon,
            error_scale=1 / epsilon,
        )
    bounds = np.array([1.0] + [2.0] * (d - 1))  # Y on every layer
    return Noise(
        count_scale=6 / epsilon,
        vector_scale=6 * root * bounds / epsilon,
        matrix_scale=3 / epsilon,
        error_scale=4 / epsilon,  # 2 cap = 4
    )


class WidthConstants(NamedTuple):
    """Constants of thresholds and half-widths: see the fields of an `Oracle`."""

    threshold: float
    flat: float
    tilt: float


def width_constants(
    d,
    T,
    epsilon,
    gamma,
    *,
    constants="calibrated",
    failure=0.05,
) -> WidthConstants:
    """Constants as in Lemmas 2 and 3, or calibrated; arguments as for `lplr_params`."""
    # ln(48 d / (beta failure)) / epsilon with beta = ln gamma / ln T
    log_term = math.log(48 * d * math.log(T) / (math.log(gamma) * failure)) / epsilon
    if constants == "theory":
        return WidthConstants(
            threshold=43 * log_term * gamma**2 * (d + 1) ** 3,  # Lemma 2
            flat=300 * log_term * gamma**2 * (d + 1) ** 4,  # Lemma 3
            tilt=118 * log_term * gamma * d**1.5,
        )
    # 4.4 standard deviations of the count's noise for d = 1; gamma is kept in [e, 4] as
    # wider bins need no more.
    threshold = 5 * d * min(max(gamma, math.e), 4.0) ** 2 / epsilon
    return WidthConstants(threshold=threshold, flat=0.0, tilt=0.0)


def lplr_params(
    d: int,
    T: int,
    epsilon: float = 1.0,
    *,
    gamma: float = math.e,
    M: int | None = None,
    calibration: Literal["corrected", "paper"] = "corrected",
    constants: Literal["calibrated", "theory"] = "calibrated",
    failure: float = 0.05,
    z: float = 3.0,
    threshold: float | None = None,
) -> Oracle:
    """Parameters of one LPLR oracle.

    Parameters
    ----------
    d : dimension, >= 1.
    T : horizon, >= 2; in estimation alone the number of users.  It sets M.
    epsilon : privacy budget of a message, in [1e-100, inf].
    gamma : ratio of the edges of neighbouring bins, > 1.
    M : bins per node, >= 1; None: ceil(ln T / (2 ln gamma)).
    calibration : "corrected" (private) or "paper" (the printed noise).
    constants : of the half-widths: "theory" (as printed in Lemmas 1 to 3 for the printed
        noise, not proved for either noise) or "calibrated" (z standard deviations of the
        known noise: no theorem).
    failure : chance that an interval misses, in (0, 1), for "theory".
    z : standard deviations, >= 0, for "calibrated".
    threshold : >= 0; a bin is active if its noisy share times sqrt(n) is above it; None:
        by constants.

    Returns
    -------
    An `Oracle`.

    Raises
    ------
    ValueError on anything else, and for more than 10^6 bins.

    >>> lplr_params(2, 10**8).M
    10
    """
    d = need_int("d", d, 1, MAX_DIMENSION)
    T = need_int("T", T, 2, MAX_USERS)
    epsilon = need_budget(epsilon)
    gamma = need_float("gamma", gamma, 1.0, open_low=True)
    if M is None:  # the smallest edge is at most T^(-1/2)
        M = max(1, math.ceil(math.log(T) / (2.0 * math.log(gamma)) - 1e-9))
    M = need_int("M", M, 1)
    if max_nodes(d, float(M)) > MAX_NODES:
        raise ValueError(
            f"M ** d must give at most {MAX_NODES} bins in total; got M={M}, d={d}"
        )
    need_choice("calibration", calibration, ("corrected", "paper"))
    need_choice("constants", constants, ("theory", "calibrated"))
    failure = need_probability("failure", failure)
    z = need_float("z", z, 0.0)
    noise = noise_scales(d, epsilon, calibration)
    widths = width_constants(d, T, epsilon, gamma, constants=constants, failure=failure)
    if threshold is None:
        threshold = widths.threshold
    printed = calibration == "paper"
    return Oracle(
        d=d,
        M=M,
        log_gamma=math.log(gamma),
        edge=gamma ** -np.arange(M + 1.0),
        count_scale=noise.count_scale,
        vector_scale=noise.vector_scale,
        matrix_scale=noise.matrix_scale,
        error_scale=noise.error_scale,
        one_sided=printed,
        clip=not printed,
        cap=1.0 if printed else 2.0,
        threshold=need_float("threshold", threshold, 0.0),
        flat=widths.flat,
        tilt=widths.tilt,
        calibrated=constants == "calibrated",
        z=z,
    )


def guarantee(oracle: Oracle, epsilon: float) -> Guarantee:
    """Guarantee of one user's message, from its scales; epsilon is what was asked for."""
    if epsilon == math.inf:
        return NO_PRIVACY
    if oracle.one_sided or not oracle.clip:
        return Guarantee(
            model="local",
            epsilon=math.inf,
            delta=0.0,
            neighbours=REPLACE_RECORD,
            unit="user",
            claimed=(epsilon, 0.0),
        )
    worst = max(update_loss(oracle), 2 * oracle.cap / oracle.error_scale)
    return Guarantee(
        model="local",
        epsilon=worst,
        delta=0.0,
        neighbours=REPLACE_RECORD,
        unit="user",
    )


def update_loss(oracle: Oracle) -> float:
    """Largest loss of a message of Algorithm 3 with symmetric matrix noise: two bins
    change, each by 1/b_c + sqrt(d) Y/b_v + 1/(2c), on the layer where that is most.
    """
    vector = 0.0
    for h, scale in enumerate(oracle.vector_scale):
        largest_label = 1.0 if h == 0 else 2.0
        vector = max(vector, math.sqrt(oracle.d) * largest_label / scale)
    return 2.0 * (1 / oracle.count_scale + vector + 0.5 / oracle.matrix_scale)


# Noise of one user's message, and the sum of the noises of n users drawn at once: n
# Laplace variables are the difference of two Gamma(n) variables, and n Wishart matrices
# with d+1 degrees of freedom are one with n(d+1).  Differences of Gamma(n) lose 1e-16 n
# absolutely: 1e-7 of a standard deviation at n = 1e18.


@jit
def laplace_sum(rng, n, scale):
    """Sum of n independent Laplace variables of this scale."""
    if n == 1:
        return laplace(rng, scale)
    return scale * (rng.standard_gamma(float(n)) - rng.standard_gamma(float(n)))


@jit
def add_matrix_noise(rng, n, scale, one_sided, root, out):
    """out (d, d) <- out + the sum of the matrix noises of n users.

    One noise is W - W' with W, W' ~ Wishart_d(d+1, scale I) independent, or as printed W
    less its mean; root (d, d) is overwritten.  The density of W is proportional to
    exp(-tr W / (2 scale)), so that of W - W' changes by at most a factor exp(m / (2
    scale)) when it is moved by a matrix of nuclear norm m.  W less its mean has a support
    that moves with the data: no epsilon holds.
    """
    degrees = float(n) * (out.shape[0] + 1)
    add_wishart(rng, degrees, scale, root, out)
    if one_sided:
        for i in range(out.shape[0]):
            out[i, i] -= scale * degrees
    else:
        add_wishart(rng, degrees, -scale, root, out)


# The tree of bins.  Layers count from 0.  Nodes of one layer are neighbours in memory: M
# children of every active node of the layer above.  Node b of layer h holds vectors whose
# residual has norm in (gamma^(-k-1), gamma^-k], where k = (b - start[h]) mod M.

# columns of Tree.link
PARENT = 0
CHILD = 1
ACTIVE = 2
# columns of Tree.stat
COUNT = 0
ERROR = 1
VALUE = 2
COEF = 3
FLAT = 4
SLOPE = 5


class Tree(NamedTuple):
    """Row b of every array belongs to node b; the last row is the root.

    link: parent; first child, -1 if none; 1 if the node has a model.  stat: noisy number
    of users c; noisy interval statistic; top eigenvalue s; coefficient t of the model
    theta = t u; half-width flat + slope |u'phi|.
    """

    start: np.ndarray  # (d+1,) first node of every layer; start[h+1] is one past layer h
    link: np.ndarray  # (nodes+1, 3) integers
    stat: np.ndarray  # (nodes+1, 6)
    vec: np.ndarray  # (nodes+1, d) noisy sum of y_h phi_h
    mat: np.ndarray  # (nodes+1, d, d) noisy sum of phi_h phi_h'
    # (nodes+1, d, d) rows: directions of the path, then a basis of the rest
    frame: np.ndarray
    work: np.ndarray  # (3, d, d) scratch


def max_nodes(d, M):
    """Largest number of nodes that a tree can have, M + M^2 + ... + M^d."""
    return sum(M**h for h in range(1, d + 1))


def allocate_tree(oracle: Oracle, trees: int | None = None) -> Tree:
    """An empty tree, or a forest whose arrays have a leading axis of so many trees."""
    lead = () if trees is None else (trees,)
    n = max_nodes(oracle.d, oracle.M) + 1
    d = oracle.d
    return Tree(
        start=np.zeros((*lead, d + 1), np.int64),
        link=np.zeros((*lead, n, 3), np.int64),
        stat=np.zeros((*lead, n, 6)),
        vec=np.zeros((*lead, n, d)),
        mat=np.zeros((*lead, n, d, d)),
        frame=np.zeros((*lead, n, d, d)),
        work=np.zeros((*lead, 3, d, d)),
    )


@jit
def tree_of(f, i):
    """Tree number i of the forest f, sharing its memory."""
    return Tree(
        start=f.start[i],
        link=f.link[i],
        stat=f.stat[i],
        vec=f.vec[i],
        mat=f.mat[i],
        frame=f.frame[i],
        work=f.work[i],
    )


@jit
def open_layer(oracle, tree, h):
    """Give every active node of the layer above M children of layer h, with all
    statistics zero.

    With h = 0 the tree is cut down to its root, whose frame is the identity, and its
    children.
    """
    first = tree.start[h - 1]  # the layer above
    last = tree.start[h]
    if h == 0:
        first = tree.link.shape[0] - 1  # the root
        last = first + 1
        tree.start[0] = 0
        tree.link[first, ACTIVE] = 1
        set_identity(1.0, tree.frame[first])
    b = tree.start[h]
    for parent in range(first, last):
        if tree.link[parent, ACTIVE] == 0:
            continue
        tree.link[parent, CHILD] = b
        for _ in range(oracle.M):
            tree.link[b, PARENT] = parent
            tree.link[b, CHILD] = -1
            tree.link[b, ACTIVE] = 0
            tree.stat[b] = 0.0
            tree.vec[b] = 0.0
            tree.mat[b] = 0.0
            b += 1
    tree.start[h + 1] = b


@jit
def edge_of(oracle, tree, h, b):
    """gamma^-k of node b of layer h: the largest norm in its bin."""
    return oracle.edge[(b - tree.start[h]) % oracle.M]


@jit
def bin_index(oracle, length):
    """max {k <= M : length <= gamma^-k}; the tolerance 1e-9 keeps exact powers in their
    own bin."""
    if not length > 0.0:
        return oracle.M
    k = math.floor(-math.log(length) / oracle.log_gamma + 1e-9)
    return min(max(k, 0), oracle.M)


@jit
def child_bin(oracle, tree, node, residual):
    """Child of the node that the residual falls in, or -1 if it is too short for any."""
    k = bin_index(oracle, norm(residual))
    return tree.link[node, CHILD] + k if k < oracle.M else -1


@jit
def walk(oracle, tree, h, phi, residual):
    """Figure 2: the node of layer h < d that phi falls in, or for h = d that of layer d -
    1.

    Returns (node, prediction and half-width gathered on the way); residual (d,) <- what
    is left of phi.  node is -1 where a bin on the way has no model, or what is left is
    too short for any bin.
    """
    node = tree.link.shape[0] - 1
    prediction = 0.0
    eta = 0.0
    copy(phi, residual)
    for layer in range(h):
        b = child_bin(oracle, tree, node, residual)
        if b < 0 or tree.link[b, ACTIVE] == 0:
            return -1, prediction, eta
        coordinate = dot(tree.frame[b, layer], residual)
        # the direction of b is taken out
        axpy(-coordinate, tree.frame[b, layer], residual)
        eta = min(
            oracle.cap,
            eta + tree.stat[b, FLAT] + tree.stat[b, SLOPE] * abs(coordinate),
        )
        prediction += tree.stat[b, COEF] * coordinate
        node = b
    if h < oracle.d:
        node = child_bin(oracle, tree, node, residual)
    return node, prediction, eta


# A user's message: Algorithm 3 (LPLR-UPDATE) in stage 2h, lines 4 to 7 of Algorithm 5
# (LPLR-CI) in stage 2h + 1.


@jit
def add_statistics(oracle, tree, b, residual, users, labels, prediction):
    """Algorithm 3, lines 3 to 5: users with this residual are added to node b, without
    noise.

    labels is the sum of theirs.  y_h = y - clip(prediction) lies in [-2, 2]: the clip
    bounds what one user can change.
    """
    if oracle.clip:
        prediction = min(max(prediction, -1.0), 1.0)
    tree.stat[b, COUNT] += users
    axpy(labels - users * prediction, residual, tree.vec[b])
    add_outer(float(users), residual, tree.mat[b])


@jit
def add_error(tree, h, b, residual, users, eta):
    """Algorithm 5, line 6: each user adds eta |u'phi| / sqrt(s) to node b of layer h, if
    active."""
    if tree.link[b, ACTIVE] == 1:
        reach = abs(dot(tree.frame[b, h], residual)) / math.sqrt(tree.stat[b, VALUE])
        tree.stat[b, ERROR] += users * eta * reach


@jit
def add_noise(oracle, tree, stage, n, rng):
    """The noise of n users' messages about every node of the stage's layer.

    A node's vectors are at most `edge` long, so their noise is that of `noise_scales`,
    which is for vectors of norm at most 1, times edge (vectors) or edge^2 (matrices).
    Where n > 1 users are drawn at once, vectors and matrices of nodes below the threshold
    get no noise: it is independent of everything else, and nobody reads them.
    """
    h = stage // 2
    for b in range(tree.start[h], tree.start[h + 1]):
        edge = edge_of(oracle, tree, h, b)
        if stage % 2 == 0:
            tree.stat[b, COUNT] += laplace_sum(rng, n, oracle.count_scale)
            if n == 1 or tree.stat[b, COUNT] > oracle.threshold * math.sqrt(n):
                for i in range(oracle.d):
                    tree.vec[b, i] += laplace_sum(rng, n, edge * oracle.vector_scale[h])
                scale = oracle.matrix_scale * edge**2
                add_matrix_noise(
                    rng,
                    n,
                    scale,
                    oracle.one_sided,
                    tree.work[2],
                    tree.mat[b],
                )
        elif tree.link[b, ACTIVE] == 1:
            scale = edge * oracle.error_scale / math.sqrt(tree.stat[b, VALUE])
            tree.stat[b, ERROR] += laplace_sum(rng, n, scale)


@jit
def send(oracle, tree, stage, phi, y, rng, residual):
    """One user's message, added to the statistics (on zeroed ones it *is* the message).

    The dummy phi = 0 falls in no bin.
    """
    h = stage // 2
    b, prediction, eta = walk(oracle, tree, h, phi, residual)
    if b >= 0 and stage % 2 == 0:
        add_statistics(oracle, tree, b, residual, 1, y, prediction)
    elif b >= 0:
        add_error(tree, h, b, residual, 1, eta)
    add_noise(oracle, tree, stage, 1, rng)


# What the server makes of the sums: Algorithm 4 (LPLR-PCR) and Algorithm 5, lines 9 to
# 17.


@jit
def fit_node(oracle, tree, h, b, n):
    """Algorithm 4: direction, eigenvalue and coefficient of node b after n users; or
    inactive.

    The frame of b <- the directions above it, its own, then the other eigenvectors.
    """
    d = oracle.d
    m = oracle.d - h
    count = tree.stat[b, COUNT]
    if not count > max(oracle.threshold * math.sqrt(n), 0.0):  # line 2
        return
    X = tree.work[0, :m, :m]
    rows = tree.work[1, :m, :m]
    above = tree.frame[tree.link[b, PARENT]]
    frame = tree.frame[b]
    for i in range(m):  # line 6: compress to the complement of the directions above
        for j in range(m):
            X[i, j] = 0.0
            for q in range(d):
                X[i, j] += above[h + i, q] * dot(tree.mat[b, q], above[h + j]) / count
    jacobi(X, rows)  # line 7
    top = 0
    for i in range(1, m):
        if X[i, i] > X[top, top]:
            top = i
    high = edge_of(oracle, tree, h, b) ** 2
    # the true eigenvalue lies in [gamma^-2 high / m, high], so this adds no error
    value = min(max(X[top, top], high * oracle.edge[1] ** 2 / m), high)
    if not value > 0.0:  # gamma is so large that a square is 0
        return
    copy(above[:h], frame[:h])
    frame[h:] = 0.0
    for i in range(m):
        source = i
        if i == 0:
            source = top
        elif i <= top:
            source = i - 1
        for j in range(m):
            axpy(rows[source, j], above[h + j], frame[h + i])
    coef = dot(frame[h], tree.vec[b]) / (value * count)  # line 8
    tree.stat[b, COEF] = min(max(coef, -1.0), 1.0) if oracle.clip else coef
    tree.stat[b, VALUE] = value
    tree.link[b, ACTIVE] = 1


@jit
def fit_width(oracle, tree, h, b, n):
    """Algorithm 5, lines 9 to 16: the half-width's coefficients of an active node b of
    layer h."""
    edge = edge_of(oracle, tree, h, b)
    count = tree.stat[b, COUNT]
    value = tree.stat[b, VALUE]
    share = count / math.sqrt(n)  # psi sqrt(n)
    if oracle.calibrated:  # standard deviations of the known noise
        # of eta |u'phi| / sqrt(s): how far errors of the layers above move the labels
        mean = 0.0
        if h > 0:
            noise = (
                math.sqrt(2.0) * oracle.error_scale * edge / (math.sqrt(value) * share)
            )
            mean = max(0.0, tree.stat[b, ERROR] / count + oracle.z * noise)
        # a user's matrix noise N has var(u'Nv) <= matrix^2 for unit u and v
        matrix = edge**2 * oracle.matrix_scale
        matrix *= math.sqrt((2.0 if oracle.one_sided else 4.0) * (oracle.d + 1))
        noise = math.sqrt(2.0 * (oracle.vector_scale[h] * edge) ** 2 + matrix**2)
        own = oracle.z * (noise / share + edge / math.sqrt(count)) / value
        tree.stat[b, SLOPE] = own + mean / math.sqrt(value)
    else:
        tree.stat[b, FLAT] = oracle.flat / share
        tree.stat[b, SLOPE] = (
            tree.stat[b, ERROR] / count + oracle.tilt / share
        ) / math.sqrt(value)
        tree.stat[b, SLOPE] = max(tree.stat[b, SLOPE], 0.0)


@jit
def close_stage(oracle, tree, stage, n):
    """End of a stage of n users: fit the layer's models, or their half-widths."""
    h = stage // 2
    for b in range(tree.start[h], tree.start[h + 1]):
        if stage % 2 == 0:
            fit_node(oracle, tree, h, b, n)
        elif tree.link[b, ACTIVE] == 1:
            fit_width(oracle, tree, h, b, n)


# Algorithm 2 (LPLR): 2d stages of n users each; Algorithm 6 (LPLR-AGGREGATE):
# predictions.


@jit
def receive(oracle, tree, user, n, phi, y, rng, residual):
    """The message of user number `user` (from 0, of 2dn) to the oracle: phi (d,), y.

    The last user of a stage closes it.  Users after 2dn, and those of stage 1, are not
    asked.
    """
    stage = user // n
    if stage >= 2 * oracle.d:
        return
    if user % (2 * n) == 0:
        open_layer(oracle, tree, stage // 2)
    if stage != 1:
        send(oracle, tree, stage, phi, y, rng, residual)
    if user % n == n - 1:
        close_stage(oracle, tree, stage, n)


@jit
def fit_messages(oracle, tree, phi, y, rng):
    """Algorithm 2 on users phi (N, d), y (N,), N // (2d) in each stage; the tree is
    overwritten."""
    residual = np.empty(oracle.d)
    n = phi.shape[0] // (2 * oracle.d)
    for user in range(2 * oracle.d * n):
        receive(oracle, tree, user, n, phi[user], y[user], rng, residual)


def fit_users(oracle: Oracle, phi, y, rng: np.random.Generator) -> Tree:
    """A tree fitted by Algorithm 2 to users phi (N, d), y (N,), message by message, in
    their order.

    Raises ValueError on NaN, ||phi|| > 1, |y| > 1, or fewer than 2d users.
    """
    phi = need_array("phi", phi, ("N", oracle.d))
    y = need_array("y", y, (need_int("rows of phi", len(phi), 2 * oracle.d),))
    need_ball("phi", phi)
    if not np.abs(y).max() <= 1 + SLACK:
        raise ValueError(f"y must be in [-1, 1]; got {y[np.abs(y).argmax()]:.6g}")
    tree = allocate_tree(oracle)
    fit_messages(oracle, tree, phi, y, rng)
    return tree


def need_ball(name: str, rows) -> None:
    """Raise ValueError unless rows (..., d) are finite, with norms of at most 1."""
    largest = np.linalg.norm(rows, axis=-1).max()
    if not largest <= 1 + SLACK:
        raise ValueError(
            f"{name} must be finite with norm at most 1; got norm {largest:.6g}"
        )


@jit
def predict(oracle, tree, phi, residual):
    """Algorithm 6: (estimate in [-1, 1], half-width) at phi; (0, 0) at the dummy phi =
    0."""
    b, prediction, eta = walk(oracle, tree, oracle.d, phi, residual)
    if b < 0:
        eta = min(oracle.cap, eta + norm(residual))  # nothing is known about the residual
    return min(max(prediction, -1.0), 1.0), eta


@jit
def interval(oracle, tree, phi, residual):
    """`predict`, or (0, ||phi||) if its half-width is no less: |f*| <= ||phi|| is always
    true."""
    f, width = predict(oracle, tree, phi, residual)
    length = norm(phi)
    return (0.0, length) if width >= length else (f, width)


def intervals(oracle: Oracle, tree: Tree, points):
    """Estimates and half-widths (0 and ||phi|| where trivial), each (n,), at points (n,
    d)."""
    points = np.ascontiguousarray(points, dtype=float)
    residual = np.empty(oracle.d)
    return tuple(np.array([interval(oracle, tree, x, residual) for x in points]).T)


@jit
def is_fitted(tree):
    """Whether the first layer has a model.

    Without one the interval is (0, ||phi||) everywhere, which eliminates no arm: no upper
    end is below 0, and no lower end above it.
    """
    return tree.link[: tree.start[1], ACTIVE].sum() > 0


# Algorithm 1 (RegCB.Elimination, simplified): epoch tau = 1, 2, ... has 2^tau n0 rounds.
# What follows up to `Params` serves every oracle.


def n_epochs(T: int, n0: int) -> int:
    """Number of epochs that T rounds begin."""
    count = 0
    left = T
    while left > 0:
        count += 1
        left -= 2**count * n0
    return count


@jit
def epoch_length(n0, epoch):
    """Rounds of an epoch, counted from 0."""
    return n0 * 2 ** (epoch + 1)


@jit
def next_round(s, n0):
    """Count a round; s has the fields t, epoch and begin, each (1,)."""
    s.t[0] += 1
    if s.t[0] == s.begin[0] + epoch_length(n0, s.epoch[0]):
        s.epoch[0] += 1
        s.begin[0] = s.t[0]


@jit
def eliminate(f, width, alive):
    """Line 8: arms whose upper end f + width is below the largest lower end leave alive
    (K,)."""
    best = -math.inf
    for k in range(alive.shape[0]):
        if alive[k] == 1:
            best = max(best, f[k] - width[k])
    for k in range(alive.shape[0]):
        if alive[k] == 1 and f[k] + width[k] < best:
            alive[k] = 0


@jit
def random_arm(alive, rng):
    """Line 10: one of the arms in alive (K,), all with the same chance."""
    choice = rng.integers(0, alive.sum())
    for k in range(alive.shape[0]):
        choice -= alive[k]
        if choice < 0:
            return k
    return 0


def need_horizon(d, T, K, n0):
    """(d, T, K, n0), checked: T >= 4d rounds with K >= 1 arms; epoch tau has 2^tau n0 >=
    2d."""
    d = need_int("d", d, 1, MAX_DIMENSION)
    T = need_int("T", T, 4 * d, MAX_USERS)
    K = need_int("K", K, 1, WIDEST)
    return d, T, K, need_int("n0", n0, d, MAX_USERS)


def need_memory(size: int) -> None:
    """Raise ValueError if a policy would need more numbers than `MAX_NUMBERS`."""
    if size > MAX_NUMBERS:
        raise ValueError(
            f"T, d and K need {size} numbers of memory, more than {MAX_NUMBERS}"
        )


class Params(NamedTuple):
    d: int  # dimension of a context
    T: int  # horizon
    K: int  # number of arms
    per_action: bool  # one oracle per arm (True) or one pooled oracle
    n0: int  # epoch tau = 1, 2, ... has 2^tau n0 rounds
    oracle: Oracle


class State(NamedTuple):
    t: np.ndarray  # (1,) rounds played
    epoch: np.ndarray  # (1,) epochs finished
    begin: np.ndarray  # (1,) round at which the current epoch began
    forest: Tree  # one tree, or one per arm, per epoch
    alive: np.ndarray  # (K,) scratch: 1 if the arm stays
    f: np.ndarray  # (K,) scratch: estimates
    width: np.ndarray  # (K,) scratch: half-widths
    x: np.ndarray  # (d,) scratch: clipped context
    dummy: np.ndarray  # (d,) zeros, which the oracles of arms not played receive
    residual: np.ndarray  # (d,) scratch


def init(p: Params) -> State:
    """State before the first round."""
    trees = n_epochs(p.T, p.n0) * (p.K if p.per_action else 1)
    return State(
        t=np.zeros(1, np.int64),
        epoch=np.zeros(1, np.int64),
        begin=np.zeros(1, np.int64),
        forest=allocate_tree(p.oracle, trees),
        alive=np.zeros(p.K, np.int64),
        f=np.zeros(p.K),
        width=np.zeros(p.K),
        x=np.zeros(p.d),
        dummy=np.zeros(p.d),
        residual=np.zeros(p.d),
    )


@jit
def oracle_index(p, epoch, k):
    """Number of the oracle that an epoch keeps for arm k."""
    return epoch * p.K + k if p.per_action else epoch


@jit
def select(p, s, X, rng):
    """Algorithm 1, lines 6 to 10: a random arm of X (K, d) that no finished epoch
    eliminates."""
    s.alive[:] = 1  # line 6
    for epoch in range(s.epoch[0]):
        if not (p.per_action or is_fitted(tree_of(s.forest, epoch))):
            continue  # this epoch would eliminate nobody
        for k in range(p.K):
            if s.alive[k] == 1:
                clip_to_ball(X[k], 0.0, s.x)
                tree = tree_of(s.forest, oracle_index(p, epoch, k))
                s.f[k], s.width[k] = interval(p.oracle, tree, s.x, s.residual)
        eliminate(s.f, s.width, s.alive)  # line 8
    return random_arm(s.alive, rng)  # line 10


@jit
def update(p, s, arm, x, r, rng):
    """Algorithm 1, line 11: the user's message to every oracle of the epoch."""
    length = epoch_length(p.n0, s.epoch[0])
    y, _ = clip_to_ball(x, r, s.x)
    if s.begin[0] + length < p.T:  # nobody reads what the last epoch would send
        user = s.t[0] - s.begin[0]
        n = length // (2 * p.d)
        for k in range(p.K if p.per_action else 1):
            phi = s.x if k == arm or not p.per_action else s.dummy
            tree = tree_of(s.forest, oracle_index(p, s.epoch[0], k))
            receive(p.oracle, tree, user, n, phi, y, rng, s.residual)
    next_round(s, p.n0)


play = plain_loop(select, update)


def lplr(
    d: int,
    T: int,
    K: int,
    *,
    epsilon: float = 1.0,
    per_action: bool = False,
    n0: int = 64,
    gamma: float = math.e,
    M: int | None = None,
    calibration: Literal["corrected", "paper"] = "corrected",
    constants: Literal["calibrated", "theory"] = "calibrated",
    failure: float = 0.05,
    z: float = 3.0,
    threshold: float | None = None,
) -> Policy:
    """RegCB.Elimination with LPLR oracles for T rounds with K arms each.

    Parameters
    ----------
    d : dimension of a context, >= 1 (practical: up to 4).
    T : number of rounds, >= 4d.
    K : number of arms, in [1, 10,000].
    epsilon : budget of pure local privacy, in [1e-100, inf] (inf: no noise).
    per_action : one oracle per arm, as printed, instead of a pooled one.
    n0 : half the length of the first epoch, >= d.
    gamma, M, calibration, constants, failure, z, threshold : see `lplr_params`.

    Returns
    -------
    A `Policy`; records outside the unit ball or [-1, 1] are clipped.

    Raises
    ------
    ValueError on anything else.

    >>> float(lplr(2, 1000, 5).guarantee.epsilon)
    1.0
    """
    d, T, K, n0 = need_horizon(d, T, K, n0)
    per_action = need_choice("per_action", per_action, (True, False))
    oracle = lplr_params(
        d,
        T,
        epsilon,
        gamma=gamma,
        M=M,
        calibration=calibration,
        constants=constants,
        failure=failure,
        z=z,
        threshold=threshold,
    )
    trees = n_epochs(T, n0) * (K if per_action else 1)
    need_memory(trees * max(max_nodes(d, oracle.M), 2) * (2 * d * d + d + 9) + 3 * K)
    p = Params(
        d=d,
        T=T,
        K=K,
        per_action=per_action,
        n0=n0,
        oracle=oracle,
    )
    promise = guarantee(oracle, float(epsilon))
    return Policy(
        name="LPLR",
        params=p,
        init=init,
        select=select,
        update=update,
        play=play,
        guarantee=promise,
        universe=Universe(),
        delayed_feedback=True,
        private=("x", "residual", "alive", "f", "width"),
    )
