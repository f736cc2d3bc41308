"""The parameters of a chapter: what its first code cell says of them, and values checked
against it.

One parameter a line, `name = default  # purpose; KIND`, where KIND is one of

    integer in [1, 1_000]      float in (0, inf)      boolean      text      list of KIND

Round brackets exclude a bound, square brackets include it.  Lists are not empty.  Blank
lines and comments are ignored, but for

    # needs: T >= 2 * K

a rule over several parameters: one comparison (or several, with `and`, `or`, `not`) with
the functions in FUNCTIONS.  It is code that the chapter's reader runs.

`need_given` checks the chapter that imports `evidence.claims`, so that papermill's
parameters are refused in words.
"""

import ast
import difflib
import math
import re
from typing import Any, NamedTuple

FUNCTIONS = {f.__name__: f for f in (abs, len, max, min, set, sorted, sum)}
INJECTED = "# Parameters\n"  # how the cell begins that papermill adds
NEEDS = re.compile(r"\s*#\s*needs:(.*)")
TYPES = {"boolean": bool, "text": str, "integer": int, "float": float}
NUMBER = r"-?(?:inf|[0-9_.]+(?:e[-+]?[0-9]+)?)"
RANGE = re.compile(rf"(integer|float) in ([\[(])\s*({NUMBER})\s*,\s*({NUMBER})\s*([\])])")


class Kind(NamedTuple):
    """What values a parameter may have."""

    text: str  # as written in the notebook, without "list of"
    base: str  # integer, float, boolean or text
    many: bool = False  # a list of these
    low: float = -math.inf
    high: float = math.inf
    # whether low and high are allowed themselves
    closed: tuple[bool, bool] = (False, False)

    def __str__(self):
        return f"list of {self.text}" if self.many else self.text


class Parameter(NamedTuple):
    """One line of the cell."""

    name: str
    default: Any
    purpose: str
    kind: Kind


def parse_kind(text):
    """The Kind that `text` describes.  Raises ValueError if it describes none."""
    text = text.strip()
    if text.startswith("list of "):
        kind = parse_kind(text.removeprefix("list of "))
        if kind.many:
            raise ValueError("a list of lists is not supported")
        return kind._replace(many=True)
    if text in ("boolean", "text"):
        return Kind(text, text)
    match = RANGE.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is no KIND: integer or float in RANGE, boolean, text")
    base, left, low, high, right = match.groups()
    low = float(low)
    high = float(high)
    if not low < high and not (low == high and left + right == "[]"):
        raise ValueError(f"the range of {text!r} is empty")
    closed = (left == "[", right == "]")
    return Kind(text, base, low=low, high=high, closed=closed)


def parse_line(line):
    """The Parameter that one line describes; None for blank and comment lines.

    Raises ValueError if the line does not follow the grammar.
    """
    try:
        match ast.parse(line).body:
            case []:
                return None
            case [ast.Assign(targets=[ast.Name(id=name)], value=value) as said]:
                comment = line.encode()[said.end_col_offset :].decode()
            case _:
                raise ValueError("it is not `name = default  # purpose; KIND`")
    except SyntaxError as error:
        raise ValueError("it is not one complete line of Python") from error
    purpose, _, kind = comment.lstrip("# ").rpartition(";")
    purpose = purpose.strip()
    if not purpose:
        raise ValueError("its comment is not `purpose; KIND`")
    try:
        default = ast.literal_eval(value)
    except ValueError as error:
        raise ValueError(f"{ast.unparse(value)} is not a literal value") from error
    return Parameter(name, default, purpose, parse_kind(kind))


def parse_cell(source):
    """({name: parameter} in order, list of rules) of a cell, whose defaults obey both.

    Raises ValueError naming the line.
    """
    found = {}
    needed = []
    lines = list(enumerate(source.splitlines(), 1))
    # rules after what they speak of
    lines.sort(key=lambda line: bool(NEEDS.fullmatch(line[1])))
    for number, line in lines:
        try:
            if match := NEEDS.fullmatch(line):
                rule = match[1].strip()
                if not holds(rule, {n: p.default for n, p in found.items()}):
                    raise ValueError("the defaults break it")
                needed.append(rule)
            elif parameter := parse_line(line):
                if parameter.name in found:
                    raise ValueError(f"{parameter.name} is there twice")
                default = check(parameter, parameter.default)
                found[parameter.name] = parameter._replace(default=default)
        except (ValueError, SyntaxError) as error:
            raise ValueError(
                f"parameters cell, line {number} ({line!r}): {error}"
            ) from error
    return found, needed


def _scalar(kind, value):
    """`value` as one item of `kind`.  Raises ValueError if it is not."""
    if kind.base == "float" and type(value) is int:
        value = float(value)
    fits = type(value) is TYPES[kind.base]
    if fits and kind.base in ("integer", "float"):
        above = value >= kind.low if kind.closed[0] else value > kind.low
        below = value <= kind.high if kind.closed[1] else value < kind.high
        fits = above and below  # NaN fails both
    if not fits:
        raise ValueError
    return value


def check(parameter, value):
    """`value` if the parameter may have it (whole numbers become floats where a float is
    asked).

    Raises ValueError naming parameter, value and what is allowed.
    """
    kind = parameter.kind
    hint = ""
    if kind.many and not isinstance(value, list):
        hint = f' (papermill takes lists by -y "{parameter.name}: [...]")'
    try:
        if not kind.many:
            return _scalar(kind, value)
        if not isinstance(value, list) or not value:
            raise ValueError
        return [_scalar(kind, item) for item in value]
    except ValueError:
        raise ValueError(f"{parameter.name} = {value!r} is not: {kind}{hint}") from None


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
    """Raise ValueError naming the first rule that values (name -> value) break."""
    for rule in rules:
        if not holds(rule, values):
            said = ", ".join(f"{n} = {values[n]!r}" for n in sorted(names(rule)))
            raise ValueError(f"parameters need {rule}; got {said}")


def need_given(cells, values) -> None:
    """Raise ValueError if a parameter of a chapter, or a rule, does not allow its value.

    cells: texts of the cells that ran so far, with the parameters cell among them;
    values: {name: value} after them, as papermill or a reader set them.
    """
    needed = []
    known = []
    for line in "\n".join(cells).splitlines():
        if match := NEEDS.fullmatch(line):
            needed.append(match[1].strip())
            continue
        try:
            parameter = parse_line(line)
        except ValueError:
            continue  # any other line of a notebook
        if parameter and parameter.name in values:
            known.append(parameter.name)
            check(parameter, values[parameter.name])
    for name in injected(cells):
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            meant = f" (is {close[0]} meant?)" if close else ""
            raise ValueError(
                f"{name} is no parameter of this chapter{meant}; it has {known}"
            )
    need(values, *needed)


def injected(cells) -> dict[str, Any]:
    """{name: value} of the parameters that papermill has set."""
    found = {}
    for cell in cells:
        if cell.startswith(INJECTED):
            for statement in ast.parse(cell).body:
                name = ast.unparse(statement.targets[0])
                found[name] = ast.literal_eval(statement.value)
    return found


def options(values) -> str:
    """The options by which papermill sets these parameters.

    >>> options({"T": 5, "budgets": [1.0, 2.0]})
    '-p T 5 -y "budgets: [1.0, 2.0]"'
    """
    parts = []
    for name, value in values.items():
        if isinstance(value, list):
            parts.append(f'-y "{name}: {value}"')
        else:
            parts.append(f"-p {name} {value}")
    return " ".join(parts)
