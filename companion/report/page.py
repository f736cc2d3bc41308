"""One chapter as it runs: style, clock, claims, numbers for the prose, provenance at its end."""

import platform
import time
from importlib.metadata import version

from companion.report import plots
from companion.report.claims import Claims
from companion.report.markup import tally
from companion.report.published import sentences
from companion.stats import Interval

# Sphinx finds numbers for the prose in outputs with this metadata and prefix (MyST-NB's "glue").
PREFIX = "application/papermill.record/"
SOFTWARE = ("numpy", "scipy", "numba", "matplotlib")


class Page(Claims):
    """The chapter of this name in a room of `companion` (None: the room has the chapter's name).

    What it claims is tested only at_scale.  `say` hands numbers to the prose, `open` begins a claim
    or a finding, `provenance` ends the page.
    """

    def __init__(self, chapter, at_scale=True, room=None):
        super().__init__(chapter, at_scale)
        self.room = room or chapter
        plots.use_style(chapter)
        self._started = time.perf_counter()

    def open(self, name: str, **words):
        """Begin the claim or finding of this name in the room's `claims.toml` (`Open`).

        words: computed here, for the places in braces of its texts.
        """
        fields = {
            key: value.format(**words) if words and isinstance(value, str) else value
            for key, value in sentences(self.room)[name].items()
        }
        if "finding" in fields:
            return self.finding(name, fields.pop("finding"), **fields)
        kind, says, place = (fields.pop(key) for key in ("kind", "says", "place"))
        return self.claim(name, kind, says, place, **fields)

    def say(self, **values) -> None:
        """Make values available to the prose as {glue:text}`CHAPTER_NAME`; nothing is shown.

        Text stays as it is; numbers get three digits, an `Interval` its ends.
        """
        from IPython.display import display

        for name, value in values.items():
            text = value if isinstance(value, str) else spoken(value)
            # Sphinx shows the `repr` of a text without its quotes, so quotes are part of the data.
            data = {f"{PREFIX}text/plain": repr(text)}
            meta = {"scrapbook": {"name": f"{self.chapter}_{name}", "mime_prefix": PREFIX}}
            display(data, raw=True, metadata=meta)

    def provenance(self, seed: int, **settings) -> None:
        """Print seed, settings, time and versions, and say `seconds` and `summary` to the prose."""
        seconds = time.perf_counter() - self._started
        shown = ", ".join(f"{k} = {v:,}" if isinstance(v, int) else f"{k} = {v}"
                          for k, v in settings.items())  # fmt: skip
        print(f"seed {seed}; {shown}; {seconds:.0f} s on {platform.machine()}")
        used = ", ".join(f"{name} {version(name)}" for name in SOFTWARE)
        print(f"Python {platform.python_version()}, {used}")
        self.say(seconds=f"{seconds:.0f}", **({"summary": self.summary()} if self.records else {}))

    def summary(self) -> str:
        """Verdicts counted, in one sentence."""
        claims = [r for r in self.records if not r.finding]
        return f"{tally(claims)} (of {len(claims)} claims)."


def listed(values, form: str = "{:.3g} ({})", joint: str = ", ") -> str:
    """{label: value} as prose: every value, then its label, in this form, one after another.

    >>> listed({"d = 2": 0.51, "d = 4": 0.6})
    '0.51 (d = 2), 0.6 (d = 4)'
    """
    return joint.join(form.format(value, label) for label, value in values.items())


def point(sentence: str, holds: bool) -> str:
    """The sentence that says what a figure shows, or that these runs do not show it.

    holds: computed from the numbers that are drawn, so that a caption is true for all parameters.

    >>> point("Regret falls.", 1.0 < 2.0) + point("It rises.", 1.0 > 2.0)
    'Regret falls. Not in these runs: It rises. '
    """
    return f"{sentence} " if holds else f"Not in these runs: {sentence} "


def spoken(value) -> str:
    """A number as prose shows it."""
    if isinstance(value, Interval):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
