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
import math
import re
from typing import Any, NamedTuple

FUNCTIONS = {f.__name__: f for f in (abs, len, max, min, set, sorted, sum)}
INJECTED = "# Parameters\n"  # how the cell begins that papermill adds
NEEDS = re.compile(r"^# *needs: *(.*\S)", re.MULTILINE)
TYPES = {"boolean": bool, "text": str, "integer": int, "float": float}
NUMBER = r"\s*(-?(?:inf|[0-9_.]+(?:e[-+]?[0-9]+)?))\s*"
RANGE = rf"([\[(]){NUMBER},{NUMBER}([\])])"
KIND = rf"(list of )?(?:(boolean|text)|(integer|float) in {RANGE})"
LINE = re.compile(rf"(\w+) = (.+)  # .+; ({KIND})")


class Parameter(NamedTuple):
    """One line of the cell."""

    name: str
    default: Any
    kind: str  # as written in the notebook
    base: str  # integer, float, boolean or text
    many: bool  # a list of these
    low: float = -math.inf
    high: float = math.inf


def parse_line(line):
    """The Parameter that one line describes.

    Raises ValueError if the line does not follow the grammar, or its own default.
    """
    match = LINE.fullmatch(line)
    if not match:
        raise ValueError(
            "it is not `name = default  # purpose; KIND`, where KIND is integer or float "
            "in RANGE, boolean, text, or a list of one of them"
        )
    name, value, kind, many, word, number, left, low, high, right = match.groups()
    try:
        default = ast.literal_eval(value)
    except (ValueError, SyntaxError) as error:
        raise ValueError(f"{value} is not a literal value") from error
    parameter = Parameter(name, default, kind, word or number, bool(many))
    if number:
        low = float(low)
        high = float(high)
        if left == "(":
            low = math.nextafter(low, math.inf)
        if right == ")":
            high = math.nextafter(high, -math.inf)
        parameter = parameter._replace(low=low, high=high)
    return parameter._replace(default=check(parameter, default))


def parse_cell(source):
    """({name: parameter} in order, list of rules) of a cell, whose defaults obey both.

    Raises ValueError naming the line, or the rule.
    """
    found = {}
    needed = NEEDS.findall(source)
    for number, line in enumerate(source.splitlines(), 1):
        if line and not line.startswith("#"):
            try:
                parameter = parse_line(line)
            except ValueError as error:
                raise ValueError(
                    f"parameters cell, line {number} ({line!r}): {error}"
                ) from error
            found[parameter.name] = parameter
    need({name: parameter.default for name, parameter in found.items()}, *needed)
    return found, needed


def check(parameter, value):
    """`value` if the parameter may have it (whole numbers become floats where a float is
    asked).

    Raises ValueError naming parameter, value and what is allowed.
    """
    name = parameter.name
    hint = ""
    items = value if parameter.many else [value]
    if not isinstance(items, list):
        items = []
        hint = f' (papermill takes lists by -y "{name}: [...]")'
    if parameter.base == "float":
        items = [float(v) if type(v) is int else v for v in items]
    kind = TYPES[parameter.base]
    fit = [  # NaN is in no range
        type(v) is kind and (kind is str or parameter.low <= v <= parameter.high)
        for v in items
    ]
    if not items or not all(fit):
        raise ValueError(f"{name} = {value!r} is not: {parameter.kind}{hint}")
    return items if parameter.many else items[0]


def names(rule) -> set[str]:
    """The parameters that a rule speaks of."""
    return set(compile(rule, "rule", "eval").co_names) - FUNCTIONS.keys()


def holds(rule, values) -> bool:
    """Whether the rule holds for values (name -> value).

    What cannot be computed (a division by zero, an empty list's maximum) does not hold.
    Raises NameError if it is about what is no parameter, SyntaxError if it is no
    expression.
    """
    try:
        return bool(eval(rule, {"__builtins__": FUNCTIONS}, dict(values)))
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

    cells: texts of the cells that ran so far, of which the last one that begins with a
    parameter is the parameters cell; values: {name: value} after them, as papermill or a
    reader set them.
    """
    chapters = [cell for cell in cells if LINE.match(cell)]
    if not chapters:
        return  # this is no chapter
    known, needed = parse_cell(chapters[-1])
    for name, parameter in known.items():
        check(parameter, values[name])
    for name in injected(cells):
        if name not in known:
            raise ValueError(
                f"{name} is no parameter of this chapter; it has {list(known)}"
            )
    need(values, *needed)


def injected(cells) -> dict[str, Any]:
    """{name: value} of the parameters that papermill has set."""
    found = {}
    for cell in cells:
        if cell.startswith(INJECTED):
            exec(cell, {}, found)  # `name = value` a line
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
