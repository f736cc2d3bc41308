"""The parameters cell of a chapter: read strictly, and values checked against it.

One parameter per line, `name = default  # purpose; KIND`, where KIND is one of

    integer in [1, 1_000]        float in (0, inf)        one of "bernoulli", "gaussian"
    boolean                      text                     list of KIND

Round brackets exclude a bound, square brackets include it, so infinity is allowed only by
`inf]`. Lists are not empty.  Blank lines and lines that are only a comment are ignored,
but for

    # needs: T >= 2 * K

which refuses sets of values that make no sense together: a rule over the parameters of
the cell, in the grammar of `evidence.claims.rules`, that the defaults obey.
"""

import ast
import math
import re
from typing import Any, NamedTuple

from evidence.claims import rules
from tools.errors import Refusal

NEEDS = re.compile(r"\s*#\s*needs:(.*)")
TYPES = {"boolean": bool, "text": str, "integer": int, "float": float}
NUMBER = r"-?(?:inf|[0-9_.]+(?:e[-+]?[0-9]+)?)"
RANGE = re.compile(
    rf"(integer|float) in ([\[(])\s*({NUMBER})\s*,\s*({NUMBER})\s*([\])])",
    re.IGNORECASE,
)


class Kind(NamedTuple):
    text: str  # as written in the notebook, without "list of"
    base: str  # integer, float, choice, boolean or text
    many: bool = False  # a list of these
    low: float = -math.inf
    high: float = math.inf
    # whether low and high are allowed themselves
    closed: tuple[bool, bool] = (False, False)
    choices: tuple = ()

    def __str__(self):
        return f"list of {self.text}" if self.many else self.text


class Parameter(NamedTuple):
    name: str
    default: Any
    purpose: str
    kind: Kind


def literal(source):
    """The value of a Python literal, or of one that contains `float("inf")`.  Raises
    ValueError."""
    try:
        return ast.literal_eval(
            re.sub(r"float\(['\"]inf['\"]\)", "1e999", source.strip())
        )
    except (SyntaxError, TypeError, ValueError) as error:
        raise ValueError(f"{source!r} is not a literal value") from error


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
    if text.startswith("one of "):
        choices = literal(f"({text.removeprefix('one of ')},)")
        return Kind(text, "choice", choices=choices)
    if match := RANGE.fullmatch(text):
        base, left, low, high, right = match.groups()
        low = float(low)
        high = float(high)
        if not low < high and not (low == high and left + right == "[]"):
            raise ValueError(f"the range of {text!r} is empty")
        return Kind(
            text=text,
            base=base.lower(),
            many=False,
            low=low,
            high=high,
            closed=(left == "[", right == "]"),
        )
    raise ValueError(
        f"{text!r} is no KIND: integer or float in RANGE, one of, boolean, text"
    )


def parse_line(line):
    """The Parameter that one line describes; None for blank and comment lines.

    Raises ValueError if the line does not follow the grammar or its default breaks its
    own rule.
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
    default = literal(ast.unparse(value))
    purpose, _, kind = comment.lstrip("# ").rpartition(";")
    if not purpose.strip():
        raise ValueError("its comment is not `purpose; KIND`")
    parameter = Parameter(
        name=name,
        default=default,
        purpose=purpose.strip(),
        kind=parse_kind(kind),
    )
    return parameter._replace(default=check(parameter, default))


def parse_cell(source, where):
    """({name: parameter} in order, list of rules) of a cell.  Raises Refusal naming the
    line."""
    found = {}
    needed = []
    lines = list(enumerate(source.splitlines(), 1))
    # rules after what they speak of
    lines.sort(key=lambda line: bool(NEEDS.fullmatch(line[1])))
    for number, line in lines:
        try:
            if match := NEEDS.fullmatch(line):
                needed.append(match[1].strip())
                if not rules.holds(needed[-1], {n: p.default for n, p in found.items()}):
                    raise ValueError("the defaults break it")
            elif parameter := parse_line(line):
                if parameter.name in found:
                    raise ValueError(f"{parameter.name} is there twice")
                found[parameter.name] = parameter
        except (ValueError, SyntaxError) as error:
            raise Refusal(
                f"{where}, parameters cell, line {number} ({line!r}): {error}"
            ) from error
    return found, needed


def _scalar(kind, value):
    """`value` as one item of `kind`.  Raises ValueError if it is not."""
    if kind.base == "float" and type(value) is int:
        value = float(value)
    if kind.base == "choice":
        fits = any(type(value) is type(c) and value == c for c in kind.choices)
    else:
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
    try:
        if not kind.many:
            return _scalar(kind, value)
        if not isinstance(value, list) or not value:
            raise ValueError
        return [_scalar(kind, item) for item in value]
    except ValueError:
        raise ValueError(f"{parameter.name} = {value!r} is not: {kind}") from None


def from_text(parameter, text):
    """The value that `text` from the command line means for this parameter.

    Raises ValueError if it means none; quotes around words may be left out.
    """
    words = {"inf": math.inf, "nan": math.nan, "true": True, "false": False}
    if parameter.kind.base == "text" and not parameter.kind.many:
        return text
    try:
        value = words[text.lower()] if text.lower() in words else literal(text)
    except ValueError:
        value = text
    return check(parameter, value)
