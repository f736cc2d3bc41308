"""Sphinx extension: docstrings as autodoc finds them, in their own lines where they are
no reST.

A docstring is written for people who read code.  Names with a description each are shown
one below the other, indented lines as they stand, bars and asterisks as such.  What
docutils would complain of all the same is shown as it is. The automatic descriptions of a
named tuple's fields and of SciPy's distributions are left out.
"""

import inspect
import io
import re
import textwrap
from itertools import groupby

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


PART = re.compile(r"\n(?=(?:Source|Privacy|Differs)\b[^\n]*?:|\(\d\) [A-Z])")
LISTED = re.compile(r"(>>>|::|\.\. |[-*] |\d+\. |\S.*\n---)")
ITEM = re.compile(r"[\w.]+(, [\w.]+)*(\(.*?\))?(: | -> )")
COLUMNS = re.compile(r"^ +(\d[\d, ]* |\S.*([^.:;?\s] {2,}|\S {3,})\S)", re.MULTILINE)
# formulas and imports, not prose
CODE = re.compile(r"(?![\s\S]*\bthe\b)[\s\S]*[=<]|\s+from \w")
OUTCOME = re.compile(r"^(Returns|Raises)\n-+\n(.+(?:\n.+)*)", re.MULTILINE)
DIGITS = re.compile(r"(\.\d{5})\d{6,}")
SIGN = re.compile(r"`[^`]*`|(?<![\w*])\*\w[\w ]*\*(?![\w*])|[|*]")


def escaped(text):
    """The text with bars and asterisks that mark nothing, and words in backticks as
    code."""

    def written(match):
        sign = match[0]
        if len(sign) == 1:
            return "\\" + sign
        if sign[0] != "`":
            return sign
        after = match.string[match.end() : match.end() + 1]
        return f"`{sign}`\\ " if after == "(" or after.isalnum() else f"`{sign}`"

    return SIGN.sub(written, text)


def items(lines):
    """Lines of a line block, each with the deeper lines below it."""
    first = min(len(line) - len(line.lstrip()) for line in lines)
    marks = ["  " if line[first] == " " else "| " for line in lines]
    return [mark + escaped(line.strip()) for mark, line in zip(marks, lines, strict=True)]


def is_code(text):
    """Whether indented lines are columns, formulas, or imports."""
    return COLUMNS.search(text) or CODE.match(text)


def sentence(match):
    """What is returned or raised, as one line."""
    said = " ".join(match[2].split())
    said = re.sub(r"^An? |(?<=^ValueError )On ", lambda first: first[0].lower(), said)
    said = re.sub(r"^(?=Policy)", "a ", re.sub(r"^(?=Optimiser)", "an ", said))
    return f"{match[1]} {said}"


def paragraph(text):
    """reST of a paragraph that is not set off as code, with indented lines in it."""
    lines = text.split("\n")
    if text.startswith(" ") and is_code(text):
        return "\n".join([".. code-block:: text", "", *lines])
    if text.startswith(" ") or LISTED.match(text):
        return text
    if "\n " not in text:
        return escaped(text)
    heads = [line for line in lines if line[:1] != " "]
    if len(heads) > 1 and ITEM.match(heads[0]) and ITEM.match(heads[1]):
        named = [line if ITEM.match(line) else f" {line}" for line in lines]
        return "\n".join(items(named))
    parts = []
    for indented, run in groupby(lines, key=lambda line: line[:1] == " "):
        run = list(run)
        if not indented:
            parts.append(escaped("\n".join(run)))
        elif is_code("\n".join(run)):
            parts.append("\n".join([".. code-block:: text", "", *run]))
        else:
            parts.append(textwrap.indent("\n".join(items(run)), "    "))
    return "\n\n".join(parts)


def _parameters(app, what, name, obj, options, lines):
    """As napoleon reads it: words below the parameter's name, two empty lines after the
    last; what is returned and raised are sentences.  A property's first line is no
    type."""

    def below(match):
        return re.sub(r"^(\S.*?) : ", r"\1\n    ", match[0], flags=re.MULTILINE) + "\n"

    text = PART.sub("\n\n", "\n".join(lines))
    text = OUTCOME.sub(sentence, text)
    text = "\n\n".join(paragraph(part) for part in text.split("\n\n"))
    text = BLOCK.sub(lambda match: escaped(below(match)), text)
    if what == "module" and options.exclude_members:  # tools/api.py shows its text above
        text = ""
    first = ["\\ "] if what in ("attribute", "property") else []
    lines[:] = first + text.split("\n")


def _readable(app, what, name, obj, options, lines):
    if lines and complaints(lines):
        doc = inspect.getdoc(obj) or "\n".join(lines)
        lines[:] = ["::", "", *(f"   {line}" for line in doc.splitlines()), ""]


def _signature(app, what, name, obj, options, signature, returns):
    """Defaults that are functions, by their names; lists; numbers with five digits."""
    signature = re.sub(r"<function (\w+).*?>", r"\1", signature or "")
    return DIGITS.sub(r"\1...", signature).replace("<factory>", "[]") or None, returns


def _skip(app, what, name, obj, skip, options):
    kind = type(obj)  # a distribution brings a docstring, not of ours
    left = kind.__name__ == "_tuplegetter" or kind.__module__.startswith("scipy.")
    return True if left else None


def setup(app):
    app.connect("autodoc-process-docstring", _parameters, priority=100)  # before napoleon
    app.connect("autodoc-process-docstring", _readable, priority=900)  # after napoleon
    app.connect("autodoc-process-signature", _signature)
    app.connect("autodoc-skip-member", _skip)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
