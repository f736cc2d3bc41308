"""Imports point down: a module imports only what stands on its own floor or below."""

import ast

import pytest
from real_book import ROOT

FLOORS = [  # from the ground up
    {"__init__", "_closure", "_stamps", "jit", "stats", "validate"},
    {"kernels"},
    {"accounting"},
    {"contract", "core", "held", "live"},
    {"environments", "logs", "simulate", "tabular"},
    {"baselines"},
    {"fliphat", "lplr", "online_linucb", "private_glm", "streaming_sco"},
    {"optimisers", "policies"},
]
PAPERS = FLOORS[6]
MOVED = {"judge"}  # it only says where a command stands now
FILES = sorted((ROOT / "companion").rglob("*.py"))


def part(module):
    """The file or folder of `companion` in which a module stands."""
    return module.split(".")[1] if "." in module else "__init__"


def floor(module):
    """The number of its floor."""
    (number,) = (i for i, names in enumerate(FLOORS) if part(module) in names)
    return number


def imported(path):
    """Dotted names of modules of this project that a file imports, anywhere in it."""
    names = []
    for node in ast.walk(ast.parse(path.read_text("utf8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "companion":
            names += [f"companion.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names.append(node.module)
    return [n for n in names if n.partition(".")[0] in ("companion", "evidence", "tools")]


def module_of(path):
    """The dotted name of a file."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


@pytest.mark.parametrize("path", FILES, ids=lambda p: module_of(p))
def test_imports_point_down(path):
    here = module_of(path)
    if part(here) in MOVED:
        return
    for module in imported(path):
        assert module.startswith("companion"), f"{here} imports {module}"
        assert floor(module) <= floor(here), f"{here} imports {module}, which is above it"
        if part(here) in PAPERS:
            assert part(module) not in PAPERS - {part(here)}, f"{here} imports {module}"


@pytest.mark.parametrize("path", sorted((ROOT / "evidence").rglob("*.py")), ids=str)
def test_what_measures_imports_no_tool(path):
    assert not [m for m in imported(path) if m.startswith("tools")]
