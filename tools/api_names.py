"""What the package says of its public names: arguments, errors, meanings, and what is missing."""

import ast
import re

GROUND = "ground"  # the modules of the package itself
ARGUMENTS = "book/api/arguments.md"
NOTATION = "book/notation.md"
OWN = "## Of "  # in ARGUMENTS: a section for one folder
CHECKS = "need_"  # functions that raise ValueError on bad input


def meanings(root, room):
    """{argument: what it is} in a folder: its own section, else the common ones, else notation.

    A row on `function.argument` is about the argument of that function, or that field of a class.
    """
    common, *own = (root / ARGUMENTS).read_text("utf8").split(OWN)
    notation = (root / NOTATION).read_text("utf8").split("### Chapter")[0]
    mine = [part for part in own if part.startswith(f"`{room}`")]
    found = {}
    for text, name, first in [(notation, 1, 2), *((part, 0, 1) for part in (common, *mine))]:
        for line in text.splitlines():
            row = [cell.strip() for cell in line.strip("|").split("|")]
            for word in re.findall(r"`([\w.]+)`", row[name]) if line[:1] == "|" else ():
                found[word] = "; ".join(filter(None, row[first:])).replace("**", "")
    return found


def public(tree):
    """The public functions and classes of a module's syntax tree."""
    kinds = ast.FunctionDef | ast.ClassDef
    return [n for n in tree.body if isinstance(n, kinds) and n.name[0] != "_"]


def taken(node):
    """The names of a function's arguments, or of a class's fields."""
    if isinstance(node, ast.ClassDef):
        return [n.target.id for n in node.body if isinstance(n, ast.AnnAssign)]
    return [x.arg for x in given(node) if x.arg.strip("_") and x.arg != "self"]


def given(node):
    """The arguments of a function, as the syntax tree has them."""
    a = node.args
    return [*a.posonlyargs, *a.args, *a.kwonlyargs, *(x for x in (a.vararg, a.kwarg) if x)]


def explained(node, lines, known):
    """{argument: what it is}: the comment of a field, or the meaning of a name that the docstring
    does not explain; names without either are left out."""
    doc = set(re.findall(r"\w+", ast.get_docstring(node) or ""))
    told = {n: known.get(f"{node.name}.{n}", known.get(n)) for n in taken(node) if n not in doc}
    found = {n: said for n, said in told.items() if said}
    if isinstance(node, ast.ClassDef):
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and "  # " in lines[field.lineno - 1]:
                found[field.target.id] = lines[field.lineno - 1].split("  # ", 1)[1]
    return found


def raised(node):
    """{exception: why} of what a function raises by itself, in the words of its code."""
    found = {}
    if isinstance(node, ast.FunctionDef):
        for n in ast.walk(node):
            called = getattr(getattr(n, "func", None), "id", "")
            if called.startswith(CHECKS):
                found.setdefault("ValueError", []).append("an argument is outside its range")
            if isinstance(n, ast.Raise) and isinstance(n.exc, ast.Call):
                said = ast.unparse(n.exc.args[0]) if n.exc.args else ""
                text = re.sub(r"^f?(['\"])(.*)\1$", r"\2", said, flags=re.DOTALL)
                words = re.sub(r"\{([^{}]*)\}", r"\1", text.split("; got")[0])
                found.setdefault(ast.unparse(n.exc.func), []).append(words)
    return {name: "; ".join(dict.fromkeys(why)) for name, why in found.items()}


def lacking(node, lines, known):
    """What the page does not say of a public name: its purpose, arguments, or result."""
    doc = ast.get_docstring(node) or known.get(node.name, "")
    words = {*re.findall(r"\w+", doc), *explained(node, lines, known)}
    found = [] if doc.strip() else ["purpose"]
    found += [name for name in taken(node) if name not in words]
    if isinstance(node, ast.FunctionDef) and node.returns is None:
        found.append("result")
    return found


def folder(module):
    """The folder of a module: `kernels` of companion.kernels.linalg; GROUND of companion.core."""
    parts = module.split(".")
    if len(parts) == 3:
        return parts[1]
    return GROUND if len(parts) == 2 and parts[1] != "__main__" else ""
