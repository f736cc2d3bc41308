"""Policies of strangers: ten that leak, six that are sound, ten that are broken, by their word.

All are one small policy, noisy sums of r x, with a few lines changed.
"""

import numpy as np
import pytest

from companion.judge import attack, judge, measuring

BASE = """
import math
from typing import NamedTuple
import numpy as np
from companion.accounting.audit import AuditSpec, shows
from companion.accounting.privacy import (
    ADD_OR_REMOVE, NO_PRIVACY, REPLACE_RECORD, REPLACE_REWARD, Guarantee, shuffle_epsilon)
from companion.accounting.binomial import binomial_bits, binomial_epsilon
from companion.core import Policy, Universe
from companion.validate import need_int, need_positive, need_probability

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

def shown():
    return shows(randomize, "laplace", "message")

def greedy(d, T, *, epsilon, delta=0.01) -> Policy:
    d, T, epsilon = need_int("d", d, 1), need_int("T", T, 1), need_positive("epsilon", epsilon)
    delta = need_probability("delta", delta)
    moves = 2.0 * math.sqrt(d)
    p = Params(d, T, moves / epsilon)
    promise = Guarantee("local", epsilon, 0.0, REPLACE_RECORD, "user")
    return Policy("Noisy sums", p, init, select, update, guarantee=promise,
                  universe=Universe(), audit=AuditSpec(shown=shown))
"""
NOISE = "rng.laplace(0.0, p.scale)"
SENT = "    randomize(p, int(s.t[0]), x, r, rng, s.message)\n"
PROMISE = '"local", epsilon, 0.0, REPLACE_RECORD'
CLIP = "    x = x / max(1.0, np.linalg.norm(x))\n    r = min(max(r, -1.0), 1.0)\n"
SUM = "    s.total[:] += s.message\n"
LOOP = "    for i in range(len(message)):\n"
DECLARED = 'shows(randomize, "laplace", "message")'
SOUND = {
    "as it is": [],
    "add or remove": [("moves = 2.0 *", "moves ="), ("REPLACE_RECORD, ", "ADD_OR_REMOVE, ", 1)],
    "eight releases by advanced composition": [
        ("moves / epsilon", "8 * moves / epsilon"), ("delta=0.01", "delta=0.1"),
        (SENT + SUM, "    for _ in range(8):\n    " + SENT + "    " + SUM),
        (PROMISE, '"local", min(epsilon, epsilon * math.sqrt(2 * math.log(1 / delta) / 8) + '
         "epsilon * (math.exp(epsilon / 8) - 1)), delta, REPLACE_RECORD")],
    "rewards are private, contexts public": [
        ("message[i] = r * x[i] + " + NOISE, "message[i] = r + " + NOISE),
        ("np.zeros(p.d), np.zeros(p.d))", "np.zeros(p.d), np.zeros(1))"),
        (SUM, "    s.total[:] += s.message[0] * x\n"),
        ("moves = 2.0 * math.sqrt(d)", "moves = 2.0"), ("REPLACE_RECORD, ", "REPLACE_REWARD, ", 1)],
    "counts with binomial noise": [
        ("message[i] = r * x[i] + " + NOISE,
         "message[i] = (r * x[i] > 0.0) + rng.binomial(int(p.scale), 0.25) - 0.25 * p.scale"),
        ("moves / epsilon", "binomial_bits(epsilon, delta, 1, 0.25, math.sqrt(d), d, 1)[0]"),
        (PROMISE, '"local", binomial_epsilon(delta, p.scale, 0.25, math.sqrt(d), d, 1), delta, '
         "REPLACE_RECORD"), (DECLARED, 'shows(randomize, "message")')],
    "no contexts": [
        ("    d: int\n", "    K: int\n"), ("p.d", "p.K"), ("greedy(d, T,", "greedy(K, T,"),
        ('need_int("d", d, 1)', 'need_int("K", K, 1)'), ("math.sqrt(d)", "math.sqrt(1.0)"),
        ("Params(d,", "Params(K,"), ("X @ s.total", "s.total"),
        ("message[i] = r * x[i] +", "message[i] = (r if i == x else 0.0) +"),
        ("int(s.t[0]), x, r,", "int(s.t[0]), arm, r,"), (CLIP, "    r = min(max(r, -1.0), 1.0)\n")],
}  # fmt: skip
LEAKY = {
    "uniform noise": [(NOISE, "rng.uniform(-2 * p.scale, 2 * p.scale)")],
    "normal noise": [(NOISE, "rng.normal(0.0, 1.2533 * p.scale)")],
    "noise cut at four scales": [
        (NOISE, "min(max(rng.laplace(0.0, p.scale), -4 * p.scale), 4 * p.scale)")],
    "one draw for all coordinates": [
        (LOOP, "    noise = rng.laplace(0.0, p.scale)\n" + LOOP), ("+ " + NOISE, "+ noise")],
    "the scale of d = 3 everywhere": [("math.sqrt(d)", "math.sqrt(3.0)")],
    "epsilon squared": [("moves / epsilon", "moves / epsilon**2")],
    "half the noise after T/2": [(NOISE, "rng.laplace(0.0, p.scale / (1 + (t > p.T // 2)))")],
    "a second release of good news": [(SUM, SUM + "    if r > 0.5:\n    " + SENT)],
    "no noise in a corner": [(NOISE, "(x[0] < 0.9) * " + NOISE)],
    "seeded by the data": [
        (LOOP, "    rng = np.random.default_rng(int(1000 * abs(r + x[0])))\n" + LOOP)],
    "nothing is clipped": [(CLIP, "")],
}  # fmt: skip
BROKEN = {
    "NaN in the state": ("CONTRACT BROKEN", [("s.t[0] += 1.0\n", "s.t[0] += np.nan\n"),
                                             ("int(s.t[0])", "1")]),
    "an arm that is no integer": ("CONTRACT BROKEN", [("return int(", "return 1.0 * int(")]),
    "raises in round 37": ("CONTRACT BROKEN", [("s.t[0] += 1.0\n", "s.t[0] += 1.0 / (s.t[0] < 37)\n"
                            "    assert s.t[0] < 37, 'round 37'\n")]),
    "ends its process": ("CONTRACT BROKEN", [(CLIP, "    import os\n    os._exit(0)\n" + CLIP)]),
    "a loop without end": ("CONTRACT BROKEN", [(CLIP, "    while True:\n        pass\n" + CLIP)]),
    "too much memory": ("CONTRACT BROKEN", [(CLIP, "    np.ones(1 << 33)\n" + CLIP)]),
    "a syntax error": ("NOTHING", [("def update", "def def")]),
    "no factory": ("NOTHING", [(" -> Policy", "")]),
    "nothing said of what is shown": ("BOUNDED ONLY", [(", audit=AuditSpec(shown=shown)", "")]),
    "messages before a shuffler": (
        "BOUNDED ONLY", [(PROMISE, '"shuffle", epsilon / 4, delta, REPLACE_RECORD')]),
    "another relation": ("NOTHING", [(PROMISE, '"local", epsilon, 0.0, "edit one bit"')]),
    "noise without a law": (
        "BOUNDED ONLY", [(NOISE, "rng.logistic(0.0, p.scale)"),
                         (DECLARED, 'shows(randomize, "message")')]),
}  # fmt: skip


