"""Two ways to stop, each with its exit code, and how to say what is wrong."""

import difflib
import re


class Refusal(Exception):
    """The request cannot be carried out as it stands; nothing has run.  Exit code 2."""


class Failure(Exception):
    """Something that ran went wrong.  Exit code 1."""


def one_of(what, name, known):
    """Refuse `name` unless it is one of `known`, naming the closest one.  Raises
    Refusal."""
    known = list(known)
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = (
            f"did you mean {near[0]!r}?"
            if near
            else f"there is {', '.join(known) or 'none'}"
        )
        raise Refusal(f"unknown {what} {name!r}; {hint}")


def plain(text):
    """`text` without the codes that colour it in a terminal."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
