"""Rules over several parameters of a chapter, such as `T >= 2 * K`.

A rule is one comparison (or several, with `and`, `or`, `not`) of parameters with the
functions in FUNCTIONS.  The runner reads rules from the parameters cell (`# needs:
RULE`), which is code that it will run; the cell of imports says them again by `need`, for
readers who use papermill alone.
"""

import ast

FUNCTIONS = {f.__name__: f for f in (abs, len, max, min, set, sorted, sum)}


def names(rule) -> set[str]:
    """The parameters that a rule speaks of.  Raises ValueError, or SyntaxError, if it is
    none."""
    tree = ast.parse(rule.strip(), mode="eval").body
    if not isinstance(tree, (ast.Compare, ast.BoolOp, ast.UnaryOp)):
        raise ValueError(f"{rule!r} is no rule: it says nothing that is true or false")
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} - FUNCTIONS.keys()


def holds(rule, values) -> bool:
    """Whether the rule holds for values (name -> value).  Raises ValueError if it cannot
    be read.

    What cannot be computed (a division by zero, an empty list's maximum) does not hold.
    """
    if missing := names(rule) - set(values):
        raise ValueError(
            f"{rule!r} is about {', '.join(sorted(missing))}, which is no parameter"
        )
    try:
        return bool(eval(rule.strip(), {"__builtins__": FUNCTIONS}, dict(values)))
    except (ArithmeticError, TypeError, ValueError):
        return False


def need(values, *rules) -> None:
    """Raise ValueError naming the first rule that values (a chapter's `globals()`) break.

    Called in the cell of imports with the rules of the parameters cell, word for word.
    """
    for rule in rules:
        if not holds(rule, values):
            said = ", ".join(f"{n} = {values[n]!r}" for n in sorted(names(rule)))
            raise ValueError(f"parameters need {rule}; got {said}")
