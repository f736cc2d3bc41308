"""The plain NumPy versions of algorithms, which stand in the chapters."""

from real_book import BOOK

from tools.chapters import source, tags


def plain(chapter, **known):
    """Names that the first cell of a chapter tagged `plain-numpy` defines, with `known`
    names before."""
    cells = BOOK[chapter].notebook["cells"]
    text, *_ = (source(c) for c in cells if "plain-numpy" in tags(c))
    namespace = dict(known)
    exec(compile(text, f"{chapter}.ipynb", "exec"), namespace)
    return namespace
