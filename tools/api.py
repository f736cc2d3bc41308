"""Pages of the package: `% api FOLDER` becomes Sphinx's directives for the modules of a
folder, what makes policies and optimisers first, and `% factories MODULE` a line for each
of these."""

import ast
import re

from companion._closure import Package
from tools.errors import Failure

LINE = re.compile(r"^% (api|factories) (\w+)$", re.MULTILINE)
MADE = re.compile(r"^from companion\.(\w+)\.(\w+) import (\w+) as \3$", re.MULTILINE)
MOVED = {"companion.judge"}  # says where the judge went
GROUND = "ground"  # the page of the modules that lie in no folder
FORM = """## {module}

```{{eval-rst}}
{factories}.. automodule:: {module}
   :members:{others}
```"""


def fill(text, root):
    """The text of a page with its lines filled.  Raises Failure if it asks for no
    folder."""
    package = Package(root / "companion", root / "evidence")
    public = {m for m in package.modules() if "._" not in m} - MOVED
    public -= {m for m in public if package.file(m).name == "__init__.py"}
    made = factories(root, "policies") + factories(root, "optimisers")

    def filled(match):
        if match[1] == "factories":
            return "\n".join(listed(root, factories(root, match[2])))
        inside = (f"companion.{match[2]}.", f"evidence.{match[2]}.")
        modules = {m for m in public if m.startswith(inside)}
        if match[2] == GROUND:
            modules = {
                m for m in public if m.startswith("companion.") and m.count(".") == 1
            }
        if not modules:
            raise Failure(
                f"a page of the package asks for {match[2]}, which is no folder"
            )
        makers = {f"companion.{folder}.{file}" for folder, file, _ in made}
        ordered = sorted(modules, key=lambda m: (m not in makers, m))
        return "\n\n".join(described(module, made) for module in ordered)

    return LINE.sub(filled, text)


def factories(root, module):
    """[(folder, file, name)] of the factories that `companion.MODULE` offers."""
    path = root / "companion" / f"{module}.py"
    return MADE.findall(path.read_text("utf8")) if path.is_file() else []


def described(module, made):
    """The directives for one module: its text, its factories, the rest."""
    own = [n for folder, file, n in made if f"companion.{folder}.{file}" == module]
    text = f".. automodule:: {module}\n   :no-index:\n\n" if own else ""
    first = text + "".join(f".. autofunction:: {module}.{name}\n\n" for name in own)
    others = f"\n   :exclude-members: {', '.join(own)}" if own else ""
    return FORM.format(module=module, factories=first, others=others)


def listed(root, made):
    """A line for every factory: its name, as a link, and what its docstring says
    first."""
    lines = []
    for folder, file, name in made:
        path = root / "companion" / folder / f"{file}.py"
        tree = ast.parse(path.read_text("utf8"))
        (found,) = (n for n in tree.body if getattr(n, "name", "") == name)
        says = " ".join(ast.get_docstring(found).split("\n\n")[0].split())
        address = f"{folder}.html#companion.{folder}.{file}.{name}"
        lines.append(f'* <a href="{address}"><code>{name}</code></a>: {says}')
    return sorted(lines)
