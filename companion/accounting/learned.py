"""What becomes public of a record: the shapes of mechanisms and attacks that algorithms share."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from companion.accounting.audit import Attack, along, playing
from companion.accounting.privacy import tree_levels

if TYPE_CHECKING:
    from companion.core import Optimiser, Policy


def filled(shape: tuple[int, ...], fill: Callable[..., Any]) -> Callable[..., Any]:
    """The mechanism of n outputs (n, *shape), which fill(data, rng, outputs) writes at once."""

    def mechanism(data, rng, n):
        out = np.empty((n, *shape))
        fill(data, rng, out)
        return out

    return mechanism


def on_first_nodes(
    policy: "Policy",
    a: Any,
    b: Any,
    several: Callable[..., Any],
    move: Any,
    *,
    K: int = 2,
    weights: Callable[..., Any] = np.ones_like,
    note: str = "",
) -> Attack:
    """`Attack` on the nodes of a tree that hold the first user's record, of which each is the sum
    after 1, 2, 4, ... rounds if all others send zeros.

    a, b: the record (x (d,), r), for each of K arms; several: `lives.lived`, whose first numbers
    are released; move: how far the record moves them; weights: what they are multiplied by, of the
    rounds (m,).
    """
    p, data = policy.params, []
    ends = 1 << np.arange(tree_levels(p.T))
    for x, r in (a, b):
        X, R = np.zeros((ends[-1], K, p.d)), np.zeros((ends[-1], K))
        X[0], R[0] = x, r
        data.append((X, R))

    def nodes(data, rng, n):
        _, sums = several(data, rng, n, ends)
        return sums[:, :, : len(move)] * weights(ends)[:, None]

    told = along(np.tile(move, len(ends)))
    return Attack(nodes, *data, told, "releases", note, True, True)  # type: ignore[arg-type, call-arg]


def on_later_signs(policy: "Policy", several: Callable[..., Any] | None = None) -> Attack:
    """`Attack` on the arms of all users but the first, whose context is e_1 and whose reward has
    either sign; of the others those told who meet a sum of the nodes that hold it.  several: see
    `audit.playing`."""
    d, T = policy.params.d, 1 << (tree_levels(policy.params.T) - 1)
    asked = np.zeros((T, 2, d))
    asked[:, 0, 0], asked[:, 1, 0] = 1.0, -1.0
    asked[0, 1, 0] = 1.0  # either arm
    a, b = (asked, np.zeros((T, 2))), (asked, np.zeros((T, 2)))
    a[1][0], b[1][0] = 1.0, -1.0
    seen = along([-1.0 if t & (t - 1) == 0 else 0.0 for t in range(1, T)])
    return Attack(playing(policy, user=0, several=several), a, b, seen, "actions")


def learning(optimiser: "Optimiser") -> Callable[..., Any]:
    """The mechanism that feeds an optimiser all records (X, Y) and shows what becomes public: the
    parameters after each, (n, records, d), of a batch method the last alone."""
    o = optimiser

    def mechanism(data, rng, n):
        X, Y = data
        out = np.zeros((n, *X.shape))
        for i in range(n):
            o.run(o.params, o.init(o.params, rng), X, Y, rng, out[i])
        return out if o.step is not None else out[:, -1:]

    return mechanism


def on_first_label(optimiser: "Optimiser", note: str) -> Attack:
    """`Attack` on what an optimiser for squares publishes in the end: the first label is as large
    as it may be, or its opposite, at the context e_1; all other records are zero.
    """
    p = optimiser.params
    X, Y = np.zeros((p.n, p.d)), np.zeros(p.n)
    X[0, 0], Y[0] = 1.0, p.high
    return Attack(learning(optimiser), (X, Y), (X, -Y), along(X[0]), "parameters", note)
