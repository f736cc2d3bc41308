"""What a module depends on: every kind of import is read, annotations are not."""

import ast

import pytest

from companion._closure import Package, bare


def test_the_closure_reads_every_kind_of_import(tmp_path):
    root = tmp_path / "p"
    (root / "room").mkdir(parents=True)
    texts = {
        "__init__": "",
        "a": "import p.b as other\n",
        "b": "def f():\n    from p import c\n",
        "c": "from p.room import made, policy\n",
        "room/__init__": "from p.room.policy import made\n",
        "room/policy": "import os\n\nmade = 1\n",
        "d": "",
    }
    for name, text in texts.items():
        (root / f"{name}.py").write_text(text)
    package = Package(root)
    assert package.closure(["p.a"]) == {"p.a", "p.b", "p.c", "p.room", "p.room.policy"}
    assert package.closure(["p.d", "os"]) == {"p.d"}
    assert package.module(root / "room" / "__init__.py") == "p.room"
    assert package.module(tmp_path / "x.py") is None


def test_annotations_and_what_serves_them_are_no_dependence(tmp_path):
    plain = """N = 1
class P(NamedTuple):
    d: int

def f(x, y=2, *z, **w):
    u = x
    return u
"""
    told = """from __future__ import annotations
from typing import TYPE_CHECKING, NamedTuple
from companion._types import Array
if TYPE_CHECKING:
    from tiny.b import Thing

N: int = 1
class P(NamedTuple):
    d: Thing

def f(x: Array, y: float = 2, *z: int, **w: str) -> Thing:
    u: Array = x
    return u
"""
    root = tmp_path / "tiny"
    root.mkdir()
    found = []
    for text in (plain, told):
        for name, part in (("__init__", ""), ("a", text), ("b", "")):
            (root / f"{name}.py").write_text(part)
        package = Package(root)
        found.append((package.closure(["tiny.a"]), package.digest(["tiny.a"])))
    assert found[0] == found[1]
    assert found[0][0] == {"tiny.a"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def f(x: int = 1): pass", "def f(x: int = 2): pass"),
        ("class P:\n    a: int\n    b: int", "class P:\n    b: int\n    a: int"),
        ("class P:\n    a: int = 1", "class P:\n    a = 1"),
        ("from os import path", "from sys import path"),
        ("if FLAG:\n    x = 1", "if FLAG:\n    x = 2"),
    ],
)
def test_what_a_program_does_is_kept(old, new):
    assert ast.dump(bare(ast.parse(old))) != ast.dump(bare(ast.parse(new)))


def test_data_beside_the_modules_of_a_closure_are_found(tmp_path):
    room = tmp_path / "p" / "room"
    room.mkdir(parents=True)
    for name in ("__init__.py", "claims.toml", "published.json", "notes.md"):
        (room / name).touch()
    found = Package(tmp_path / "p").data(["p.room"])
    assert [path.name for path in found] == ["claims.toml", "published.json"]
