"""One chapter as it runs: style, clock, claims, numbers for the prose, provenance at its
end."""

import platform
import time
from dataclasses import asdict
from importlib.metadata import version

from evidence import claims
from evidence.claims import markup, plots, rules
from evidence.claims.claims import MIME, Claim
from evidence.claims.published import sentences

# Sphinx finds numbers for the prose in outputs with this metadata and prefix (MyST-NB's
# "glue").
PREFIX = "application/papermill.record/"
SOFTWARE = ("numpy", "scipy", "numba", "matplotlib")


class Page:
    """The chapter of this name in a room of `companion` (None: the room has the chapter's
    name).

    What it claims is tested only at_scale.  `say` hands numbers to the prose, `open`
    begins a claim or a finding, `provenance` ends the page.  Shown in the last cell, it
    lists all claims and carries the records as JSON, from which the scoreboard is made.
    """

    def __init__(self, chapter, at_scale=True, room=None):
        self.chapter = chapter
        self.at_scale = bool(at_scale)
        self.room = room or chapter
        self._claims = {}
        self._started = time.perf_counter()
        plots.use_style()

    def open(self, name: str, **words) -> Claim:
        """Begin the claim or finding of this name in the room's `claims.toml`.

        words: computed here, for the places in braces of its texts.
        """
        fields = dict(sentences(self.room)[name])
        for key, text in fields.items():
            if words and isinstance(text, str):
                fields[key] = text.format(**words)
        return self.claim(name, **fields)

    def claim(self, id, kind="text", says="", place="", finding="", **told) -> Claim:
        """Begin a `Claim`, to which rows are added.

        kind: one of `markup.KINDS`; says: a sentence of the paper; place: where it
        stands; finding: a sentence of ours in their stead; told: the other fields of a
        `Claim`.  Raises ValueError on a repeated id.
        """
        if id in self._claims:
            raise ValueError(f"id must be new in this chapter; got {id=}")
        claim = Claim(
            self.chapter,
            id,
            kind,
            says or finding,
            place,
            self.at_scale,
            finding=bool(finding),
            **told,
        )
        self._claims[id] = claim
        return claim

    @property
    def records(self) -> list[Claim]:
        """All records, claims of the paper first."""
        return sorted(self._claims.values(), key=lambda r: r.finding)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {
            MIME: [asdict(r) | {"verdict": r.verdict} for r in self.records],
            "text/html": markup.claims(self.chapter, self.records),
            "text/plain": "\n".join(map(repr, self.records)),
        }

    def say(self, **values) -> None:
        """Make values available to the prose, which glues `CHAPTER_NAME`; nothing is
        shown.

        Text stays as it is; numbers get three digits, an `Interval` its ends.
        """
        from IPython.display import display

        for name, value in values.items():
            spec = "," if isinstance(value, int) else ".3g"
            text = value if isinstance(value, str) else format(value, spec)
            # Sphinx shows the `repr` of a text without its quotes, so quotes are part of
            # the data.
            data = {f"{PREFIX}text/plain": repr(markup.powers(text))}
            meta = {
                "scrapbook": {"name": f"{self.chapter}_{name}", "mime_prefix": PREFIX}
            }
            display(data, raw=True, metadata=meta)

    def provenance(self, seed: int, **settings) -> None:
        """Print seed, settings, time, versions and the line that runs the page again; say
        `seconds` and `summary` to the prose."""
        seconds = f"{time.perf_counter() - self._started:.0f}"
        told = []
        for name, value in settings.items():
            text = f"{value:,}" if isinstance(value, int) else value
            told.append(f"{name} = {text}")
        used = ", ".join(f"{name} {version(name)}" for name in SOFTWARE)
        machine = platform.machine()
        print(f"seed {seed}; {', '.join(told)}; {seconds} s on {machine}")
        print(f"Python {platform.python_version()}, {used}")
        again = f"papermill --engine readable book/{self.chapter}.ipynb out.ipynb"
        options = rules.options({"seed": seed} | claims.given)
        print(f"run again: {again} {options}")
        self.say(seconds=seconds)
        if of_paper := [r for r in self.records if not r.finding]:
            self.say(summary=f"{markup.tally(of_paper)} (of {len(of_paper)} claims).")


def listed(values, form: str = "{:.3g} ({})", joint: str = ", ") -> str:
    """{label: value} as prose: every value, then its label, in this form, one after
    another.

    >>> listed({"d = 2": 0.51, "d = 4": 0.6})
    '0.51 (d = 2), 0.6 (d = 4)'
    """
    return joint.join(form.format(value, label) for label, value in values.items())


def point(sentence: str, holds: bool) -> str:
    """The sentence that says what a figure shows, or that these runs do not show it.

    holds: computed from the numbers that are drawn, so that a caption is true for all
    parameters.

    >>> point("Regret falls.", 1.0 < 2.0) + point("It rises.", 1.0 > 2.0)
    'Regret falls. Not in these runs: It rises. '
    """
    return f"{sentence} " if holds else f"Not in these runs: {sentence} "
