"""The project itself, and the chapters of its book."""

from pathlib import Path

from tools import chapters

ROOT = Path(__file__).resolve().parent.parent
BOOK = chapters.load(ROOT)


def cells(name):
    """The texts of a chapter's code cells, without lines for IPython alone."""
    return [
        chapters.plain(chapters.source(c)) for c in chapters.code(BOOK[name].notebook)
    ]
