"""What a module depends on: every kind of import is read, docstrings are not."""

import ast

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
    for name in ("claims.toml", "published.json", "notes.md"):
        (root / "room" / name).touch()
    package = Package(root)
    assert package.closure(["p.a"]) == {"p.a", "p.b", "p.c", "p.room", "p.room.policy"}
    assert package.closure(["p.d", "os"]) == {"p.d"}
    assert [path.name for path in package.data(["p.a"])] == ["claims.toml", "published.json"]


def test_docstrings_alone_are_left_out():
    def dump(text):
        return ast.dump(bare(ast.parse(text)))

    assert dump('"""A."""\ndef f():\n    "B."\n    return 1') == dump("def f():\n    return 1")
    assert dump("def f(x=1): pass") != dump("def f(x=2): pass")
