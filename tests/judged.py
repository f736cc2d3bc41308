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
BROKEN = {  # check (: and how): what breaks it
    "complete": [("def select(p, s, X, rng):", "def select(p, s, X, rng, more=0):")],
    "rows": [("return rng.integers(0,", "return 1.0 * rng.integers(0,"),
             ("    return arm\n", "    return 1.0 * arm\n")],
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
    "live equals play: a reference": [(SENT, SENT + "    return State(s.total, x, s.message)\n")],
    "guarantee": [('Guarantee("local",', 'Guarantee("trusted",')],
    "finite": [("s.total[i] += s.message[i]", "s.total[i] += s.message[i] + np.inf")],
    "refusals": [('need_positive("epsilon", epsilon, allow_inf=True)', "epsilon")],
}  # fmt: skip
