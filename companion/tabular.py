"""From a table to contexts: named columns, public bounds, arms by their labels.

Bounds and categories come from public knowledge, never from the data: the smallest and largest
value of a column are values of two people, and a map made from them would give these two away.
Values beyond a bound are moved to it.

For research simulation: read the warning in `companion.live` before you feed anybody's data.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from companion.validate import is_number, need_choice, need_float, need_int, need_module, shown

FORMS = ("blocks", "shared", "rows")
UNIVERSES = ("ball", "offset_sphere", "cube")
ARM = "{arm}"  # stands for the label of an arm in the name of a column
MISSING = "(missing)"  # the level of missing values, if a column has one


class Column(NamedTuple):
    """One column of a table: a number with public bounds, or a category with public levels."""

    name: str
    low: float
    high: float
    levels: tuple
    missing: float | None  # the number that stands for a missing value

    @property
    def size(self) -> int:
        """Coordinates of a context that the column fills."""
        return len(self.levels) or 1

    def coordinates(self, values) -> np.ndarray:
        """(n, size): numbers from [low, high] to [-1, 1], a level to 1 in a place of its own."""
        if self.levels:
            at = [self._level(v) for v in values]
            return np.eye(len(self.levels))[at]
        v = np.array([self._number(x) for x in values])
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        return np.clip((v - middle) / half, -1.0, 1.0)[:, None]

    def _level(self, value):
        value = MISSING if _is_missing(value) else value
        if value in self.levels:
            return self.levels.index(value)
        hint = "; give levels(..., missing=True)" if value == MISSING else ""
        raise ValueError(
            f"column {self.name!r} must hold one of {self.levels}; got {shown(value)}{hint}"
        )

    def _number(self, value):
        if not _is_missing(value):
            return need_float(f"column {self.name!r}", value)
        if self.missing is None:
            raise ValueError(
                f"column {self.name!r} must be a number; got a missing value; give "
                "bounds(low, high, missing=number)"
            )
        return self.missing


def bounds(low: float, high: float, *, missing: float | None = None) -> Column:
    """Public bounds of a column of numbers, low < high, both finite.

    missing: a public number in [low, high] that stands for missing values (None: they are refused).
    """
    low, high = need_float("low", low), need_float("high", high)
    if not low < high:
        raise ValueError(f"low must be below high; got {low=}, {high=}")
    missing = None if missing is None else need_float("missing", missing, low, high)
    return Column("", low, high, (), missing)


def levels(*labels, missing: bool = False) -> Column:
    """The public levels of a column of categories: two or more different texts or numbers.

    missing: whether missing values have a level of their own (else they are refused).
    """
    for label in labels:
        if not _is_label(label):
            raise ValueError(f"levels must be texts or numbers; got {shown(label)}")
    labels += (MISSING,) if missing else ()
    if len(set(labels)) < max(2, len(labels)):
        raise ValueError(f"levels must be at least two different ones; got {labels}")
    return Column("", 0.0, 1.0, labels, None)


class Contexts(NamedTuple):
    """The map from rows of a table to contexts (K, d); made by `contexts_of`."""

    columns: tuple
    arms: tuple
    form: str
    universe: str
    intercept: bool
    reward: Column | None

    @property
    def K(self) -> int:
        """Number of arms."""
        return len(self.arms)

    @property
    def d(self) -> int:
        """Dimension of a context."""
        return self._width * (self.K if self.form == "blocks" else 1)

    @property
    def _width(self):
        return sum(c.size for c in self.columns) + self.intercept

    def context(self, row) -> np.ndarray:
        """The context (K, d) of one row: a dictionary, or a row of a data frame, by column."""
        return self._of(lambda name: [_value(row, name)])[0]

    def contexts(self, table) -> np.ndarray:
        """Contexts (n, K, d) of a data frame, or of the CSV file at this path."""
        frame = _frame(table)
        return self._of(lambda name: [_plain(v) for v in _value(frame, name)])

    def beyond(self, table) -> dict[str, int]:
        """{column: rows whose value lay beyond the public bounds}; exact counts, so private."""
        frame, found = _frame(table), {}
        for c in self.columns:
            for name in [] if c.levels else self._names(c):
                v = np.array([c._number(_plain(x)) for x in _value(frame, name)])
                found[name] = int(((v < c.low) | (v > c.high)).sum())
        return found

    def number(self, label) -> int:
        """The arm, 0..K-1, with this label."""
        return self.arms.index(need_choice("label", _plain(label), self.arms))

    def label(self, arm: int):
        """The label of an arm, 0..K-1."""
        return self.arms[need_int("arm", arm, 0, self.K - 1)]

    def scaled(self, reward: float) -> float:
        """A reward, moved from its public bounds to [0, 1]."""
        if self.reward is None:
            raise ValueError("reward must have public bounds; give them to contexts_of")
        return float((1.0 + self.reward.coordinates([reward])[0, 0]) / 2)

    def _names(self, column):
        arms = self.arms if ARM in column.name else self.arms[:1]
        return [column.name.replace(ARM, str(a)) for a in arms]

    def _of(self, values):
        arms = self.arms if self.form == "rows" else self.arms[:1]
        z = np.stack([self._rows(values, arm) for arm in arms], axis=1)  # (n, 1 or K, width)
        n, K, w = len(z), self.K, self._width
        if self.form != "blocks":
            return np.ascontiguousarray(np.broadcast_to(z, (n, K, w)))
        X = np.zeros((n, K, K * w))
        for k in range(K):
            X[:, k, k * w : (k + 1) * w] = z[:, 0]
        return X

    def _rows(self, values, arm):
        parts = [c.coordinates(values(c.name.replace(ARM, str(arm)))) for c in self.columns]
        # every column adds at most 1 to the squared length of a row
        longest, last = math.sqrt(len(self.columns) + self.intercept), 1.0
        if self.universe == "offset_sphere":
            longest, last = math.sqrt(2.0 * len(self.columns)), math.sqrt(0.5)
        elif self.universe == "cube":
            longest = 1.0
        else:
            last = 1.0 / longest
        z = np.concatenate(parts, axis=1) / longest
        return np.column_stack([z, np.full(len(z), last)]) if self.intercept else z


def contexts_of(
    columns: dict,
    *,
    arms,
    form: str = "blocks",
    universe: str = "ball",
    intercept: bool = True,
    reward: Column | None = None,
) -> Contexts:
    """A `Contexts`: which columns of a table become contexts, and how.

    Parameters
    ----------
    columns : {name: `bounds(low, high)` or `levels(...)`}, public, never taken from the data
    arms : labels of two or more arms, in order
    form : "blocks": one row for all arms, and a model per arm (d is K times as large);
        "shared": the row is repeated, for policies that take one context; "rows": a row per arm,
        from columns whose names hold {arm}, which its label replaces
    universe : where contexts lie: "ball" (norm at most 1), "offset_sphere" (last entry 1/sqrt2,
        norm of the others at most that; not with blocks), "cube" (entries in [-1, 1])
    intercept : whether there is a constant entry
    reward : `bounds`, for `Contexts.scaled`

    Raises ValueError on anything else.

    >>> ages = contexts_of({"age": bounds(0, 100)}, arms=("tea", "coffee"))
    >>> ages.context({"age": 75}).round(3).tolist()
    [[0.354, 0.707, 0.0, 0.0], [0.0, 0.0, 0.354, 0.707]]
    """
    if not isinstance(columns, dict) or not columns:
        raise ValueError(f"columns must be a dictionary of named columns; got {shown(columns)}")
    found = tuple(_named(name, column) for name, column in columns.items())
    if isinstance(arms, str) or not np.iterable(arms):
        raise ValueError(f"arms must be a sequence of labels; got {shown(arms)}")
    arms = tuple(_plain(a) for a in arms)
    if not all(map(_is_label, arms)) or len(set(map(str, arms))) < max(2, len(arms)):
        raise ValueError(
            f"arms must be two or more different labels, texts or numbers; got {shown(arms)}"
        )
    need_choice("form", form, FORMS)
    need_choice("universe", universe, UNIVERSES)
    need_choice("intercept", intercept, (True, False))
    if universe == "offset_sphere" and (form == "blocks" or not intercept):
        raise ValueError('universe="offset_sphere" must go with an intercept and without blocks')
    if any(ARM in c.name for c in found) != (form == "rows"):
        raise ValueError(
            f'form must be "rows" if and only if columns are named with {ARM}; got {form!r}'
        )
    reward = None if reward is None else _named("reward", reward, "reward")
    return Contexts(found, arms, form, universe, intercept, reward)


def _named(name, column, argument="columns"):
    if not isinstance(column, Column):
        raise ValueError(
            f"{argument}: {name!r} must have public bounds(low, high) or levels(...): taken from "
            f"the data they would give its extreme people away; got {shown(column)}"
        )
    return column._replace(name=str(name))


def _is_label(value):
    return isinstance(value, (str, bool)) or (is_number(value) and value == value)


def _is_missing(value):
    """None, NaN of any kind, or pandas' NA."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def _plain(value):
    """A NumPy scalar as Python's, so that labels and levels compare and go into JSON."""
    return value.item() if isinstance(value, np.generic) else value


def _value(table, name):
    """One entry or column by name; ValueError, not KeyError, if there is none."""
    try:
        return _plain(table[name])
    except (KeyError, TypeError, IndexError):
        raise ValueError(f"the table must have the column {name!r}; got {shown(table)}") from None


def _frame(table):
    pd = need_module("pandas", "data")
    if isinstance(table, pd.DataFrame):
        return table
    if isinstance(table, (str, bytes)) or hasattr(table, "__fspath__"):
        return pd.read_csv(table)
    raise ValueError(f"table must be a data frame or the path of a CSV file; got {shown(table)}")
