"""The line below a chapter's parameters that says how to run it again with another value."""

import html
import json

from tools.chapters import PAPER, SCOREBOARD, overrides, tags
from tools.errors import Failure, Refusal

GIVEN = {"parameters", "injected-parameters"}
BUDGETS = ("epsilon", "epsilons")
SENTENCE = (
    '<div class="again">To run this chapter again with another value, '
    '<a href="index.html#install">install</a> the package and change any parameter above, '
    "for instance: <code>{}</code></div>"
)


def _scaled(value, factor):
    """A budget, or a list of budgets, times `factor`."""
    return [v * factor for v in value] if isinstance(value, list) else value * factor


def _candidates(chapter, smaller):
    """(parameter, other value) in the order in which they are tried; there may be none."""
    known = chapter.parameters
    budgets = [name for name in BUDGETS if name in known]
    tried = [(name, _scaled(known[name].default, f)) for name in budgets for f in (2.0, 0.5)]
    return [*tried, *smaller.items()]


def value(chapter, smaller):
    """(parameter, other value) that a reader may try by itself: another budget, else a smaller
    size out of `smaller`, the values of a lower scale.  Raises Failure if nothing is allowed.
    """
    for name, other in _candidates(chapter, smaller):
        try:
            if overrides(chapter, {name: other}, chapter.name):
                return name, other
        except Refusal:
            continue
    raise Failure(f"{chapter.name}: no parameter can be changed by itself")


def command(chapter, smaller):
    """The papermill command that runs a chapter with one changed parameter."""
    name, other = value(chapter, smaller)
    text = json.dumps(other)
    asked = f'-y "{name}: {text}"' if isinstance(other, list) else f"-p {name} {text}"
    return f"papermill book/{chapter.name}.ipynb again.ipynb {asked}"


def lines(chapters, scales):
    """{chapter: what stands below its parameters}, for all that run by themselves and have a
    budget, or a lower scale that says which other value to try."""
    lowest = next((values for scale, values in scales.items() if scale != PAPER), None) or {}
    said = {}
    for name, chapter in chapters.items():
        smaller = lowest.get(name) or {}
        if name != SCOREBOARD and _candidates(chapter, smaller):
            shown = html.escape(command(chapter, smaller), quote=False)
            said[name] = SENTENCE.format(shown)
    return said


def added(cells, line):
    """The cells with `line` below the parameters."""
    given = [i for i, cell in enumerate(cells) if GIVEN & set(tags(cell))]
    if not line or not given:
        return cells
    at = given[-1] + 1
    below = {"cell_type": "markdown", "id": "again", "metadata": {}, "source": line}
    return [*cells[:at], below, *cells[at:]]
