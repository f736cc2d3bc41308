"""Rules over several parameters of a chapter: read as data, never executed.

A rule is one expression of Python about parameters, such as `T >= 2 * K` or
`horizons == sorted(set(horizons))`: names, literals, comparisons, `and`, `or`, `not`, `in`,
+ - * / // %, and the functions in FUNCTIONS.  The runner reads rules from the parameters cell
(`# needs: RULE`); the chapter says them again by `need`, for readers who use papermill alone.
"""

import ast
import operator

FUNCTIONS = {f.__name__: f for f in (abs, len, max, min, set, sorted, sum)}
OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
    ast.Not: operator.not_, ast.USub: operator.neg,
}  # fmt: skip


def parse(rule):
    """The syntax tree of a rule.  Raises ValueError if it is none."""
    try:
        tree = ast.parse(rule.strip(), mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"{rule!r} is no rule: {error.msg}") from error
    if not isinstance(tree, ast.Compare | ast.BoolOp | ast.UnaryOp):
        raise ValueError(f"{rule!r} is no rule: it says nothing that is true or false")
    names(rule, tree)
    return tree


def names(rule, tree):
    """The parameters that a rule speaks of.  Raises ValueError if it says more than it may."""
    found, called = set(), set()
    for node in ast.walk(tree):
        match node:
            case ast.Name():
                found.add(node.id)
            case ast.Call(func=ast.Name(id=name), keywords=[]) if name in FUNCTIONS:
                called.add(name)
            case ast.Constant(value=bool() | int() | float() | str()) | ast.List() | ast.Tuple():
                pass
            case ast.Compare() | ast.BoolOp() | ast.BinOp() | ast.UnaryOp():
                pass
            case ast.And() | ast.Or() | ast.Load():
                pass
            case _ if type(node) not in OPERATORS:
                raise ValueError(f"{rule!r} is no rule: it may not contain {ast.unparse(node)}")
    return found - called


def holds(rule, values):
    """Whether the rule holds for values (name -> value).  Raises ValueError if it cannot be read.

    What cannot be computed (a division by zero, an empty list's maximum) does not hold.
    """
    tree = parse(rule)
    if missing := names(rule, tree) - set(values):
        raise ValueError(f"{rule!r} is about {', '.join(sorted(missing))}, which is no parameter")
    try:
        return bool(_value(tree, values))
    except (ArithmeticError, TypeError, ValueError):
        return False


def _value(node, values):
    match node:
        case ast.Name(id=name):
            return values[name]
        case ast.Constant(value=value):
            return value
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item, values) for item in items]
        case ast.Call(func=ast.Name(id=name), args=args):
            return FUNCTIONS[name](*[_value(arg, values) for arg in args])
        case ast.UnaryOp(op=op, operand=operand):
            return OPERATORS[type(op)](_value(operand, values))
        case ast.BinOp(left=left, op=op, right=right):
            return OPERATORS[type(op)](_value(left, values), _value(right, values))
        case ast.BoolOp(op=op, values=parts):
            every = all if isinstance(op, ast.And) else any
            return every(_value(part, values) for part in parts)
        case ast.Compare(left=left, ops=ops, comparators=rights):
            sides = [left, *rights]
            return all(
                OPERATORS[type(op)](_value(a, values), _value(b, values))
                for op, a, b in zip(ops, sides, rights, strict=False)
            )
    raise ValueError(f"{ast.unparse(node)} has no value")


def need(values, *rules):
    """Raise ValueError naming the first rule that values (a chapter's `globals()`) break.

    Called in the cell of imports with the rules of the parameters cell, word for word.
    """
    for rule in rules:
        if not holds(rule, values):
            said = ", ".join(f"{n} = {values[n]!r}" for n in sorted(names(rule, parse(rule))))
            raise ValueError(f"parameters need {rule}; got {said}")
