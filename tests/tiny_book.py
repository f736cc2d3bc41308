"""A book of tiny notebooks in a temporary folder, to try the runner on."""

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat

from tools import build as runner

PROJECT = Path(__file__).resolve().parent.parent
CLAIM = {
    "chapter": "one",
    "id": "c1",
    "kind": "text",
    "statement": "1 < 2",
    "paper": "page 2",
    "verdict": "reproduced",
    "changes": "",
    "left_open": "",
    "finding": False,
    "evidence": [
        {
            "setting": "",
            "measured": "1",
            "interval": [0.5, 1.5],
            "rule": "below",
            "outcome": "holds",
            "decisive": False,
            "limits": [None, 2.0],
            "control": {
                "what": "twice as much",
                "measured": "3",
                "interval": [2.5, 3.5],
                "outcome": "fails",
            },
        }
    ],
    "errata": [],
    "bound": False,
}
PARAMETERS = (
    "T = 500  # rounds; integer in [100, 1_000]\ndelta = 0.1  # privacy; float in (0, 1)"
)


def notebook(path, *sources, parameters=PARAMETERS, title="A chapter"):
    """Write a notebook with a parameters cell and one code cell per source."""
    cells = [nbformat.v4.new_markdown_cell(f"# {title}", id="title")]
    cells.append(nbformat.v4.new_code_cell(parameters, id="parameters"))
    cells[1].metadata["tags"] = ["parameters"]
    cells += [nbformat.v4.new_code_cell(s, id=f"code-{i}") for i, s in enumerate(sources)]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    book = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    path.write_text(nbformat.writes(book))
    return path


def cell(count, *outputs):
    """A code cell with this execution count and outputs of these kinds."""
    return {
        "cell_type": "code",
        "source": "1",
        "execution_count": count,
        "metadata": {},
        "outputs": [{"output_type": kind} for kind in outputs],
    }


def tiny(root, **chapters):
    """Make a project in `root` whose chapters have the given code cells; return root."""
    (root / "book").mkdir()
    (root / "companion").mkdir()
    (root / "companion" / "__init__.py").write_text("")
    (root / "requirements.txt").write_text("numpy\n")
    for name, sources in chapters.items():
        notebook(root / "book" / f"{name}.ipynb", *sources)
    listed = [{"file": f"book/{name}"} for name in list(chapters)[1:]]
    toc = {
        "format": "jb-book",
        "root": f"book/{next(iter(chapters))}",
        "chapters": listed,
    }
    (root / "_toc.yml").write_text(json.dumps(toc))  # JSON is YAML
    return root


def command(root, *options):
    """The command line of the runner for the project in `root`."""
    return [
        sys.executable,
        "-m",
        "tools.build",
        "--root",
        str(root),
        "--no-site",
        *options,
    ]


def build(root, *options):
    """Run the runner; the finished process, with its output as text."""
    # root has a `companion` as well
    told = {"PYTHONPATH": str(PROJECT), "PYTHONSAFEPATH": "1"}
    env = os.environ | told
    line = command(root, *options)
    return subprocess.run(
        line,
        capture_output=True,
        text=True,
        env=env,
        cwd=root,
        timeout=240,
    )


def asked(root, *options):
    """What the runner says in this process, which starts none but for chapters; as
    `build` has it."""
    out = io.StringIO()
    err = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = runner.main([*map(str, command(root, *options)[3:])])
    return SimpleNamespace(returncode=code, stdout=out.getvalue(), stderr=err.getvalue())


def executed(root, name):
    """The executed notebooks of a chapter, oldest first."""
    files = (root / "_build" / "executed" / name).glob("*.ipynb")
    return sorted(files, key=os.path.getmtime)
