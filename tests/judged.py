"""Policies for the judge's tests: the template, with one thing changed."""

from pathlib import Path

from companion.judge import template

STRANGER = Path(__file__).with_name("strangers") / "thompson_on_tree.py"
EXACT = ("np.triu(upper, 1).T, rng.standard_normal(p.d)]", "np.triu(upper, 1).T, np.zeros(p.d)]")


def text(*changes):
    """The template with every (old, new) carried out; each old must stand in it."""
    said = template.text()
    for old, new in changes:
        assert old in said, old
        said = said.replace(old, new)
    return said


def written(folder, name, *changes):
    """The path of a file with `text(*changes)`."""
    path = folder / f"{name}.py"
    path.write_text(text(*changes), "utf8")
    return path


INIT = "State(np.zeros(p.d), np.zeros(p.d), np.zeros(p.d))"
SENT = "        s.total[i] += s.message[i]\n"
BROKEN = {  # point of the contract: what breaks it
    "complete": [("def select(p, s, X, rng):", "def select(p, s, X, rng, more=0):")],
    "rows": [("rng.integers(0, X.shape[0])", "rng.integers(0, 5)")],
    "inside its arrays": [("s.total[i] += s.message[i]", "s.total[i + 1] += s.message[i]")],
    "fresh state": [(INIT, "State(np.zeros(p.d), LEFT, np.zeros(p.d))"),
                    ("def init(p):", "LEFT = np.zeros(3)\n\n\ndef init(p):")],
    "blocks": [("    for t in range(X.shape[0]):\n", "    s.total[0] += 1.0\n"
                "    for t in range(X.shape[0]):\n")],
    "chosen reward": [("R[t, arms[t]], rng)", "R[t].max(), rng)")],
    "data untouched": [("        arms[t] = select(p, s, X[t], rng)\n",
                        "        arms[t] = select(p, s, X[t], rng)\n        R[t, 0] = 0.0\n")],
    "same bits twice": [("rng.random() < p.explore", "np.random.random() < p.explore")],
    "live equals play": [("        update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)\n",
                          "        update(p, s, arms[t], X[t, arms[t]], 0.5, rng)\n")],
    "copies": [(SENT, SENT + "    return State(s.total, x, s.message)\n")],
    "guarantee": [('Guarantee("local",', 'Guarantee("trusted",')],
    "refusals": [('need_positive("epsilon", epsilon, allow_inf=True)', "epsilon")],
}  # fmt: skip

RELEASE = """    randomize(p, x, r, rng, s.x, s.message)
    for i in range(p.d):
        s.total[i] += s.message[i]
"""
BATCHED = """    r, _ = clip_to_ball(x, r, s.x)
    for i in range(p.d):
        s.batch[i] += r * s.x[i]
    s.count[0] += 1.0
    if s.count[0] % 2.0 == 0.0:
        release(p, s.batch, rng, s.message)
        for i in range(p.d):
            s.total[i] += s.message[i]
            s.batch[i] = 0.0
"""
KERNEL = """    r, _ = clip_to_ball(x, r, clean)  # ||x|| <= 1 and |r| <= 1, whatever comes
    for i in range(p.d):
        message[i] = r * clean[i] + laplace(rng, p.scale)
"""
CASE = """    sent = shows(randomize, "laplace", "message")
    diagonal = np.array([[math.sqrt(0.5), math.sqrt(0.5), r] for r in (-1.0, 1.0)])
    return (AuditInstance(private_greedy(2, epsilon=1.0), sent, ("x",), records=diagonal),)
"""
BATCHES = [  # the template with batches of two: the server is trusted, and shows noisy sums
    (RELEASE, BATCHED),
    ("    message: np.ndarray  # (d,) of one user\n",
     "    message: np.ndarray  # (d,) of one user\n    batch: np.ndarray\n    count: np.ndarray\n"),
    (INIT, "State(np.zeros(p.d), np.zeros(p.d), np.zeros(p.d), np.zeros(p.d), np.zeros(1))"),
    ("# @jit\ndef messages(", "def release(p, batch, rng, message):\n    for i in range(p.d):\n"
     "        message[i] = batch[i] + laplace(rng, p.scale)\n\n\n# @jit\ndef messages("),
    ('Guarantee("local",', 'Guarantee("joint",'),
    (CASE, CASE.replace("shows(randomize,", "shows(release,")
     .replace('("x",)', '("x", "batch"), rounds=6')),
]  # fmt: skip
TYPED = ("2.0 * math.sqrt(d) / p.scale", "epsilon")  # the guarantee is no longer computed
FAULTS = {  # fault: (its changes, what finds it, the words that say so)
    "a leak through the arm": (
        [("s.total[i] += s.message[i]", "s.total[i] += s.message[i] + 100.0 * r * x[i]")],
        "general", "epsilon is at least"),
    "a leak through the state": (
        [('("x",), records', "(), records")], "measured", "public state depends"),
    "a batch that is not cleared": (
        [*BATCHES, ("            s.batch[i] = 0.0\n", "")],
        "measured", "is measured, 1 is promised"),
    "a second release": (
        [("    randomize(p, x, r, rng, s.x, s.message)\n    for",
          "    randomize(p, x, r, rng, s.x, s.message)\n"
          "    randomize(p, x, r, rng, s.x, s.message)\n    for")],
        "measured", "is measured, 1 is promised"),
    "noise reused": (
        [("laplace(rng, p.scale)", "p.scale * NOISE[i]"),
         ("def init(p):", "NOISE = np.random.default_rng(1).laplace(size=3)\n\n\ndef init(p):")],
        "general", "epsilon is at least"),
    "half the noise": (
        [TYPED, ("2.0 * math.sqrt(d) / epsilon", "math.sqrt(d) / epsilon")],
        "measured", "is measured, 1 is promised"),
    "a wrong sensitivity": (
        [TYPED, ("2.0 * math.sqrt(d) / epsilon", "2.0 / epsilon")],
        "measured", "is measured, 1 is promised"),
    "a clip forgotten": (
        [("    r, _ = clip_to_ball(x, r, clean)", "    clean[:] = x")],
        "far", "epsilon is at least"),
    "a guarantee typed by hand": (
        [("2.0 * math.sqrt(d) / p.scale", "1.0")], "asked", "less privacy than it is asked for"),
    "arms out of range": (
        [("rng.integers(0, X.shape[0])", "rng.integers(0, 6)")], "rows", "out of bounds"),
}  # fmt: skip
