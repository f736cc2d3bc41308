"""From a table to contexts: named columns, public bounds, arms by their labels.

Bounds and categories come from public knowledge, never from the data: the smallest and
largest value of a column are values of two people, and a map made from them would give
these two away. Values beyond a bound are moved to it.  Missing values are refused: fill
them by a public value first, as pandas' `fillna` does, a category's by a level such as
"unknown".

For research simulation: read the warning in `companion.live` before you feed anybody's
data.
"""

import csv
import io
import os
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from companion import validate
from companion.validate import shown

FORMS = ("blocks", "shared", "rows")
ARM = "{arm}"  # stands for an arm's label in the name of a column
# universe: m columns, of squared length 1 at most -> factor, constant behind them
SIZES = {
    "ball": lambda m: ((m + 1) ** -0.5, (m + 1) ** -0.5),
    "offset_sphere": lambda m: ((2 * m) ** -0.5, 0.5**0.5),
    "cube": lambda m: (1.0, 1.0),
}


class Column(NamedTuple):
    """One column of a table: a number with public bounds, or a category with public
    levels."""

    low: float
    high: float
    levels: tuple

    def coordinates(self, name, values) -> np.ndarray:
        """(n, 1): numbers from [low, high] to [-1, 1]; or (n, levels): a level to 1 in a
        place of its own.  ValueError, which names the column and the row (from 0), on
        anything else.

        `Text` values, entries of a file, are numbers or levels if they are written so.
        """
        if self.levels:
            return np.eye(len(self.levels))[self._places(name, values)]
        numbers = np.empty(len(values))
        for i in range(len(values)):
            numbers[i] = _number(values[i])
            if not np.isfinite(numbers[i]):
                raise ValueError(
                    f"column {name!r} must hold finite numbers (fill missing values by "
                    f"a public one first); row {i} has {shown(values[i])}"
                )
        middle = (self.low + self.high) / 2
        half = (self.high - self.low) / 2
        return np.clip((numbers - middle) / half, -1.0, 1.0)[:, None]

    def _places(self, name, values):
        """The place among the levels of every value."""
        places = []
        for i in range(len(values)):
            place = _place(self.levels, values[i])
            if place is None:
                raise ValueError(
                    f"column {name!r} (fill missing values by a public one first) must "
                    f"be in {self.levels}; row {i} has {shown(values[i])}"
                )
            places.append(place)
        return np.array(places, dtype=np.int64)


class Text(str):
    """An entry of a file: it may stand for a number or a truth value."""


def _number(value) -> float:
    """The value as a float; NaN if it is no number.  Truth values are 0 and 1."""
    if isinstance(value, (bool, np.bool_)):
        return float(value)
    written = isinstance(value, Text) and "_" not in value  # Python reads 1_000
    if not (written or validate.is_number(value)):
        return np.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return np.nan


def _place(levels, value):
    """The place of the level that equals the value, or None.

    No text stands for a missing value: "NA" is the level "NA".  `Text` equals a level
    that is a number or a truth value, too, if it is written as one.
    """
    for place in range(len(levels)):
        level = levels[place]
        if isinstance(level, str):
            same = isinstance(value, str) and str(value) == level
        elif isinstance(level, bool) and isinstance(value, Text):
            same = value.lower() == str(level).lower()
        elif isinstance(level, bool):
            same = isinstance(value, (bool, np.bool_)) and bool(value) == level
        elif isinstance(value, (bool, np.bool_)):
            same = False
        else:
            same = _number(value) == level
        if same:
            return place
    return None


def read_table(path):
    """The CSV file at this path as a data frame of `Text`, one entry in every column of
    every row.

    The first line names the columns, each once.  Nothing is guessed: UTF-8, commas,
    quotes as in RFC 4180; every line has as many entries as the first; blank lines may
    only end the file.  Raises ValueError, which names the file, the line and the row or
    column, on anything else.
    """
    pd = validate.need_module("pandas", "data")
    content = Path(path).read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} must be text in UTF-8; byte {error.start} is not: save it as CSV "
            "in UTF-8"
        ) from None
    if "\0" in text:
        raise ValueError(
            f"{path} must be text in UTF-8; it has NUL at place {text.index(chr(0))}"
        )
    lines = _lines(path, text)
    if not lines or not lines[0][1]:
        raise ValueError(f"{path} must begin with a line of names; it is empty")
    names = lines[0][1]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                f"{path}: the column {name!r} stands more than once in line 1"
            )
    if len(lines) == 1:
        raise ValueError(f"{path} must have a row below its names; it has none")
    rows = []
    for number, entries in lines[1:]:
        if len(entries) != len(names):
            raise ValueError(
                f"{path}, line {number} (row {len(rows)}) has {len(entries)} entries for "
                f"{len(names)} columns: {shown(entries)}"
            )
        rows.append([Text(entry) for entry in entries])
    return pd.DataFrame(rows, columns=names, dtype=object)


