"""No caption holds a number that a cell could compute: it would stay when the parameters
change.

A number in braces is computed.  Typed ones are the level of all bands (95 %), the places
of a paper (Figure 1, Lemma 3.2), and those that are listed here with what they are.
"""

import ast
import re
from itertools import pairwise

import pytest
from real_book import BOOK, cells

TYPED = {  # chapter: texts with numbers that no parameter and no run changes
    "fliphat_rows": ["(α = 0 without noise: "],  # the name of a law of margins
    # of a unit vector in three dimensions
    "online_linucb": ["(1 is right)", "(1/3)/(1/3 + σ²)"],
    "streaming_rows": [", scale 1: "],  # the paper's own step sizes
    "joint_rows": ["fig1"],  # the name of a preset
}
PLACES = re.compile(
    r"95 "
    r"%|(?:Algorithm|Corollary|Figure|Figures|Lemma|Proposition|Table|Theorem) "
    r"[A-Z]?\d*\.?\d+"
    r"(?: and \d+)?|row of Table \d"
)
# chapter: counts of runs that the cell above does not draw
COUNTED = {
    "arena": ["n_reps", "counted"],  # `contest.play` draws them, and how many
    "fliphat_rows": ["runs"],  # counted in the samples that are drawn
    "lplr": ["some"],  # counted in the tasks
    "streaming_rows": ["fewer"],  # or twice n_reps, by the size
    "your_data": ["n_reps"],  # the first cell draws them for all
}
NAMES = {"caption", "said"}  # `said` becomes a caption, too


def typed(node):
    """The texts of an expression as they are written, without what is in braces."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.FormattedValue):
        return []
    return [text for part in ast.iter_child_nodes(node) for text in typed(part)]


def captions(code):
    """The expressions that become captions in a cell."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Assign):
            names = {ast.unparse(target) for target in node.targets}
            if names & NAMES:
                found.append(node.value)
        elif isinstance(node, ast.AugAssign):
            if ast.unparse(node.target) in NAMES:
                found.append(node.value)
        elif isinstance(node, ast.keyword):
            if node.arg == "caption":
                found.append(node.value)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "caption":
                    found.append(value)
    return found


def numbers(code, allowed=()):
    """The texts in a cell's captions that hold a typed number."""
    found = []
    for caption in captions(code):
        for text in typed(caption):
            rest = text
            for known in allowed:
                rest = rest.replace(known, "")
            if re.search(r"\d", PLACES.sub("", rest)):
                found.append(text)
    return found


@pytest.mark.parametrize("name", BOOK)
def test_no_caption_types_a_number(name):
    assert [
        text for code in cells(name) for text in numbers(code, TYPED.get(name, ()))
    ] == []


@pytest.mark.parametrize("name", TYPED)
def test_what_may_be_typed_is_typed_somewhere(name):
    whole = "\n".join(cells(name))
    assert [text for text in TYPED[name] if text not in whole] == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('show(fig, caption="Means of 20 runs.")', ["Means of 20 runs."]),
        ('caption = f"{n} runs at ε = 2"', [" runs at ε = 2"]),
        ('how = {"caption": "d = 5"}', ["d = 5"]),
        ('caption = "a"\nsaid = "b"\nsaid += f"{x} of 7"', [" of 7"]),
        ('caption = f"{n:.3g} runs, {d[0]}; 95 % bands"', []),
        ('caption = "The paper\'s Figure 1, Lemma 3.2 and Proposition A.2."', []),
        ('picture(x, y, caption="all", title="20 runs")', []),
    ],
)
def test_numbers_of_a_caption(code, found):
    assert numbers(code) == found


def counts(code):
    """The numbers of runs that a caption of this cell tells, as they are written."""
    found = []
    for caption in captions(code):
        for text in ast.walk(caption):
            if not isinstance(text, ast.JoinedStr):
                continue
            for number, words in pairwise(text.values):
                if isinstance(number, ast.FormattedValue) and re.match(
                    " (repetitions|runs)\\b", str(getattr(words, "value", ""))
                ):
                    found.append(ast.unparse(number.value))
    return found


def drawn(code):
    """The numbers of repetitions that a cell draws, or takes of those that were drawn."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "repetitions":
            found.append(ast.unparse(node.args[1]))
        elif isinstance(node, ast.Slice) and node.upper:
            found.append(ast.unparse(node.upper))
    return found


def untrue(codes):
    """Counts in captions that the last cell which draws repetitions does not draw."""
    found = []
    last = []
    for code in codes:
        if "repetitions(" in code:
            last = drawn(code)
        found += [n for n in counts(code) if n not in last and not n.startswith("len(")]
    return found


@pytest.mark.parametrize("name", BOOK)
def test_a_caption_counts_the_runs_that_the_cell_above_draws(name):
    assert set(untrue(cells(name))) == set(COUNTED.get(name, ()))


@pytest.mark.parametrize(
    ("caption", "found"),
    [
        ("{2 * n} repetitions", []),
        ("{k} runs of many", []),
        ("{len(seeds)} runs", []),
        ("{n} repetitions", ["n"]),
        ("{n} repetitions of {k} runs", ["n"]),
        ("{n} rounds", []),
    ],
)
def test_runs_of_a_caption(caption, found):
    above = ["a = repetitions(1, n)", "b = repetitions(seed + 1, 2 * n)\nc = b[:k]"]
    assert untrue([*above, f'show(fig, caption=f"{caption}")']) == found
