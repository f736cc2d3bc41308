"""The rules that a notebook's cells write down, read from their code without running it.

Names that hold constants are followed (through loops over constants, both branches of an
`if`, and functions of the notebook); every other limit is COMPUTED: only a run knows it.
"""

import ast
import math
from typing import NamedTuple

import numpy as np

OPENS = {"open", "claim", "finding"}  # methods of a `Page` that begin a record
FUNCTIONS = {"float", "log", "len"}  # may stand in a limit
COMPUTED = "computed"


class Rule(NamedTuple):
    """What a call lets the rows of records have; a limit is a number, None or
    COMPUTED."""

    call: str  # its code
    records: frozenset  # names: one, or those that a loop goes through
    low: object
    high: object


class Reader(ast.NodeVisitor):
    """Reads the cells of a chapter in their order, and gathers `rules`, a list of
    `Rule`."""

    def __init__(self):
        self.rules = []
        self.values = {"math": math, "np": np}  # name -> its constant value
        self.others = {}  # name -> another value that it has if a condition holds
        self.nodes = {}  # name -> the code that it was given
        self.records = {}  # name -> records that it may stand for
        self.functions = {}  # name -> definition

    def named(self, node) -> frozenset:
        """The records that an expression opens or names."""
        found = set()
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                found |= self.records.get(part.id, frozenset())
            method = isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute)
            if (
                method
                and part.func.attr in OPENS
                and ast.unparse(part.func.value) == "page"
            ):
                found.add(ast.literal_eval(part.args[0]))
        return frozenset(found)

    def value(self, node):
        """The value of an expression of constants, or COMPUTED."""
        for part in ast.walk(node):
            called = ast.unparse(part.func) if isinstance(part, ast.Call) else "len"
            if called.split(".")[-1] not in FUNCTIONS:
                return COMPUTED
            if isinstance(part, ast.Name) and part.id not in {*self.values, *FUNCTIONS}:
                return COMPUTED
            if isinstance(part, (ast.Lambda, ast.comprehension, ast.JoinedStr)):
                return COMPUTED
        expression = ast.fix_missing_locations(ast.Expression(node))
        code = compile(expression, "cell", "eval")
        try:
            return eval(code, {"__builtins__": {"float": float, "len": len}}, self.values)
        except (ArithmeticError, LookupError, TypeError, ValueError):
            return COMPUTED

    def numbers(self, node) -> list:
        """The values that a limit may have: two if it is a name with one for a
        condition."""
        found = [self.value(node)]
        if isinstance(node, ast.Name) and node.id in self.others:
            found.append(self.others[node.id])
        return found

    def bind(self, target, value):
        """Note what an assignment gives its target; a tuple is taken apart where it can
        be."""
        pairs = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
        if pairs and len(target.elts) == len(value.elts):
            for one, own in zip(target.elts, value.elts, strict=True):
                self.bind(one, own)
            return
        for name in (n.id for n in ast.walk(target) if isinstance(n, ast.Name)):
            records = self.named(value)
            self.forget(name)
            self.records[name] = records
        if isinstance(target, ast.Name):
            found = self.value(value)
            self.nodes[target.id] = value
            if found is not COMPUTED:
                self.values[target.id] = found

    def forget(self, name):
        for known in (self.values, self.others, self.nodes, self.records):
            known.pop(name, None)

    def visit_Assign(self, node):
        self.visit(node.value)
        for target in node.targets:
            self.bind(target, node.value)

    def visit_AugAssign(self, node):
        self.visit(node.value)
        name = ast.unparse(node.target)
        self.nodes.pop(name, None)
        self.values.pop(name, None)

    def visit_If(self, node):
        before = dict(self.values)
        for line in node.body:
            self.visit(line)
        if_true = self.values
        self.values = before
        for line in node.orelse:
            self.visit(line)
        for name, value in if_true.items():
            if name in self.values and self.values[name] is not value:
                self.others[name] = value

    def visit_For(self, node):
        for item in self.items(node.iter):
            self.bind(node.target, item)
            for line in node.body:
                self.visit(line)

    def items(self, node) -> list:
        """What a loop goes through, one after another; the whole if that is not known."""
        written = node
        if isinstance(node, ast.Name):
            written = self.nodes.get(node.id, node)
        if isinstance(written, (ast.Tuple, ast.List)):
            return written.elts
        found = self.value(node)
        if isinstance(found, (list, tuple)):
            return [ast.Constant(v) for v in found]
        return [node]

    def visit_FunctionDef(self, node):
        self.functions[node.name] = node

    def visit_Call(self, node):
        self.generic_visit(node)
        what = ast.unparse(node.func)
        method = what.split(".")[-1]
        if what in self.functions and any(map(self.named, node.args)):
            self.enter(self.functions[what], node)
        elif method == "append":
            name = ast.unparse(node.func.value)
            self.records[name] = self.records.get(name, frozenset()) | self.named(
                node.args[0]
            )
            self.nodes.pop(name, None)
            self.values.pop(name, None)
        elif method == "confirm":
            tolerance = self.value(node.args[2])
            given = tolerance is not COMPUTED
            low = 1 - tolerance if given else COMPUTED
            high = 1 + tolerance if given else COMPUTED
            self.add(node, node.args[0], low, high)
            self.add(node, node.args[0], None, COMPUTED)  # of the largest |z|
        elif method == "without_errors":
            self.add(node, node.args[0], 0.9, 1.1)
        elif method in {"row", "each", "exact"}:
            for low, high in self.ends(node):
                self.add(node, node.func, low, high)
        elif method == "audited" and self.named(node.func):
            claimed = self.value(node.args[-1])  # after what may be unpacked
            high = COMPUTED if claimed is COMPUTED else claimed * (1 + 1e-9)
            self.add(node, node.func, None, high)

    def enter(self, function, call):
        """Read the body of a function of the notebook with the arguments of a call."""
        kept = [dict(d) for d in (self.values, self.others, self.nodes, self.records)]
        given = [(self.named(a), self.value(a)) for a in call.args]
        for parameter in [*function.args.args, *function.args.kwonlyargs]:
            self.forget(parameter.arg)
        for parameter, (records, value) in zip(function.args.args, given, strict=False):
            self.records[parameter.arg] = records
            if value is not COMPUTED:
                self.values[parameter.arg] = value
        for line in function.body:
            self.visit(line)
        self.values, self.others, self.nodes, self.records = kept

    def add(self, call, receiver, low, high):
        records = self.named(receiver)
        if records:
            self.rules.append(
                Rule(
                    call=ast.unparse(call),
                    records=records,
                    low=low,
                    high=high,
                )
            )

    def ends(self, call) -> list:
        """The pairs (low, high) of a call: several if a name in it has several values."""
        written = {"low": [None], "high": [None]}
        for keyword in call.keywords:
            if keyword.arg in written:
                written[keyword.arg] = self.numbers(keyword.value)
        found = [(low, high) for low in written["low"] for high in written["high"]]
        for keyword in call.keywords:
            if keyword.arg is None:  # a dictionary, one of several perhaps
                given = self.nodes.get(ast.unparse(keyword.value), ast.Constant(None))
                told = [
                    self.entries(d) for d in ast.walk(given) if isinstance(d, ast.Dict)
                ]
                pairs = [(t.get("low"), t.get("high")) for t in told if t]
                found = pairs or found
        return found

    def entries(self, node) -> dict:
        """{"low" or "high": number} of a dictionary as it is written."""
        found = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and key.value in ("low", "high"):
                found[key.value] = self.value(value)
        return found


def rules(cells) -> list[Rule]:
    """The rules of a chapter's code cells (texts, in order)."""
    reader = Reader()
    for text in cells:
        reader.visit(ast.parse(text))
    return reader.rules


def same(written, kept) -> bool:
    """Whether a limit in a cell may be the one that was kept."""
    if written is COMPUTED:
        return kept is not None
    if written is None or kept is None:
        return written is kept
    return math.isclose(written, kept, rel_tol=1e-9, abs_tol=1e-12)


def fits(rule, limits) -> bool:
    """Whether the rule may have given a row these limits (low, high)."""
    return same(rule.low, limits[0]) and same(rule.high, limits[1])
