"""Policies of strangers, of other kinds than `test_third_party`: half leak, half are
sound."""

from test_third_party import (
    CLIP,
    COUNTS,
    DECLARED,
    LOOP,
    NOISE,
    SENT,
    SUM,
    TREE,
)

ADDED = "message[i] = r * x[i] + " + NOISE
GUESSED = (DECLARED, 'Release(randomize, "message")')
PURE_TREE = [
    TREE,
    ("rng.normal(0.0, p.sigma, p.K)", "rng.laplace(0.0, p.sigma, p.K)"),
    ("moves = math.sqrt(T.bit_length())", "moves = T.bit_length()"),
    ("gaussian_scale(epsilon, delta, moves)", "moves / epsilon"),
    ("gaussian_epsilon(delta, p.sigma, moves)", "epsilon"),
    ("lost, delta", "lost, 0.0"),
    ('Release(release, "shown")', 'Release(release, "shown", "laplace")'),
]
NODES = [
    ("    shown[:] = noisy.sum(axis=0)\n", "    shown[:] = noisy[i]\n"),
]
PURE_COUNTS = [
    COUNTS,
    ("rng.normal(0.0, p.sigma, len(open))", "rng.laplace(0.0, p.sigma, len(open))"),
    ("gaussian_scale(epsilon, delta, moves)", "moves / epsilon"),
    ("gaussian_epsilon(delta, p.sigma, moves)", "epsilon"),
    ("lost, delta", "lost, 0.0"),
    ('Release(release, "shown")', 'Release(release, "shown", "laplace")'),
]
INVERSE = [
    (
        LOOP,
        "    u = rng.random(len(message)) - 0.5\n"
        "    z = -p.scale * np.sign(u) * np.log1p(-2 * np.abs(u))\n" + LOOP,
    ),
    (NOISE, "z[i]"),
    GUESSED,
]
MAXIMUM = [
    COUNTS,
    (
        "    shown[:] = open + rng.normal(0.0, p.sigma, len(open))",
        "    shown[0] = np.argmax(open + rng.laplace(0.0, p.sigma, len(open)))",
    ),
    ("np.zeros(p.K), np.zeros(p.K))", "np.zeros(1), np.zeros(p.K))"),
    (
        "        s.total[:] += s.shown\n",
        "        s.total[:] = np.arange(p.K) == s.shown[0]\n",
    ),
    ("gaussian_scale(epsilon, delta, moves)", "2.0 / epsilon"),
    ("gaussian_epsilon(delta, p.sigma, moves)", "epsilon"),
    ("lost, delta", "lost, 0.0"),
]
AGAIN = [  # every seventh batch the sum of all is shown once more
    *PURE_COUNTS,
    ("    open: np", "    all: np.ndarray\n    batches: np.ndarray\n    open: np"),
    ("State(np.zeros(1), ", "State(np.zeros(1), np.zeros(p.K), np.zeros(1), "),
    ("batch=5", "batch=2"),
    (
        "        release(p, s.open, rng, s.shown)\n",
        "        s.batches[0] += 1\n"
        "        s.all[:] += s.open\n"
        "        release(p, s.open, rng, s.shown)\n"
        "        if s.batches[0] % 7 == 0:\n"
        "            release(p, s.all, rng, s.shown)\n",
    ),
    ('("open",)', '("open", "all")'),
]
HELD = [  # the same, of the noisy sum: nothing new
    *AGAIN,
    ("release(p, s.all, rng, s.shown)", "repeat(p, s.total, s.shown)"),
    (
        "def select(",
        "def repeat(p, total, shown):\n    shown[:] = total\n\ndef select(",
    ),
]
SPARSE = [
    COUNTS,
    ("    open: np", "    level: np.ndarray\n    open: np"),
    ("State(np.zeros(1), ", "State(np.zeros(1), np.zeros(1), "),
    (
        "def release(p, open, rng, shown):\n"
        "    shown[:] = open + rng.normal(0.0, p.sigma, len(open))\n",
        "def release(p, open, level, rng, shown):\n"
        "    if level[0] == 0.0:\n"
        "        level[0] = 1.0 + rng.laplace(0.0, p.sigma)\n"
        "    shown[0] = open.sum() > level[0]\n",
    ),
    ("release(p, s.open, rng, s.shown)", "release(p, s.open, s.level, rng, s.shown)"),
    ("np.zeros(p.K), np.zeros(p.K))", "np.zeros(1), np.zeros(p.K))"),
    ("        s.total[:] += s.shown\n", "        s.total[0] += s.shown[0]\n"),
    ("    if s.users[0] == p.batch:\n", "    if s.users[0] >= 1:\n"),
    ("s.users[0] = s.open[:] = 0.0", "s.users[0] = 0.0"),
    ("gaussian_scale(epsilon, delta, moves)", "1.0 / epsilon"),
    ("gaussian_epsilon(delta, p.sigma, moves)", "epsilon"),
    ("lost, delta", "lost, 0.0"),
    ('Release(release, "shown")', 'Release(release, "shown", "values")'),
    ('("open",)', '("open", "level")'),
]
QUARTERS = [  # which of four kinds the record is, with a random answer
    (
        LOOP + "        " + ADDED,
        "    kind = 2 * (r > 0.0) + (x[0] > 0.0)\n"
        "    other = (kind + rng.integers(1, 4)) % 4\n"
        "    message[0] = kind if rng.random() < p.scale else other",
    ),
    ("np.zeros(p.d), np.zeros(p.d))", "np.zeros(p.d), np.zeros(1))"),
    (SUM, "    s.total[0] += s.message[0]\n"),
    ("moves / epsilon", "math.exp(epsilon) / (3.0 + math.exp(epsilon))"),
    (DECLARED, 'Release(randomize, "message", "values")'),
]
PULLS = [  # bandits without contexts: who was played is public
    *PURE_COUNTS,
    ("    open: np", "    pulls: np.ndarray\n    open: np"),
    ("State(np.zeros(1), ", "State(np.zeros(1), np.zeros(p.K), "),
    ("    s.users[0] += 1\n", "    s.users[0] += 1\n    s.pulls[arm] += 1.0\n"),
    ("np.argmax(s.total)", "np.argmax(s.total / (1.0 + s.pulls))"),
]
SOUND = {
    "Laplace tree, prefix sums": PURE_TREE,
    "Laplace tree, nodes": [*PURE_TREE, *NODES],
    "clamped sum": [
        (ADDED, f"message[i] = min(max(r * x[i] + {NOISE}, -9), 9)"),
        GUESSED,
    ],
    "clamped sum, declared": [
        (ADDED, f"message[i] = min(max(r * x[i] + {NOISE}, -9), 9)")
    ],
    "rounded sum": [(ADDED, f"message[i] = round(r * x[i] + {NOISE})"), GUESSED],
    "rounded sum, declared": [(ADDED, f"message[i] = round(r * x[i] + {NOISE})")],
    "noisy max": MAXIMUM,
    "Laplace by inverse CDF": INVERSE,
    "drawn again until it is small": [
        (
            ADDED,
            "message[i] = 99.0\n"
            "        while abs(message[i]) > 20.0:\n"
            "            message[i] = r * x[i] + " + NOISE,
        ),
        ("moves / epsilon", "2.0 * moves / epsilon"),
        GUESSED,
    ],
    "public pulls without contexts": PULLS,
    "four kinds, random answers": QUARTERS,
    "difference of exponentials": [
        (NOISE, "rng.exponential(p.scale) - rng.exponential(p.scale)")
    ],
    "sum of four normals": [
        COUNTS,
        (
            "rng.normal(0.0, p.sigma, len(open))",
            ("rng.normal(0.0, p.sigma / 2, (4, len(open))).sum(axis=0)"),
        ),
    ],
    "two messages, half of the budget each": [
        ("moves / epsilon", "2.0 * moves / epsilon"),
        (SENT + SUM, 2 * (SENT + SUM)),
    ],
    "the noisy sum shown again": HELD,
    "sparse vector": [
        *SPARSE,
        (
            "open.sum() > level[0]",
            "open.sum() + rng.laplace(0.0, 99 * p.sigma) > level[0]",
        ),
        ("1.0 / epsilon", "8.0 / epsilon"),
    ],
}
LEAKY = {
    "Laplace tree paid once": [*PURE_TREE, ("moves = T.bit_length()", "moves = 1.0")],
    "four of nine levels paid": [
        *PURE_TREE,
        ("moves = T.bit_length()", "moves = min(T.bit_length(), 4)"),
    ],
    "nodes, two levels unpaid": [
        *PURE_TREE,
        *NODES,
        ("moves = T.bit_length()", "moves = T.bit_length() - 2"),
    ],
    "a total shown again every seventh batch": AGAIN,
    "clamped sum, a third of the noise": [
        (ADDED, f"message[i] = min(max(r * x[i] + {NOISE}, -9), 9)"),
        GUESSED,
        ("moves / epsilon", "moves / epsilon / 3"),
    ],
    "rounded sum, a third of the noise": [
        (ADDED, f"message[i] = round(r * x[i] + {NOISE})"),
        ("moves / epsilon", "moves / epsilon / 3"),
    ],
    "noisy max, a quarter of the noise": [
        *MAXIMUM,
        ("2.0 / epsilon", "0.25 / epsilon"),
    ],
    "sparse vector, noise on the threshold alone": SPARSE,
    "inverse CDF, a third of the noise": [
        *INVERSE,
        ("moves / epsilon", "moves / epsilon / 3"),
    ],
    "noise reused in the next message": [
        (NOISE, "(0.5 * message[i] + 0.5 * rng.laplace(0.0, p.scale))")
    ],
    "two messages, the whole budget each": [(SENT + SUM, 2 * (SENT + SUM))],
    "classical Gaussian formula": [
        COUNTS,
        (
            "gaussian_scale(epsilon, delta, moves)",
            "math.sqrt(2 * math.log(1.25 / delta)) * moves / epsilon",
        ),
        ("gaussian_epsilon(delta, p.sigma, moves)", "epsilon"),
    ],
    "exact pulls, private contexts": [
        ("    message: np.ndarray\n", "    message: np.ndarray\n    pulls: np.ndarray\n"),
        ("np.zeros(p.d), np.zeros(p.d))", "np.zeros(p.d), np.zeros(p.d), np.zeros(999))"),
        ("    s.t[0] += 1.0\n", "    s.t[0] += 1.0\n    s.pulls[arm] += 1.0\n"),
    ],
    "noise on the first coordinate alone": [(NOISE, f"(i == 0) * {NOISE}")],
    "the clipped context stays in the State": [
        ("    message: np.ndarray\n", "    message: np.ndarray\n    last: np.ndarray\n"),
        ("np.zeros(p.d), np.zeros(p.d))", "np.zeros(p.d), np.zeros(p.d), np.zeros(p.d))"),
        (CLIP, CLIP + "    s.last[:] = x\n"),
    ],
    "little noise on a cone": [
        (NOISE, "rng.laplace(0.0, p.scale) * (0.1 if x[0] > 0.5 and x[1] > 0.7 else 1.0)")
    ],
    "longer on a cone": [
        (
            ADDED,
            f"message[i] = (3 if x[0] > 0.5 and x[1] > 0.7 else 1) * r * x[i] + {NOISE}",
        )
    ],
    "four kinds by the formula of two": [
        *QUARTERS,
        ("(3.0 + math.exp(epsilon))", "(1.0 + math.exp(epsilon))"),
    ],
}
WORDS = {n: ("sound", c) for n, c in SOUND.items()} | {
    n: ("leak", c) for n, c in LEAKY.items()
}
