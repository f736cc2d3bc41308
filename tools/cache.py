"""Executed notebooks by content: what is whole is kept, what is not is never taken for a result."""

import hashlib
import json
import os
import sys

from tools.chapters import source

RUN = "book_run"  # notebook metadata of an executed chapter: key, seconds, cpu_seconds, digest
KEPT = 4  # executions kept per chapter, so that going back to earlier parameters runs nothing


def digest(thing):
    """SHA-256 of the canonical JSON of `thing`."""
    return hashlib.sha256(json.dumps(thing, sort_keys=True).encode()).hexdigest()


def put(path, data):
    """Write `data` to `path` so that a reader sees the old file or the new one, nothing between."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def dump(thing):
    """The bytes of a JSON file that people can read."""
    return (json.dumps(thing, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode()


def package(root):
    """Digest of all that every chapter depends on: package, data, pinned requirements, Python."""
    files = [
        p
        for folder in (root / "companion", root / "book" / "data")
        for p in sorted(folder.rglob("*"))
        if p.is_file() and "__pycache__" not in p.parts
    ]
    content = [
        [p.relative_to(root).as_posix(), hashlib.sha256(p.read_bytes()).hexdigest()] for p in files
    ]
    lines = (root / "requirements.txt").read_text("utf8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    return digest([content, pins, sys.version_info[:3]])


def key(chapter, parameters, package_digest, inputs=""):
    """The name of one execution: same key, same result.  `inputs` digests files that it reads."""
    cells = [[c["cell_type"], source(c), c["metadata"]] for c in chapter.notebook["cells"]]
    return digest([cells, parameters, package_digest, inputs])


def place(build, name, run_key):
    """Where the execution with this key is, or will be."""
    return build / "executed" / name / f"{run_key[:20]}.ipynb"


def seal(notebook, run_key, seconds, cpu_seconds):
    """The executed notebook without time stamps, with its key and a digest of everything in it."""
    notebook["metadata"].pop("papermill", None)
    hidden = [
        t
        for c in notebook["cells"]
        if "parameters" in c["metadata"].get("tags", [])
        for t in c["metadata"]["tags"]
        if t != "parameters"
    ]
    for cell in notebook["cells"]:
        cell["metadata"].pop("papermill", None)
        cell["metadata"].pop("execution", None)
        if "injected-parameters" in cell["metadata"].get("tags", []):
            cell["id"] = "injected-parameters"  # random otherwise
            cell["metadata"]["tags"] = ["injected-parameters", *hidden]
    run = {"key": run_key, "seconds": seconds, "cpu_seconds": cpu_seconds}
    notebook["metadata"][RUN] = run
    run["digest"] = digest(notebook)
    return notebook


def whole(notebook, run_key):
    """Whether this is the complete, error-free result of the execution named by `run_key`."""
    try:
        run = dict(notebook["metadata"][RUN])
        said = run.pop("digest")
        bare = notebook | {"metadata": notebook["metadata"] | {RUN: run}}
        code = [c for c in notebook["cells"] if c["cell_type"] == "code" and source(c).strip()]
        return (
            run["key"] == run_key
            and said == digest(bare)
            and all(c["execution_count"] is not None for c in code)
            and not any(o["output_type"] == "error" for c in code for o in c["outputs"])
        )
    except (KeyError, TypeError, AttributeError):
        return False


def get(build, name, run_key):
    """The executed notebook with this key, or None if there is no whole one."""
    try:
        notebook = json.loads(place(build, name, run_key).read_bytes())
    except (OSError, ValueError):
        return None
    return notebook if whole(notebook, run_key) else None


def prune(build, name):
    """Forget all but the latest executions of a chapter, and what interrupted runs left."""
    folder = build / "executed" / name
    for old in sorted(folder.glob("*.ipynb"), key=os.path.getmtime)[:-KEPT]:
        old.unlink()
    for part in folder.glob("*.part"):
        part.unlink()
