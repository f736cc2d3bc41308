"""Policies of strangers: some leak, some are sound, some are broken; each gets its word.

All are one of three small policies with a few lines changed: noisy sums of r x (local), a
trusted server that counts in batches, and one that counts in a tree.
"""

import pytest

from evidence.judge import attack, judge, measuring
from evidence.judge.load import load
from evidence.judge.measuring import Plan
from evidence.measure.compose import measure

HEAD = """
import math
from typing import NamedTuple
import numpy as np
from companion.accounting.privacy import (
    ADD_OR_REMOVE, REPLACE_RECORD, REPLACE_REWARD, Guarantee,
    gaussian_epsilon, gaussian_scale)
from companion.accounting.binomial import binomial_bits, binomial_epsilon
from companion.core import Policy, Release, Universe
"""
SUMS = """
class Params(NamedTuple):
    d: int
    T: int
    scale: float

class State(NamedTuple):
    t: np.ndarray
    total: np.ndarray
    message: np.ndarray

def init(p):
    return State(np.zeros(1), np.zeros(p.d), np.zeros(p.d))

def randomize(p, t, x, r, rng, message):
    for i in range(len(message)):
        message[i] = r * x[i] + rng.laplace(0.0, p.scale)

def select(p, s, X, rng):
    return int(np.argmax(X @ s.total))

def update(p, s, arm, x, r, rng):
    x = x / max(1.0, np.linalg.norm(x))
    r = min(max(r, -1.0), 1.0)
    s.t[0] += 1.0
    randomize(p, int(s.t[0]), x, r, rng, s.message)
    s.total[:] += s.message

def greedy(d, T, *, epsilon, delta=0.01) -> Policy:
    moves = 2.0 * math.sqrt(d)
    p = Params(d, T, moves / epsilon)
    promise = Guarantee("local", epsilon, 0.0, REPLACE_RECORD, "user")
    return Policy("Noisy sums", p, init, select, update, guarantee=promise,
                  universe=Universe(),
                  releases=(Release(randomize, "message", "laplace"),))
"""
COUNTS = """
class Params(NamedTuple):
    K: int
    batch: int
    sigma: float

class State(NamedTuple):
    users: np.ndarray
    open: np.ndarray  # exact sums of the batch
    shown: np.ndarray
    total: np.ndarray

def init(p):
    return State(np.zeros(1), np.zeros(p.K), np.zeros(p.K), np.zeros(p.K))

def release(p, open, rng, shown):
    shown[:] = open + rng.normal(0.0, p.sigma, len(open))

def select(p, s, X, rng):
    return int(np.argmax(s.total))

def update(p, s, arm, x, r, rng):
    s.open[arm] += min(max(r, 0.0), 1.0)
    s.users[0] += 1
    if s.users[0] == p.batch:
        release(p, s.open, rng, s.shown)
        s.total[:] += s.shown
        s.users[0] = s.open[:] = 0.0

def counts(K, *, epsilon, delta=0.01, batch=5) -> Policy:
    moves = 1.0  # of the arm that was played, which is public
    p = Params(K, batch, gaussian_scale(epsilon, delta, moves))
    lost = gaussian_epsilon(delta, p.sigma, moves)
    promise = Guarantee("joint", lost, delta, REPLACE_RECORD, "user")
    return Policy("Counts", p, init, select, update, guarantee=promise,
                  releases=(Release(release, "shown"),), private=("open",))
"""
TREE = """
class Params(NamedTuple):
    K: int
    T: int
    sigma: float

class State(NamedTuple):
    t: np.ndarray
    exact: np.ndarray  # sums of the open nodes
    noisy: np.ndarray  # the same with their noise
    shown: np.ndarray

def init(p):
    nodes = np.zeros((p.T.bit_length(), p.K))
    return State(np.zeros(1, np.int64), nodes, nodes.copy(), np.zeros(p.K))

def release(p, t, exact, noisy, rng, shown):
    i = (t & -t).bit_length() - 1
    exact[i] += exact[:i].sum(axis=0)
    exact[:i] = noisy[:i] = 0.0
    noisy[i] = exact[i] + rng.normal(0.0, p.sigma, p.K)
    shown[:] = noisy.sum(axis=0)

def select(p, s, X, rng):
    return int(np.argmax(s.shown))

def update(p, s, arm, x, r, rng):
    s.t[0] += 1
    t = int(s.t[0])
    i = (t & -t).bit_length() - 1
    s.exact[i] = 0.0
    s.exact[i, arm] = min(max(r, 0.0), 1.0)
    release(p, t, s.exact, s.noisy, rng, s.shown)

def tree(K, T, *, epsilon, delta=0.01) -> Policy:
    moves = math.sqrt(T.bit_length())  # by 1 in every level
    p = Params(K, T, gaussian_scale(epsilon, delta, moves))
    lost = gaussian_epsilon(delta, p.sigma, moves)
    promise = Guarantee("joint", lost, delta, REPLACE_RECORD, "user")
    return Policy("Tree", p, init, select, update, guarantee=promise,
                  releases=(Release(release, "shown"),), private=("exact", "noisy"))
"""
NOISE = "rng.laplace(0.0, p.scale)"
SENT = "    randomize(p, int(s.t[0]), x, r, rng, s.message)\n"
PROMISE = '"local", epsilon, 0.0, REPLACE_RECORD'
CLIP = "    x = x / max(1.0, np.linalg.norm(x))\n    r = min(max(r, -1.0), 1.0)\n"
SUM = "    s.total[:] += s.message\n"
LOOP = "    for i in range(len(message)):\n"
DECLARED = 'Release(randomize, "message", "laplace")'
REWARDS = [
    ("message[i] = r * x[i] + " + NOISE, "message[i] = r + " + NOISE),
    ("np.zeros(p.d), np.zeros(p.d))", "np.zeros(p.d), np.zeros(1))"),
    (SUM, "    s.total[:] += s.message[0] * x\n"),
    ("moves = 2.0 * math.sqrt(d)", "moves = 2.0"),
    ("REPLACE_RECORD, ", "REPLACE_REWARD, "),
]
USED = NOISE, f"(message[i] if t % 50 == 0 else {NOISE})"
COUNTER = [  # after five batches half of the noise
    COUNTS,
    ("    users: np", "    done: np.ndarray\n    users: np"),
    ("State(np.zeros(1), ", "State(np.zeros(1), np.zeros(1), "),
    ("release(p, s.open", "s.done[0] += 1\n        release(p, s.done, s.open"),
    ("release(p, open", "release(p, done, open"),
    ("rng.normal(0.0, p.sigma,", "rng.normal(0.0, p.sigma / (1 + (done[0] > 5)),"),
]
RESPONSE = [
    (
        "message[i] = r * x[i] + " + NOISE,
        "message[i] = 1 - 2 * ((r > 0) != (rng.random() < p.scale))",
    ),
    *REWARDS[1:3],
    (
        "p = Params(d, T, moves / epsilon)",
        "p = Params(d, T, 1 / (1 + math.exp(-epsilon)))",
    ),
    (PROMISE, '"local", math.log(p.scale / (1 - p.scale)), 0.0, REPLACE_REWARD'),
    (DECLARED, 'Release(randomize, "message", "values")'),
]
CHOICE = [
    (
        "shown[:] = open + rng.normal(0.0, p.sigma, len(open))",
        "chances = np.cumsum(np.exp(p.sigma * open))\n"
        "    shown[0] = np.searchsorted(chances, rng.random() * chances[-1])",
    ),
    ("np.zeros(p.K), np.zeros(p.K))", "np.zeros(1), np.zeros(p.K))"),
    (
        "        s.total[:] += s.shown\n",
        "        s.total[:] = np.arange(p.K) == s.shown[0]\n",
    ),
    ("gaussian_scale(epsilon, delta, moves)", "epsilon"),
    ("gaussian_epsilon(delta, p.sigma, moves)", "p.sigma"),
    ("lost, delta", "lost, 0.0"),
    ('Release(release, "shown")', 'Release(release, "shown", "values")'),
]
SOUND = {
    "as it is": [],
    "add or remove": [
        ("moves = 2.0 *", "moves ="),
        ("REPLACE_RECORD, ", "ADD_OR_REMOVE, "),
    ],
    "eight releases by advanced composition": [
        ("moves / epsilon", "8 * moves / epsilon"),
        ("delta=0.01", "delta=0.1"),
        (SENT + SUM, "    for _ in range(8):\n    " + SENT + "    " + SUM),
        (
            PROMISE,
            '"local", min(epsilon, epsilon * math.sqrt(2 * math.log(1 / delta) / 8) + '
            "epsilon * (math.exp(epsilon / 8) - 1)), delta, REPLACE_RECORD",
        ),
    ],
    "rewards are private, contexts public": REWARDS,
    "counts with binomial noise": [
        (
            "message[i] = r * x[i] + " + NOISE,
            (
                "message[i] = (r * x[i] > 0.0) + rng.binomial(int(p.scale), 0.25) - "
                "0.25 * p.scale"
            ),
        ),
        (
            "moves / epsilon",
            "binomial_bits(epsilon, delta, 1, 0.25, math.sqrt(d), d, 1)[0]",
        ),
        (
            PROMISE,
            '"local", binomial_epsilon(delta, p.scale, 0.25, math.sqrt(d), d, 1), delta, '
            "REPLACE_RECORD",
        ),
        (DECLARED, 'Release(randomize, "message")'),
    ],
    "no contexts": [
        ("    d: int\n", "    K: int\n"),
        ("p.d", "p.K"),
        ("greedy(d, T,", "greedy(K, T,"),
        ("math.sqrt(d)", "math.sqrt(1.0)"),
        ("Params(d,", "Params(K,"),
        ("X @ s.total", "s.total"),
        ("message[i] = r * x[i] +", "message[i] = (r if i == x else 0.0) +"),
        ("int(s.t[0]), x, r,", "int(s.t[0]), arm, r,"),
        (CLIP, "    r = min(max(r, -1.0), 1.0)\n"),
    ],
    "randomised response": RESPONSE,
    "batched counts with normal noise": [COUNTS],
    "the exponential mechanism on arms": [COUNTS, *CHOICE],
    "a tree": [TREE],
}
LEAKY = {
    "uniform noise": [(NOISE, "rng.uniform(-2 * p.scale, 2 * p.scale)")],
    "normal noise": [(NOISE, "rng.normal(0.0, 1.2533 * p.scale)")],
    "noise cut at four scales": [
        (NOISE, "min(max(rng.laplace(0.0, p.scale), -4 * p.scale), 4 * p.scale)")
    ],
    "one draw for all coordinates": [
        (LOOP, "    noise = rng.laplace(0.0, p.scale)\n" + LOOP),
        ("+ " + NOISE, "+ noise"),
    ],
    "the scale of d = 3 everywhere": [("math.sqrt(d)", "math.sqrt(3.0)")],
    "epsilon squared": [("moves / epsilon", "moves / epsilon**2")],
    "half the noise after T/2": [
        (NOISE, "rng.laplace(0.0, p.scale / (1 + (t > p.T // 2)))")
    ],
    "a second release of good news": [(SUM, SUM + "    if r > 0.5:\n    " + SENT)],
    "no noise in a corner": [(NOISE, "(x[0] < 0.9) * " + NOISE)],
    "seeded by the data": [
        (LOOP, "    rng = np.random.default_rng(int(1000 * abs(r + x[0])))\n" + LOOP)
    ],
    "nothing is clipped": [(CLIP, "")],
    "half of what was drawn": [(NOISE, "0.5 * " + NOISE)],
    "noise in whole numbers": [(NOISE, f"round({NOISE})")],
    "less noise about good news": [(NOISE, "rng.laplace(0.0, p.scale / (1 + (r > 0)))")],
    "scaled for the norm of normal noise": [("2.0 * math.sqrt(d)", "2.0")],
    "a counter of good news": [
        ("s.t[0] += 1.0", "s.t[0] += r > 0.0"),
        ("int(s.t[0])", "1"),
    ],
    "noise from a known seed": [
        (NOISE, NOISE.replace("rng", "np.random.default_rng(t + i)"))
    ],
    "randomised response with a wrong bias": [
        *RESPONSE,
        ("exp(-epsilon)", "exp(-2 * epsilon)"),
        ("math.log(p", "0.5 * math.log(p"),
    ],
    "a batch that ends with its rewards": [
        COUNTS,
        ("s.users[0] == p.batch", "s.open.sum() > 1.5"),
    ],
    "advice from the open batch": [
        COUNTS,
        ("np.argmax(s.total)", "np.argmax(s.total + s.open)"),
    ],
    "half the movement of an arm": [COUNTS, ("moves = 1.0", "moves = 0.5")],
    "one noise for two batches": [
        COUNTS,
        ("release(p, s.open, rng, s.shown)", "release(p, s.open, rng, s.shown, s.noise)"),
        ("rng, shown):", "rng, shown, noise):"),
        ("    total: np", "    noise: np.ndarray\n    total: np"),
        ("State(np.zeros(1), ", "State(np.zeros(1), np.zeros(p.K), "),
        (
            "    shown[:] = open + rng.normal(0.0, p.sigma, len(open))\n",
            "    fresh = noise[0] == 0.0\n"
            "    noise[:] = rng.normal(0.0, p.sigma, len(open)) if fresh else noise\n"
            "    shown[:] = open + noise\n    noise[:] *= fresh\n",
        ),
        ('("open",)', '("open", "noise")'),
    ],
    "a mean's sensitivity for sums": [
        COUNTS,
        *CHOICE,
        ("p = Params(K, batch, epsilon)", "p = Params(K, batch, epsilon * batch)"),
        ("lost = p.sigma", "lost = p.sigma / batch"),
    ],
    "the message before as noise in every 50th": [USED],
    "no noise now and then": [(NOISE, NOISE + " * (rng.random() > 0.02)")],
    "a tree one level short": [
        TREE,
        ("(T.bit_length())", "(T.bit_length() - 1)"),
    ],
}
BROKEN = {
    "NaN in the state": (
        "CONTRACT BROKEN",
        [("s.t[0] += 1.0\n", "s.t[0] += np.nan\n"), ("int(s.t[0])", "1")],
    ),
    "an arm that is no integer": (
        "CONTRACT BROKEN",
        [("return int(", "return 1.0 * int(")],
    ),
    "raises in round 37": (
        "CONTRACT BROKEN",
        [
            (
                "s.t[0] += 1.0\n",
                "s.t[0] += 1.0 / (s.t[0] < 37)\n    assert s.t[0] < 37, 'round 37'\n",
            )
        ],
    ),
    "ends its process": (
        "CONTRACT BROKEN",
        [(CLIP, "    import os\n    os._exit(0)\n" + CLIP)],
    ),
    "a loop without end": (
        "CONTRACT BROKEN",
        [(CLIP, "    while True:\n        pass\n" + CLIP)],
    ),
    "too much memory": ("CONTRACT BROKEN", [(CLIP, "    np.ones(1 << 33)\n" + CLIP)]),
    "a syntax error": ("NOTHING", [("def update", "def def")]),
    "leaves when it is imported": (
        "NOTHING",
        [("def update", "raise SystemExit(3)\ndef update")],
    ),
    "no factory": ("NOTHING", [(" -> Policy", "")]),
    "nothing said of what is shown": (
        "BOUNDED ONLY",
        [(",\n                  releases=(" + DECLARED + ",)", "")],
    ),
    "messages before a shuffler": (
        "BOUNDED ONLY",
        [(PROMISE, '"shuffle", epsilon / 4, delta, REPLACE_RECORD')],
    ),
    "a secret coin beside the noise": (
        "BOUNDED ONLY",
        [
            (SENT, "    x = x * (rng.random() < 0.5)\n" + SENT),
            (
                PROMISE,
                '"local", math.log1p(0.5 * math.expm1(epsilon)), 0.0, REPLACE_RECORD',
            ),
        ],
    ),
    "one message in two is noise alone": (
        "BOUNDED ONLY",
        [
            ("r * x[i] + ", "(rng.random() < 0.5) * r * x[i] + "),
            (DECLARED, 'Release(randomize, "message")'),
        ],
    ),
    "another relation": (
        "CONTRACT BROKEN",
        [(PROMISE, '"local", epsilon, 0.0, "edit one bit"')],
    ),
    "noise without a law": (
        "BOUNDED ONLY",
        [
            (NOISE, "rng.logistic(0.0, p.scale)"),
            (DECLARED, 'Release(randomize, "message")'),
        ],
    ),
}
# no law is known here that fits, or the promise is far above what is lost: what is shown
# is counted alone, and shows less than is promised
BOUNDED = {
    "counts with binomial noise",  # its law is proved at budgets up to 1, here to 8
    "eight releases by advanced composition",  # promises four times what is lost
    "the exponential mechanism on arms",  # picks of a batch follow those before
    "no noise now and then",
    "noise cut at four scales",
}
WORDS = {
    **{name: ("MEASURED", changes) for name, changes in SOUND.items()},
    **{name: ("REFUTED", changes) for name, changes in LEAKY.items()},
    **BROKEN,
}
WORDS |= {name: ("BOUNDED ONLY", WORDS[name][1]) for name in BOUNDED}


