"""From a table to contexts: named columns, public bounds, arms by their labels.

Bounds and categories come from public knowledge, never from the data: the smallest and largest
value of a column are values of two people, and a map made from them would give these two away.
Values beyond a bound are moved to it.  Missing values are refused: fill them by a public value
first, as pandas' `fillna` does, a category's by a level such as "unknown".

For research simulation: read the warning in `companion.live` before you feed anybody's data.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from companion.validate import (
    is_number,
    need_array,
    need_choice,
    need_float,
    need_int,
    need_members,
    need_module,
    shown,
)

FORMS = ("blocks", "shared")


class Column(NamedTuple):
    """One column of a table: a number with public bounds, or a category with public levels."""

    low: float
    high: float
    levels: tuple

    def coordinates(self, name, values) -> np.ndarray:
        """(n, 1): numbers from [low, high] to [-1, 1]; or (n, levels): a level to 1 in a place of
        its own.  ValueError, which names the column, on anything else."""
        if not self.levels:
            v = need_array(f"column {name!r}", values, ("n",))
            middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
            return np.clip((v - middle) / half, -1.0, 1.0)[:, None]
        places = need_module("pandas", "data").Index(self.levels).get_indexer(values)
        if places.min() < 0:
            wrong = values[places.argmin()]
            raise ValueError(f"column {name!r} must hold one of {self.levels}; got {shown(wrong)}")
        return np.eye(len(self.levels))[places]


def bounds(low: float, high: float) -> Column:
    """Public bounds of a column of numbers, low < high, both finite."""
    low, high = need_float("low", low), need_float("high", high)
    if not low < high:
        raise ValueError(f"low must be below high; got {low=}, {high=}")
    return Column(low, high, ())


def levels(*labels) -> Column:
    """The public levels of a column of categories: two or more different texts or numbers."""
    return Column(0.0, 1.0, _labels("levels", labels))


class Contexts(NamedTuple):
    """The map from rows of a table to contexts (K, d); made by `contexts_of`."""

    columns: dict
    arms: tuple
    form: str
    reward: Column | None

    @property
    def K(self) -> int:
        """Number of arms."""
        return len(self.arms)

    @property
    def d(self) -> int:
        """Dimension of a context."""
        width = 1 + sum(len(c.levels) or 1 for c in self.columns.values())
        return width * (self.K if self.form == "blocks" else 1)

    def context(self, row) -> np.ndarray:
        """The context (K, d) of one row: a dictionary, or a row of a data frame, by column."""
        return self.contexts(need_module("pandas", "data").DataFrame([row]))[0]

    def contexts(self, table) -> np.ndarray:
        """Contexts (n, K, d) of a data frame, or of the CSV file at this path."""
        pd = need_module("pandas", "data")
        if isinstance(table, (str, bytes)) or hasattr(table, "__fspath__"):
            table = pd.read_csv(table)
        if not isinstance(table, pd.DataFrame):
            raise ValueError(f"table must be a data frame or a path; got {shown(table)}")
        for name in self.columns:
            if name not in table:
                raise ValueError(f"the table must have the column {name!r}; got {shown(table)}")
        parts = [c.coordinates(name, table[name].tolist()) for name, c in self.columns.items()]
        # every column, and the constant, adds at most 1 to the squared length of a row
        z = np.column_stack([*parts, np.ones(len(table))]) / np.sqrt(len(parts) + 1)
        if self.form == "shared":
            return np.repeat(z[:, None], self.K, axis=1)
        X = np.zeros((len(z), self.K, self.d))
        for k in range(self.K):
            X[:, k, k * z.shape[1] : (k + 1) * z.shape[1]] = z
        return X

    def number(self, label) -> int:
        """The arm, 0..K-1, with this label."""
        if label not in self.arms:
            raise ValueError(f"label must be one of {self.arms}; got {shown(label)}")
        return self.arms.index(label)

    def label(self, arm: int):
        """The label of an arm, 0..K-1."""
        return self.arms[need_int("arm", arm, 0, self.K - 1)]

    def scaled(self, reward: float) -> float:
        """A reward, moved from its public bounds to [0, 1]."""
        if self.reward is None:
            raise ValueError("reward must have public bounds; give them to contexts_of")
        return float((1.0 + self.reward.coordinates("reward", [reward])[0, 0]) / 2)


def contexts_of(
    columns: dict, *, arms, form: str = "blocks", reward: Column | None = None
) -> Contexts:
    """A `Contexts`: which columns of a table become contexts of norm at most 1, and how.

    Parameters
    ----------
    columns : {name: `bounds(low, high)` or `levels(...)`}, public, never taken from the data; a
        constant entry stands behind them
    arms : labels of two or more arms, in order
    form : "blocks": one row for all arms, and a model per arm (d is K times as large);
        "shared": the row is repeated, for policies that take one context
    reward : `bounds`, for `Contexts.scaled`

    Raises ValueError on anything else.

    >>> ages = contexts_of({"age": bounds(0, 100)}, arms=("tea", "coffee"))
    >>> ages.context({"age": 75}).round(3).tolist()
    [[0.354, 0.707, 0.0, 0.0], [0.0, 0.0, 0.354, 0.707]]
    """
    if not isinstance(columns, dict) or not columns:
        raise ValueError(f"columns must be a dictionary of named columns; got {shown(columns)}")
    for name, column in (columns | ({} if reward is None else {"reward": reward})).items():
        if not isinstance(column, Column):
            raise ValueError(
                f"{name!r} must have public bounds(low, high) or levels(...): taken from the data "
                f"they would give its extreme people away; got {shown(column)}"
            )
    need_choice("form", form, FORMS)
    return Contexts(dict(columns), _labels("arms", need_members("arms", arms)), form, reward)


def _labels(name, labels):
    """Two or more different texts or numbers."""
    good = all(isinstance(v, (str, bool)) or (is_number(v) and v == v) for v in labels)
    if not good or len(set(map(str, labels))) < max(2, len(labels)):
        raise ValueError(
            f"{name} must be two or more different texts or numbers; got {shown(labels)}"
        )
    return tuple(labels)
