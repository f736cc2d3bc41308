"""A policy stands in a line-up under its own name, not under that of another.

Compared is what cells and experiments write: a label in a dictionary, or in `renamed`,
that begins with the name of a policy of the package, and the factory that makes what
stands under it.  Labels that are computed from a policy's own `name` cannot be wrong;
others say a variant, and no policy.
"""

import ast

import pytest
from real_book import BOOK, ROOT, cells

from companion import optimisers, policies

EXPERIMENTS = sorted(ROOT.glob("companion/*/experiments.py"))
OTHER_WORDS = {"ssp": "suffstats"}  # what the experiments of LPLR call it


def plain(name):
    """A name without spaces: "Online LinUCB" is OnlineLinUCB."""
    return name.replace(" ", "")


OWN = {}  # factory: the name of what it makes
for module in (policies, optimisers):
    for factory in module.TABLE:
        OWN[factory] = plain(module.example(factory).name)


def start(node):
    """The text that a label begins with, or ""."""
    if isinstance(node, ast.JoinedStr):
        node = node.values[0]
    constant = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return plain(node.value) if constant else ""


def made_by(node):
    """The first factory that an expression names, as code or as text, or ""."""
    found = []
    for part in ast.walk(node):
        word = ""
        if isinstance(part, ast.Name):
            word = part.id
        elif isinstance(part, ast.Attribute):
            word = part.attr
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            word = OTHER_WORDS.get(part.value, part.value)
        if word in OWN:
            found.append((part.lineno, part.col_offset, word))
    return min(found)[2] if found else ""


def labelled(code):
    """[(label, factory)] of what a text of Python shows under a label."""
    pairs = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                pairs.append((start(key), made_by(value)))
        method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if method and node.func.attr == "renamed" and node.args:
            pairs.append((start(node.args[0]), made_by(node.func.value)))
    return [(label, factory) for label, factory in pairs if label and factory]


def strangers(code):
    """[(label, factory)] where the label is the name of another policy."""
    wrong = []
    for label, factory in labelled(code):
        named = [own for own in OWN.values() if label.startswith(own)]
        if named and max(named, key=len) != OWN[factory]:
            wrong.append((label, factory))
    return wrong


@pytest.mark.parametrize("name", BOOK)
def test_no_policy_stands_under_the_name_of_another_in_a_chapter(name):
    assert strangers("\n".join(cells(name))) == []


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda p: p.parent.name)
def test_no_policy_stands_under_the_name_of_another_in_experiments(path):
    assert strangers(path.read_text("utf8")) == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('{"JDP-LinUCB": sdp_linucb}', [("JDP-LinUCB", "sdp_linucb")]),
        ('{"LinUCB": [linucb(3, width=w) for w in tried]}', []),
        (
            '{"LinUCB": [ldp_linucb(3, width=w) for w in tried]}',
            [("LinUCB", "ldp_linucb")],
        ),
        ('{"SSP": partial(play, "ssp"), "LPLR, pooled": partial(play, "lplr")}', []),
        ('{"LPLR, pooled": partial(play, "ssp")}', [("LPLR,pooled", "suffstats")]),
        ('fliphat(3).renamed(f"FLIPHAT, {e}")', []),
        (
            'residual_fliphat(3).renamed(f"FLIPHAT, {e}")',
            [("FLIPHAT,", "residual_fliphat")],
        ),
    ],
)
def test_what_stands_under_a_label(code, found):
    assert strangers(code) == found


def test_the_line_ups_of_the_book_are_found():
    pairs = []
    for name in BOOK:
        pairs += labelled("\n".join(cells(name)))
    for pair in (
        ("JDP-LinUCB", "jdp_linucb"),
        ("LPLR,pooled", "lplr"),
        ("SSP", "suffstats"),
        ("LinUCB", "linucb"),
        ("FLIPHAT", "fliphat"),
    ):
        assert pair in pairs, pair