def judged(tmp_path, monkeypatch, changes, limit=40.0):
    """The quick report on `BASE` with changes (old, new, how often), in few rounds."""
    text = BASE
    for old, new, *often in changes:
        assert old in text, old
        text = text[: text.index("class Params")] * bool(often) + (
            text[text.index("class Params") :] if often else text
        ).replace(old, new)
    monkeypatch.setattr(attack, "ROUNDS", {True: 9})
    monkeypatch.setattr(measuring, "LONG", 60)
    path = tmp_path / "policy.py"
    path.write_text(text, "utf8")
    return judge(str(path), worlds=[], quick=True, trials=40, limit=limit)


QUICK = {"rewards are private, contexts public", "a second release of good news",
         "no noise in a corner", "nothing is clipped", *BROKEN} - {
         "NaN in the state", "messages before a shuffler"}  # fmt: skip


def rows(table):
    """Names; `make check` judges those that take a few seconds."""
    return [pytest.param(n, marks=[] if n in QUICK else [pytest.mark.slow]) for n in table]


@pytest.mark.parametrize("name", rows(SOUND))
def test_the_sound_are_measured(name, tmp_path, monkeypatch):
    report = judged(tmp_path, monkeypatch, SOUND[name])
    assert report.word == "MEASURED", report


@pytest.mark.parametrize("name", rows(LEAKY))
def test_the_leaky_are_refuted(name, tmp_path, monkeypatch):
    report = judged(tmp_path, monkeypatch, LEAKY[name])
    assert report.word == "REFUTED", report
    assert report.exit_code == 1
    assert report.lines[0].startswith("REFUTED: ")


@pytest.mark.parametrize("name", rows(BROKEN))
def test_the_broken_are_named(name, tmp_path, monkeypatch):
    word, changes = BROKEN[name]
    report = judged(tmp_path, monkeypatch, changes, limit=3.0 if "loop" in name else 40.0)
    assert report.word == word, report
    assert np.isin(report.exit_code, (2, 3, 4))
