"""Sphinx extension: docstrings as autodoc finds them, in their own lines where they are
no reST.

A docstring is written for people who read code; what docutils would complain of is shown
as it is. The automatic descriptions of a named tuple's fields are left out.
"""

import inspect
import io
import re

from docutils.core import publish_doctree


def complaints(lines):
    """What docutils says against the lines of a docstring."""
    said = io.StringIO()
    settings = {"warning_stream": said, "report_level": 2, "halt_level": 5}
    publish_doctree("\n".join(lines), settings_overrides=settings)
    return said.getvalue()


BLOCK = re.compile(
    r"(?<=^Parameters\n----------\n).*?(?=\n\n|\Z)",
    re.MULTILINE | re.DOTALL,
)


def _parameters(app, what, name, obj, options, lines):
    """As napoleon reads it: words below the parameter's name, two empty lines after the
    last; what is returned and raised are sentences.  A letter may follow a name in
    backticks."""

    def below(match):
        return re.sub(r"^(\S.*?) : ", r"\1\n    ", match[0], flags=re.MULTILINE) + "\n"

    text = BLOCK.sub(below, "\n".join(lines))
    text = re.sub(r"(`[\w.]+`)(?=\w)", r"\1\\ ", text)  # `Pair`s
    lines[:] = re.sub(r"^(Returns|Raises)\n-+\n", r"\1 ", text, flags=re.MULTILINE).split(
        "\n"
    )


def _readable(app, what, name, obj, options, lines):
    if lines and complaints(lines):
        doc = inspect.getdoc(obj) or "\n".join(lines)
        lines[:] = ["::", "", *(f"   {line}" for line in doc.splitlines()), ""]


def _skip(app, what, name, obj, skip, options):
    return True if type(obj).__name__ == "_tuplegetter" else None


def setup(app):
    app.connect("autodoc-process-docstring", _parameters, priority=100)  # before napoleon
    app.connect("autodoc-process-docstring", _readable, priority=900)  # after napoleon
    app.connect("autodoc-skip-member", _skip)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
