"""Pages of the package: `% api FOLDER` becomes Sphinx's directives for the modules of a folder."""

import re

from companion._closure import Package
from tools.errors import Failure

LINE = re.compile(r"^% api (\w+)$", re.MULTILINE)
GROUND = "ground"  # the page of the modules that lie in no folder


def folder(module):
    """The page of a module of `companion`; None for what is private or a program."""
    _, *parts = module.split(".")
    if not parts or any(part.startswith("_") for part in parts):
        return None
    return parts[0] if len(parts) > 1 else GROUND


def directives(module):
    """What Sphinx documents a module by: its public names, with links to their code."""
    return f"## {module}\n\n```{{eval-rst}}\n.. automodule:: {module}\n   :members:\n```"


def fill(text, root):
    """The text of a page with its line filled.  Raises Failure if it asks for no folder."""
    package = Package(root / "companion")
    packages = {m for m in package.modules() if package.file(m).name == "__init__.py"}

    def filled(match):
        modules = sorted(m for m in package.modules() - packages if folder(m) == match[1])
        if not modules:
            raise Failure(f"a page of the package asks for {match[1]}, which is no folder")
        return "\n\n".join(map(directives, modules))

    return LINE.sub(filled, text)
