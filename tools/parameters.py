"""The parameters cell of a chapter: read strictly, and values checked against it.

One parameter per line, `name = default  # purpose; KIND`, where KIND is one of

    integer in [1, 1_000]        float in (0, inf)        one of "bernoulli", "gaussian"
    boolean                      text                     list of KIND

Round brackets exclude a bound, square brackets include it, so infinity is allowed only by `inf]`.
Lists are not empty.  Blank lines and lines that are only a comment are ignored, but for

    # needs: T >= 2 * K

which refuses sets of values that make no sense together: a rule over the parameters of the cell, in
the grammar of `companion.report.rules`, that the defaults obey.
"""

import ast
import io
import math
import re
import tokenize
from typing import Any, NamedTuple

from companion.report import rules
from tools.errors import Refusal

NEEDS = re.compile(r"\s*#\s*needs:(.*)")
NUMBER = r"-?(?:inf|[0-9_.]+(?:e[-+]?[0-9]+)?)"
RANGE = re.compile(
    rf"(integer|float) in ([\[(])\s*({NUMBER})\s*,\s*({NUMBER})\s*([\])])", re.IGNORECASE
)


class Kind(NamedTuple):
    text: str  # as written in the notebook, without "list of"
    base: str  # integer, float, choice, boolean or text
    many: bool = False  # a list of these
    low: float = -math.inf
    high: float = math.inf
    closed: tuple[bool, bool] = (False, False)  # whether low and high are allowed themselves
    choices: tuple = ()

    def __str__(self):
        return f"list of {self.text}" if self.many else self.text


class Parameter(NamedTuple):
    name: str
    default: Any
    purpose: str
    kind: Kind


class _Infinity(ast.NodeTransformer):
    """Lets `float("inf")`, which is no literal, stand where a literal is expected."""

    def visit_Call(self, node):
        return ast.Constant(math.inf) if ast.unparse(node) == "float('inf')" else node


def literal(source):
    """The value of a Python literal, or of one that contains `float("inf")`.  Raises ValueError."""
    try:
        return ast.literal_eval(_Infinity().visit(ast.parse(source.strip(), mode="eval")))
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
        low, high = float(low), float(high)
        if not low < high and not (low == high and left + right == "[]"):
            raise ValueError(f"the range of {text!r} is empty")
        return Kind(text, base.lower(), False, low, high, (left == "[", right == "]"))
    raise ValueError(f"{text!r} is no KIND: integer or float in RANGE, one of, boolean, text")


def parse_line(line):
    """The Parameter that one line describes; None for blank and comment lines.

    Raises ValueError if the line does not follow the grammar or its default breaks its own rule.
    """
    if not line.strip() or line.lstrip().startswith("#"):
        return None
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(line).readline))
        statements = ast.parse(line).body
    except (SyntaxError, tokenize.TokenError) as error:
        raise ValueError(
            "it is not one complete line of Python (the formatter breaks lines over 100 columns)"
        ) from error
    comments = [t.string for t in tokens if t.type == tokenize.COMMENT]
    match statements:
        case [ast.Assign(targets=[ast.Name(id=name)], value=value)] if comments:
            default = literal(ast.unparse(value))
        case _:
            raise ValueError("it is not `name = default  # purpose; KIND`")
    purpose, _, kind = comments[0].lstrip("# ").rpartition(";")
    if not purpose.strip():
        raise ValueError("its comment is not `purpose; KIND`")
    parameter = Parameter(name, default, purpose.strip(), parse_kind(kind))
    return parameter._replace(default=check(parameter, default))


def parse_cell(source, where):
    """All parameters of a cell, by name and in order.  Raises Refusal naming the line."""
    found = {}
    for number, line in enumerate(source.splitlines(), 1):
        try:
            parameter = parse_line(line)
            if parameter and parameter.name in found:
                raise ValueError(f"{parameter.name} is there twice")
        except ValueError as error:
            raise Refusal(f"{where}, parameters cell, line {number} ({line!r}): {error}") from error
        if parameter:
            found[parameter.name] = parameter
    return found


def parse_rules(source, parameters, where):
    """The rules of a cell, in order.  Raises Refusal naming a line that is none or that the
    defaults break.
    """
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    found = []
    for number, line in enumerate(source.splitlines(), 1):
        if match := NEEDS.fullmatch(line):
            rule = match[1].strip()
            try:
                if not rules.holds(rule, defaults):
                    raise ValueError("the defaults break it")
            except ValueError as error:
                raise Refusal(
                    f"{where}, parameters cell, line {number} ({line!r}): {error}"
                ) from error
            found.append(rule)
    return found


def _scalar(kind, value):
    """`value` as one item of `kind`.  Raises ValueError if it is not."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match kind.base:
        case "boolean":
            fits = isinstance(value, bool)
        case "text":
            fits = isinstance(value, str)
        case "choice":
            fits = any(type(value) is type(c) and value == c for c in kind.choices)
        case "integer":
            fits = is_number and isinstance(value, int)
        case _:
            fits, value = is_number, float(value) if is_number else value
    if fits and kind.base in ("integer", "float"):
        above = value >= kind.low if kind.closed[0] else value > kind.low
        below = value <= kind.high if kind.closed[1] else value < kind.high
        fits = above and below  # NaN fails both
    if not fits:
        raise ValueError
    return value


def check(parameter, value):
    """`value` if the parameter may have it (whole numbers become floats where a float is asked).

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