def _lines(path, text):
    """[(number of the line, its entries)] of a CSV text, without the blank lines at its
    end."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    lines = []
    begins = 1
    try:
        for entries in reader:
            lines.append((begins, entries))
            begins = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(
            f"{path}, line {begins} is no line of a CSV file: {error}"
        ) from None
    while lines and not lines[-1][1]:
        lines.pop()
    return lines


def bounds(low: float, high: float) -> Column:
    """Public bounds of a column of numbers, low < high, both finite."""
    low = validate.need_float("low", low)
    high = validate.need_float("high", high)
    if not (high - low) / 2 > 0.0:
        raise ValueError(f"low must be below high; got {low=}, {high=}")
    return Column(low, high, ())


def levels(*labels) -> Column:
    """The public levels of a column of categories: two or more different texts or
    numbers."""
    return Column(0.0, 1.0, _labels("levels", labels))


class Contexts(NamedTuple):
    """The map from rows of a table to contexts (K, d); made by `contexts_of`."""

    columns: dict
    arms: tuple
    form: str
    universe: str
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
        """The context (K, d) of one row: a dictionary, or a row of a data frame, by
        column."""
        return self.contexts(validate.need_module("pandas", "data").DataFrame([row]))[0]

    def contexts(self, table) -> np.ndarray:
        """Contexts (n, K, d) of a data frame, or of the CSV file (`read_table`) at this
        path."""
        pd = validate.need_module("pandas", "data")
        if isinstance(table, (str, os.PathLike)):
            table = read_table(table)
        if not isinstance(table, pd.DataFrame):
            raise ValueError(f"table must be a data frame or a path; got {shown(table)}")
        if len(table) == 0:
            raise ValueError("table must have at least one row; got none")
        if self.form == "rows":
            return np.stack([self._rows(table, str(arm)) for arm in self.arms], axis=1)
        z = self._rows(table, ARM)
        return (
            np.repeat(z[:, None], self.K, 1)
            if self.form == "shared"
            else in_blocks(z, self.K)
        )

    def _rows(self, table, arm):
        """Columns and the constant (n, width), with this arm's label where a name holds
        {arm}."""
        parts = []
        for name, column in self.columns.items():
            name = name.replace(ARM, arm) if isinstance(name, str) else name
            if list(table.columns).count(name) != 1:
                raise ValueError(
                    f"the table must have one column {name!r}; got {shown([*table])}"
                )
            parts.append(column.coordinates(name, table[name].tolist()))
        factor, last = SIZES[self.universe](len(parts))
        return np.column_stack(
            [*(factor * part for part in parts), np.full(len(table), last)]
        )

    def number(self, label) -> int:
        """The arm, 0..K-1, with this label."""
        if not np.isscalar(label) or label not in self.arms:
            raise ValueError(f"label must be one of {self.arms}; got {shown(label)}")
        return self.arms.index(label)

    def label(self, arm: int):
        """The label of an arm, 0..K-1."""
        return self.arms[validate.need_int("arm", arm, 0, self.K - 1)]

    def scaled(self, reward: float) -> float:
        """A reward, moved from its public bounds to [0, 1]."""
        if self.reward is None:
            raise ValueError("reward must have public bounds; give them to contexts_of")
        return float((1.0 + self.reward.coordinates("reward", [reward])[0, 0]) / 2)


def in_blocks(x, K: int) -> np.ndarray:
    """One context x (n, p) a round as contexts of K arms (n, K, K p): row k holds it in
    block k."""
    return np.einsum("jk,np->njkp", np.eye(K), x).reshape(len(x), K, -1)


def contexts_of(
    columns: dict,
    *,
    arms,
    form: Literal["blocks", "shared", "rows"] = "blocks",
    universe: Literal["ball", "offset_sphere", "cube"] = "ball",
    reward: Column | None = None,
) -> Contexts:
    """A `Contexts`: which columns of a table become contexts, and how.

    Parameters
    ----------
    columns : {name: `bounds(low, high)` or `levels(...)`}, public, never taken from the
        data; a constant entry stands behind them
    arms : labels of two or more arms, in order
    form : "blocks": one row for all arms, and a model per arm (d is K times as large);
        "shared": the row is repeated, for policies that take one context; "rows": a row
        per arm, from columns with {arm} in their names, which stands for the arm's label
        (others are the same for every arm of the one model: they only add noise)
    universe : where contexts lie: "ball" (norm at most 1), "offset_sphere" (the constant
        is sqrt(1/2), the norm of the others at most that; not with blocks), "cube" (in
        [-1, 1])
    reward : `bounds`, for `Contexts.scaled`

    Raises ValueError on anything else.  Noise grows with the dimension `d` of what is
    returned:
    beyond about 100 a private policy learns little unless there are very many rounds.

    >>> ages = contexts_of({"age": bounds(0, 100)}, arms=("tea", "coffee"))
    >>> ages.context({"age": 75}).round(3).tolist()
    [[0.354, 0.707, 0.0, 0.0], [0.0, 0.0, 0.354, 0.707]]
    """
    if not isinstance(columns, dict) or not columns:
        raise ValueError(
            f"columns must be a dictionary of named columns; got {shown(columns)}"
        )
    for name, column in (
        columns | ({} if reward is None else {"reward": reward})
    ).items():
        if not isinstance(column, Column):
            raise ValueError(
                f"{name!r} must have public bounds(low, high) or levels(...): taken "
                "from the data they would give its extreme people away; got "
                f"{shown(column)}"
            )
    validate.need_choice("form", form, FORMS)
    validate.need_choice("universe", universe, tuple(SIZES))
    if (form == "rows") != any(ARM in str(name) for name in columns):
        raise ValueError(
            f'form must be "rows" if and only if a name has {ARM}; got {form=}'
        )
    if (form, universe) == ("blocks", "offset_sphere"):
        raise ValueError(
            f'form must be "rows" or "shared" in the offset_sphere; got {form=}'
        )
    arms = _labels("arms", validate.need_members("arms", arms))
    return Contexts(
        columns=dict(columns),
        arms=arms,
        form=form,
        universe=universe,
        reward=reward,
    )


def _labels(name, labels):
    """Two or more different texts or numbers."""
    good = all(
        isinstance(v, (str, bool)) or (validate.is_number(v) and v == v) for v in labels
    )
    if not good or min(len(set(labels)), len(set(map(str, labels)))) < max(
        2,
        len(labels),
    ):
        raise ValueError(
            f"{name} must be two or more different texts or numbers; got {shown(labels)}"
        )
    return tuple(labels)
