"""Executed notebooks by content: what is whole is kept, what is not is never taken for a
result."""

import ast
import copy
import hashlib
import json
import os
import sys

from companion._closure import Package
from companion._stamps import stamp
from tools.chapters import code, plain, source, tags
from tools.errors import Failure

RUN = "book_run"  # notebook metadata of an executed chapter: key, seconds, cpu_seconds
# executions kept per chapter, so that going back to earlier parameters runs nothing
KEPT = 4


def digest(thing):
    """SHA-256 of the canonical JSON of `thing`."""
    return hashlib.sha256(json.dumps(thing, sort_keys=True).encode()).hexdigest()


def put(path, data):
    """Write `data` to `path` so that a reader sees the old file or the new one, nothing
    between."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def dump(thing):
    """The bytes of a JSON file that people can read."""
    return (
        json.dumps(thing, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    ).encode()


def environment(root):
    """Digest of what every chapter depends on: pinned requirements, Python."""
    lines = (root / "requirements.txt").read_text("utf8").splitlines()
    return digest(
        [[line for line in lines if not line.startswith("#")], sys.version_info[:3]]
    )


def package(root):
    """The package of a project, as it is now: no file of it may change while chapters
    run."""
    return Package(root / "companion", root / "evidence")


def imports(package, chapter):
    """The modules of the package that the cells of a chapter import."""
    trees = [ast.parse(plain(source(cell))) for cell in code(chapter.notebook)]
    return set().union(*map(package.imported, trees))


def closure(root, package, modules):
    """Digest of these modules, of what they import, transitively, and of their data."""
    return digest([package.digest(modules), _files(package.data(modules), root)])


def need_same(chapter, executed, seen):
    """Raise Failure if what ran need not be what the chapter's key was made of.

    seen: {path: stamp} of the files that it reads, from before they were digested.
    """
    ran = [source(c) for c in code(executed) if "injected-parameters" not in tags(c)]
    changed = [path for path, was in seen.items() if stamp(path) != was]
    if ran != [source(c) for c in code(chapter.notebook)]:
        changed.append(chapter.path)
    if changed:
        names = ", ".join(map(os.path.relpath, changed))
        raise Failure(
            f"{chapter.name} ran while this was written to, so its result is not kept: "
            f"{names}. Say the same again."
        )


def _files(paths, root):
    """[(name, digest)] of files below root."""
    found = sorted(p for p in paths if p.is_file())
    return [
        [p.relative_to(root).as_posix(), hashlib.sha256(p.read_bytes()).hexdigest()]
        for p in found
    ]


def key(chapter, parameters, depends, inputs=""):
    """The name of one execution: same key, same result.  Prose and the looks of cells do
    not count.

    depends: digests of what the code relies on; `inputs` digests files that it reads.
    """
    ran = [[source(c), "parameters" in tags(c)] for c in code(chapter.notebook)]
    return digest([ran, parameters, depends, inputs])


def refreshed(executed, chapter):
    """The notebook of a chapter as it stands now, with the outputs of an execution of its
    code."""
    cells = code(executed)
    injected = [c for c in cells if "injected-parameters" in tags(c)]
    outputs = iter([c for c in cells if "injected-parameters" not in tags(c)])
    now = []
    for cell in copy.deepcopy(chapter.notebook["cells"]):
        if cell["cell_type"] == "code" and source(cell).strip():
            done = next(outputs)  # the same cells in the same order: the key says so
            cell |= {
                "outputs": done["outputs"],
                "execution_count": done["execution_count"],
            }
        now.append(cell)
        if "parameters" in tags(cell):
            other_tags = [t for t in tags(cell) if t != "parameters"]
            for c in injected:
                c["metadata"]["tags"] = ["injected-parameters", *other_tags]
            now += injected
    return executed | {"cells": now}


def place(build, name, run_key):
    """Where the execution with this key is, or will be."""
    return build / "executed" / name / f"{run_key[:20]}.ipynb"


def seal(notebook, run_key, seconds, cpu_seconds):
    """The executed notebook without time stamps, with its key and what it took."""
    notebook["metadata"].pop("papermill", None)
    for cell in notebook["cells"]:
        cell["metadata"].pop("papermill", None)
        cell["metadata"].pop("execution", None)
        if "injected-parameters" in cell["metadata"].get("tags", []):
            cell["id"] = "injected-parameters"  # random otherwise
    notebook["metadata"][RUN] = {
        "key": run_key,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
    }
    return notebook


def whole(notebook):
    """Whether every cell was executed and none ended in an error."""
    ran = code(notebook)
    outputs = [o for c in ran for o in c["outputs"]]
    executed = all(c["execution_count"] is not None for c in ran)
    return executed and not any(o["output_type"] == "error" for o in outputs)


def get(build, name, run_key):
    """The executed notebook with this key, or None if there is no whole one."""
    try:
        notebook = json.loads(place(build, name, run_key).read_bytes())
        kept = notebook["metadata"][RUN]["key"] == run_key and whole(notebook)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return notebook if kept else None


def prune(build, name):
    """Forget all but the latest executions of a chapter, and what interrupted runs
    left."""
    folder = build / "executed" / name
    for old in sorted(folder.glob("*.ipynb"), key=os.path.getmtime)[:-KEPT]:
        old.unlink()
    for part in folder.glob("*.part"):
        part.unlink()
