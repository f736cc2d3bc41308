"""One chapter as it runs: style, clock, claims, numbers for the prose, provenance at its end."""

import platform
import time
from collections import Counter
from importlib.metadata import version

from companion.report import plots
from companion.report.claims import VERDICTS, Claims
from companion.stats import Interval

# Sphinx finds numbers for the prose in outputs with this metadata and prefix (MyST-NB's "glue").
PREFIX = "application/papermill.record/"
SOFTWARE = ("numpy", "scipy", "numba", "matplotlib")


class Page(Claims):
    """The chapter of this name; what it claims is tested only at_scale.

    `say` hands numbers to the prose, `claim` and `finding` open records, `provenance` ends the
    page.
    """

    def __init__(self, chapter, at_scale=True):
        super().__init__(chapter, at_scale)
        plots.use_style()
        self._started = time.perf_counter()

    def say(self, **values):
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

    def provenance(self, seed, **settings):
        """Print seed, settings, time and versions, and say `seconds` and `summary` to the prose."""
        seconds = time.perf_counter() - self._started
        shown = ", ".join(f"{k} = {v:,}" if isinstance(v, int) else f"{k} = {v}"
                          for k, v in settings.items())  # fmt: skip
        print(f"seed {seed}; {shown}; {seconds:.0f} s on {platform.machine()}")
        used = ", ".join(f"{name} {version(name)}" for name in SOFTWARE)
        print(f"Python {platform.python_version()}, {used}")
        self.say(seconds=f"{seconds:.0f}", **({"summary": self.summary()} if self.records else {}))

    def summary(self):
        """Verdicts counted, in one sentence."""
        counts = Counter(r.verdict for r in self.records if not r.finding)
        parts = [f"{counts[v]} {v}" for v in VERDICTS if counts[v]]
        return f"{', '.join(parts)} (of {counts.total()} claims)."


def spoken(value):
    """A number as prose shows it."""
    if isinstance(value, Interval):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
