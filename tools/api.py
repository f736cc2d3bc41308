"""Pages of the package: `% api FOLDER` becomes Sphinx's directives for the modules of a
folder."""

import re

from companion._closure import Package
from tools.errors import Failure

LINE = re.compile(r"^% api (\w+)$", re.MULTILINE)
MOVED = {"companion.judge"}  # says where the judge went
GROUND = "ground"  # the page of the modules that lie in no folder


def fill(text, root):
    """The text of a page with its line filled.  Raises Failure if it asks for no
    folder."""
    package = Package(root / "companion", root / "evidence")
    public = {m for m in package.modules() if "._" not in m} - MOVED
    public -= {m for m in public if package.file(m).name == "__init__.py"}

    def filled(match):
        inside = (f"companion.{match[1]}.", f"evidence.{match[1]}.")
        modules = {m for m in public if m.startswith(inside)}
        if match[1] == GROUND:
            modules = {
                m for m in public if m.startswith("companion.") and m.count(".") == 1
            }
        if not modules:
            raise Failure(
                f"a page of the package asks for {match[1]}, which is no folder"
            )
        form = "## {0}\n\n```{{eval-rst}}\n.. automodule:: {0}\n   :members:\n```"
        return "\n\n".join(map(form.format, sorted(modules)))

    return LINE.sub(filled, text)
