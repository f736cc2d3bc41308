"""What executing a chapter costs: seconds of CPU, cell by cell, as kept by earlier runs.

`book/costs.json` holds them for every scale, with the seconds that a calibration loop took on that
machine; on another machine they are scaled by its own loop.
"""

import json
import time

import numpy as np

from tools import cache
from tools.chapters import code

PLACE = "book/costs.json"
UNKNOWN = 5.0  # seconds of a chapter that has never run


def loop():
    """Seconds of a fixed piece of work: Python's loop and NumPy's, about half each."""
    begin, x, a = time.process_time(), 0.0, np.arange(50_000.0)
    for i in range(400_000):
        x += i % 7
    for _ in range(400):
        x += float(np.sqrt(a).sum())
    return time.process_time() - begin


def read(root):
    """{"loop": seconds, scale: {chapter: {cell id: seconds}}}; empty without a file."""
    path = root / PLACE
    return json.loads(path.read_text("utf8")) if path.is_file() else {}


def write(root, scale, executed):
    """Keep the seconds of executed notebooks {chapter: notebook} as those of this scale."""
    kept = read(root) | {"loop": round(loop(), 4)}
    kept[scale] = {
        name: {cell: round(s, 2) for cell, s in notebook["metadata"][cache.RUN]["cells"].items()}
        for name, notebook in executed.items()
    }
    cache.put(root / PLACE, cache.dump(kept))


def expected(root, scale, chapters):
    """{chapter: {cell id: seconds}} that these chapters will take here, for their code cells."""
    kept = read(root)
    here = loop() / kept["loop"] if kept else 1.0
    known = kept.get(scale, {})
    found = {}
    for chapter in chapters:
        cells = [c["id"] for c in code(chapter.notebook)]
        old = known.get(chapter.name, {})
        new = sum(old.values()) / len(old) if old else UNKNOWN / max(len(cells), 1)
        found[chapter.name] = {cell: here * old.get(cell, new) for cell in cells}
    return found


def said(seconds, jobs):
    """In words, how long chapters of these seconds of CPU take, several at a time."""
    total = sum(map(sum, (s.values() for s in seconds.values())))
    longest = max((sum(s.values()) for s in seconds.values()), default=0.0)
    wall = max(total / jobs, longest)
    return f"About {wall / 60:.0f} min" if wall >= 90 else f"About {wall:.0f} s"


def table(executed):
    """{chapter: [(cell, seconds)]}, dearest first, of executed notebooks: what a page shows."""
    found = {}
    for name, notebook in executed.items():
        cells = notebook["metadata"][cache.RUN]["cells"]
        found[name] = sorted(cells.items(), key=lambda item: -item[1])
    return dict(sorted(found.items(), key=lambda item: -sum(s for _, s in item[1])))