def written(tmp_path, changes):
    """The path of a policy, `SUMS` or what begins its changes (old, new)."""
    base, *changes = (
        changes if changes and isinstance(changes[0], str) else (SUMS, *changes)
    )
    for old, new in changes:
        assert old in base, old
        base = base.replace(old, new)
    path = tmp_path / "policy.py"
    path.write_text(HEAD + base, "utf8")
    return str(path)


def test_a_round_that_uses_noise_again_is_looked_at(tmp_path):
    case = measuring.instance(load(written(tmp_path, [USED])), Plan("", rounds=60))
    assert (49, 3) in measuring.odd_rounds(case)


@pytest.mark.parametrize("longer", ["1", "(3 if x[0] > 0.5 and x[1] > 0.7 else 1)"])
def test_records_on_a_narrow_cone_are_found_by_the_search(tmp_path, longer):
    change = ("message[i] = r * x[i]", f"message[i] = {longer} * r * x[i]")
    subject = load(written(tmp_path, [change]))
    found = measuring.measured(subject, Plan(""), True)
    assert found["outcome"] == ("measured" if longer == "1" else "refuted")


def test_noise_that_follows_a_counter_in_the_state_is_drawn_as_it_was(tmp_path):
    case = measuring.instance(load(written(tmp_path, COUNTER)), Plan("", rounds=40))
    assert measure(case).low > 1.5 * case.policy.guarantee.epsilon


@pytest.mark.parametrize("noise", ["", "0.0 * "])
def test_the_attack_alone_finds_that_there_is_no_noise(tmp_path, noise):
    path = written(tmp_path, [(NOISE, noise + NOISE)])
    found = attack.general(load(path), True, 200, 1)
    assert found["outcome"] == ("refuted" if noise else "not refuted")


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in BROKEN else pytest.mark.slow) for n in WORDS],
)
def test_every_policy_gets_its_word(name, tmp_path, monkeypatch):
    monkeypatch.setattr(attack, "ROUNDS", {True: 9})
    monkeypatch.setattr(measuring, "LONG", 60)
    word, changes = WORDS[name]
    limit = 3.0 if "loop" in name else 40.0
    report = judge(written(tmp_path, changes), quick=True, trials=40, limit=limit)
    assert report.word == word, report
    assert (
        sum(r["part"] == "measured" and r["outcome"] == "refuted" for r in report.found)
        <= 1
    )
    assert report.lines[0].startswith("Refuted: ") is (word == "REFUTED")
