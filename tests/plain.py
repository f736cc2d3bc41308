"""The plain NumPy versions of algorithms, which stand in the chapters."""

import json
from pathlib import Path

BOOK = Path(__file__).resolve().parent.parent / "book"


def plain(chapter, **known):
    """Names that the first cell of a chapter tagged `plain-numpy` defines, with `known`
    names before."""
    cells = json.loads((BOOK / f"{chapter}.ipynb").read_text("utf8"))["cells"]
    source, *_ = (
        "".join(c["source"])
        for c in cells
        if "plain-numpy" in c["metadata"].get("tags", [])
    )
    namespace = dict(known)
    exec(compile(source, f"{chapter}.ipynb", "exec"), namespace)
    return namespace
