"""One figure of an executed chapter as an SVG file: the picture of the README.

    python -m tools.figure online_linucb online-figure1-corrected book/_static/figure1.svg

takes the chapter's latest execution, on a white ground: dark pages show it, too.
"""

import base64
import json
import re
import sys
from pathlib import Path

from tools import cache
from tools.errors import Failure

BUILD = Path("_build")


def extract(notebook, name):
    """The SVG of the figure `name` in an executed notebook.  Raises Failure if it is not there."""
    pattern = rf'id="fig-{re.escape(name)}">.*?<img [^>]*base64,([A-Za-z0-9+/=]+)"'
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            text = "".join(output.get("data", {}).get("text/html", ""))
            if found := re.search(pattern, text, re.DOTALL):
                return base64.b64decode(found[1])
    raise Failure(f"the latest execution shows no figure named {name}")


def main(chapter, name, target):
    """Write the figure to `target`."""
    runs = sorted((BUILD / "executed" / chapter).glob("*.ipynb"), key=lambda p: p.stat().st_mtime)
    if not runs:
        raise Failure(f"{chapter} has not been executed: run `make book`")
    picture = extract(json.loads(runs[-1].read_text("utf8")), name)
    cache.put(Path(target), picture.replace(b"<svg ", b'<svg style="background: white" ', 1))


if __name__ == "__main__":
    main(*sys.argv[1:])
