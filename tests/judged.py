"""Policies for the judge's tests: the template, with one thing changed."""

from evidence.judge.load import TEMPLATE


def written(folder, name, *changes):
    """The path of a file with the template and every (old, new) carried out; each old
    must stand in it."""
    text = TEMPLATE.read_text("utf8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    path = folder / f"{name}.py"
    path.write_text(text, "utf8")
    return str(path)


INIT = "State(total=np.zeros(p.d), x=np.zeros(p.d), message=np.zeros(p.d))"
SENT = "        s.total[i] += s.message[i]\n"
BROKEN = {  # check (: words of what it finds): what breaks it
    "complete": [('model="local"', 'model="trusted"')],
    "rows": [
        ("return rng.integers(0,", "return 1.0 * rng.integers(0,"),
        ("    return arm\n", "    return 1.0 * arm\n"),
    ],
    "inside its arrays": [
        ("s.total[i] += s.message[i]", "s.total[i + 1] += s.message[i]")
    ],
    "fresh state": [
        (INIT, INIT.replace("x=np.zeros(p.d)", "x=LEFT")),
        ("def init(p):", "LEFT = np.zeros(3)\n\n\ndef init(p):"),
    ],
    "again: in blocks": [
        (
            "    for t in range(X.shape[0]):\n",
            "    s.total[0] += 1.0\n    for t in range(X.shape[0]):\n",
        )
    ],
    "again: a later run changes the state": [
        (INIT, "State(KEPT, np.zeros(p.d), np.zeros(p.d))"),
        ("def init(p):", "KEPT = np.zeros(3)\n\n\ndef init(p):\n    KEPT[:] = 0.0"),
    ],
    "again: with the same seed": [
        ("rng.random() < p.explore", "np.random.random() < p.explore")
    ],
    "again: the State holds": [("s.total[i] += s.message[i]", "s.total[i] += np.inf")],
    "data: not played": [("R[t, arms[t]], rng)", "R[t].max(), rng)")],
    "data: writes to X or R": [
        (
            "        arms[t] = select(p, s, X[t], rng)\n",
            "        arms[t] = select(p, s, X[t], rng)\n        R[t, 0] = 0.0\n",
        )
    ],
    "live equals play": [
        (
            "        update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)\n",
            "        update(p, s, arms[t], X[t, arms[t]], 0.5, rng)\n",
        )
    ],
    "live equals play: select and update end": [
        ("def select(", "SEEN = []\n\n\ndef select("),
        ("    best = -np", "    SEEN[:] = [X]\n    best = -np"),
        (SENT, SENT + "    s.message[0] += SEEN[0][0, 0] if SEEN else 0.0\n"),
    ],
    "live equals play: update returns": [
        (SENT, SENT + "    return State(s.total, x, s.message)\n")
    ],
}
