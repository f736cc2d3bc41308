"""The limits in the cells of the notebooks are those of `book/results.lock`.

A build compares its rows with the lock; this compares what is written, without running
it.  A row's limits must stand in a cell that opens its claim, or uses its name, or in a
function that such a cell calls; and a call that writes limits must have given a row.  A
limit that only a run knows cannot be read from a cell: the claims that have one are
listed below, and of such a limit only the side is compared.
"""

import ast
import math
from itertools import chain, product

import numpy as np
import pytest
from real_book import BOOK, ROOT, cells

from tools import lock

CLAIMS = lock.read(ROOT)["claims"]
# Audits against a guarantee that the run computes, limits that follow from the number of
# rows ("no single wild difference"), and limits that are themselves results.
ONLY_A_RUN_KNOWS = {
    "fliphat/figure-1-left",
    "fliphat/figure-1-right",
    "fliphat_rows/figure-2-right",
    "fliphat_rows/figure-3-left",
    "fliphat_rows/figure-3-right",
    "fliphat_rows/lasso-level",
    "fliphat_rows/noise-reuse",
    "fliphat_rows/one-step-for-ever",
    "glm_rows/claim-2",
    "joint_glm/kappa-free",
    "joint_rows/count2",
    "joint_rows/kappa",
    "joint_rows/lemma-7-1",
    "joint_rows/lemma-p-4",
    "joint_rows/tree",
    "joint_rows/tree-corrected",
    "joint_rows/zcdp",
    "lplr/repair",
    "lplr_rows/thm1",
    "sco_bandit/theorem-4-9",
    "shuffle_glm/shuffle-kappa-free",
    "streaming_rows/table-2",
    "streaming_rows/table-4-algorithm-1",
    "streaming_rows/table-4-is-raw-risk",
    "streaming_rows/table-4-noisysgd",
    "streaming_sco/table-3-algorithm-1",
    "streaming_sco/table-3-noisysfw",
}


class COMPUTED:
    """A limit that only a run knows."""


def constants(trees):
    """{name: the constant values that it is given anywhere in these cells}."""
    found = {}
    for tree in trees:
        for node in ast.walk(tree):
            pairs = []
            if isinstance(node, ast.Assign):
                pairs = [(node.targets[0], node.value)]
            elif isinstance(node, ast.For):
                whole = found.get(ast.unparse(node.iter), [node.iter])[0]
                for item in getattr(whole, "elts", [whole]):
                    pairs.append((node.target, item))
            for target, value in pairs:
                if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                    for one, own in zip(target.elts, value.elts, strict=True):
                        found.setdefault(ast.unparse(one), []).append(own)
                elif isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(value)
    return found


def values(node, known):
    """The values that a limit may have: numbers, or COMPUTED."""
    used = sorted(names(node) & known.keys())
    given = [[v for one in known[name] for v in values(one, {})] for name in used]
    expression = ast.fix_missing_locations(ast.Expression(node))
    code = compile(expression, "cell", "eval")
    found = []
    for chosen in product(*given):
        here = {"np": np, "math": math, "__builtins__": {"float": float}}
        here |= zip(used, chosen, strict=True)
        try:
            found.append(eval(code, here))
        except (ArithmeticError, LookupError, NameError, TypeError, ValueError):
            found.append(COMPUTED)
    return found


def entries(node, ends):
    """{"low" or "high": its values} of a dictionary as it is written."""
    found = {}
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            name = ast.literal_eval(key)
            if name in ends:
                found[name] = values(value, {})
    return found


def limits(tree, known):
    """{call: the pairs (low, high) that it lets rows have} of a cell."""
    found = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        method = ast.unparse(node.func).split(".")[-1]
        pairs = []
        if method == "confirm":
            (tolerance,) = values(node.args[2], known)
            pairs = [(1 - tolerance, 1 + tolerance), (None, COMPUTED)]
        elif method == "without_errors":
            pairs = [(0.9, 1.1)]
        elif method == "audited":
            pairs = [(None, most) for most in values(node.args[-1], known)]
        elif method in ("row", "each", "exact"):
            ends = {"low": [None], "high": [None]}
            for keyword in node.keywords:
                if keyword.arg in ends:
                    ends[keyword.arg] = values(keyword.value, known)
                elif keyword.arg is None:  # a dictionary that has a name
                    for told in known.get(ast.unparse(keyword.value), ()):
                        ends |= entries(told, ends)
            pairs = list(product(ends["low"], ends["high"]))
        if pairs:
            found[ast.unparse(node)] = pairs
    return found


def names(tree):
    """The names that a cell uses."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def written(name):
    """{claim: {call: the limits that it writes} in its cells} of a chapter."""
    code = cells(name)
    trees = [ast.parse(text) for text in code]
    known = constants(trees)
    functions = {}
    opened = {}  # claim: the names that it is given
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                functions[node.name] = node
            if isinstance(node, ast.stmt) and "page." in ast.unparse(node):
                targets = getattr(node, "targets", [])
                given = {n for target in targets for n in names(target)}
                for part in ast.walk(node):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        opened.setdefault(part.value, set()).update(given)
    found = {}
    for claim, given in opened.items():
        found[claim] = {}
        for text, tree in zip(code, trees, strict=True):
            used = names(tree)
            if f'"{claim}"' in text or given & used:
                found[claim] |= limits(tree, known)
                for function in used & functions.keys():
                    found[claim] |= limits(functions[function], known)
    return found


def same(limit, kept):
    """Whether a limit in a cell may be the one that was kept."""
    if limit is COMPUTED:
        return kept is not None
    if limit is None or kept is None:
        return limit is kept
    return math.isclose(limit, kept, rel_tol=2e-9, abs_tol=1e-12)


def kept(name):
    """[(claim, limits)] of the rows of a chapter that have any, as the lock has them."""
    found = []
    for place, entry in CLAIMS.items():
        chapter, _, claim = place.partition("/")
        if chapter == name:
            found += [(claim, row["limits"]) for row in entry["rows"] if row["limits"]]
    return found


@pytest.mark.parametrize("name", BOOK)
def test_every_row_of_the_lock_has_the_limits_of_a_rule_in_a_cell(name):
    rules = written(name)
    computed = set()
    for claim, (low, high) in kept(name):
        fitting = []
        for rule in chain(*rules[claim].values()):
            if same(rule[0], low) and same(rule[1], high):
                fitting.append(rule)
        assert fitting, (claim, low, high, rules[claim])
        if all(COMPUTED in rule for rule in fitting):
            computed.add(f"{name}/{claim}")
    assert computed == {p for p in ONLY_A_RUN_KNOWS if p.startswith(f"{name}/")}


@pytest.mark.parametrize("name", BOOK)
def test_every_rule_in_a_cell_has_given_a_row_of_the_lock(name):
    rows = kept(name)
    used = {}
    for claim, rules in written(name).items():
        for call, pairs in rules.items():
            for (one, (low, high)), pair in product(rows, pairs):
                fits = one == claim and same(pair[0], low) and same(pair[1], high)
                used[call] = used.get(call, False) or fits
    assert [call for call, fits in used.items() if not fits] == []
