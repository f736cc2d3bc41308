"""Runs the chapters that are not in the cache, a few at a time, each in a process of its
own."""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import yaml

from tools import cache
from tools.errors import Failure, plain

TAIL = 15  # lines of a log that are shown
WIDEST = 300  # letters of each
# first letters of variables that would change results unseen
READERS = ("PYTHON", "IPYTHON", "JUPYTER", "MPL", "MATPLOTLIB", "PAPERMILL")
PLACE = "Exception encountered at"  # papermill's line that names the cell


class Job(NamedTuple):
    chapter: object
    parameters: dict
    key: str
    seen: dict  # {path: stamp} of the files that its key digests, from before that


class Setting(NamedTuple):
    root: object
    build: object
    jobs: int
    cell_timeout: int


def surroundings():
    """The variables of the environment, without what would change results unseen.

    Left out: all that Python, IPython, Jupyter, Matplotlib and Papermill read.  Python's
    path is the project's root alone.
    """
    kept = {name: v for name, v in os.environ.items() if not name.startswith(READERS)}
    return kept | {"PYTHONPATH": str(Path(__file__).resolve().parent.parent)}


def kernels(build):
    """Variables with which Jupyter starts `python3` as this Python, IPython has no
    profile, and Matplotlib its own settings and fonts.

    Writes the kernel below `build`.
    """
    own = build / "jupyter"
    default = Path(find_spec("matplotlib").origin).with_name("mpl-data") / "matplotlibrc"
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    told = {"argv": command, "display_name": "Python 3", "language": "python"}
    cache.put(own / "kernels" / "python3" / "kernel.json", cache.dump(told))
    return {
        "JUPYTER_PATH": str(own),  # the first place where a kernel is looked for
        "JUPYTER_DATA_DIR": str(own),
        "JUPYTER_CONFIG_DIR": str(own / "config"),
        "JUPYTER_NO_CONFIG": "1",
        "IPYTHONDIR": str(own / "ipython"),
        "MATPLOTLIBRC": str(default),
        "MPLCONFIGDIR": str(own / "matplotlib"),  # a list of fonts that is not stale
    }


def start(command, *arguments, log, **environment):
    """Start a command of a library, "module:function", in a process that ends with this
    one."""
    return subprocess.Popen(
        [sys.executable, "-m", "tools.child", command, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        env=surroundings() | environment,
        text=True,
        errors="replace",
        start_new_session=True,
    )


def finish(process):
    """(exit code, what it printed) of a process, once it has ended."""
    printed = process.stdout.read()
    code = process.wait()
    process.stdin.close()
    return code, printed


def execute(setting, job, running, variables):
    """Execute one job and keep its result; `running` holds the process meanwhile.

    variables: those of `kernels`.  Raises Failure with the chapter, the cell and the end
    of the traceback.
    """
    name = job.chapter.name
    source = job.chapter.path
    final = cache.place(setting.build, name, job.key)
    part = final.with_name(f"{os.getpid()}.part")
    log = final.with_name("last.log")
    final.parent.mkdir(parents=True, exist_ok=True)
    threads = max(1, (os.cpu_count() or 1) // setting.jobs)
    begin = time.perf_counter()
    with log.open("w") as stream:
        process = start(
            "papermill.cli:papermill",
            source,
            part,
            "--cwd",
            source.parent,
            "-k",
            "python3",
            "-y",
            yaml.safe_dump(job.parameters),
            "--execution-timeout",
            setting.cell_timeout,
            "--log-output",
            "--no-progress-bar",
            log=stream,
            OPENBLAS_NUM_THREADS="1",
            COMPANION_THREADS=str(threads),
            **variables,
        )
        running.append(process)
        code, printed = finish(process)
    if code:
        lines = plain(log.read_text("utf8", "replace")).rstrip().splitlines()
        where = next(
            (line for line in reversed(lines) if PLACE in line),
            f"Exit code {code}",
        )
        shown = [line[:WIDEST] for line in lines[-TAIL:]]
        raise Failure("\n".join([f"{name} failed. {where}", *shown, f"Log: {log}"]))
    seconds = round(time.perf_counter() - begin, 2)
    cpu = float(printed.split()[-1])
    notebook = json.loads(part.read_bytes())
    cache.need_same(job.chapter, notebook, job.seen)
    notebook = cache.seal(notebook, job.key, seconds, cpu)
    if not cache.whole(notebook):
        raise Failure(f"{name}: not every cell was executed without an error, see {log}")
    cache.put(final, cache.dump(notebook))
    cache.prune(setting.build, name)
    print(f"{name}: executed in {seconds:.1f} s ({cpu:.1f} s of CPU)", flush=True)


def run(setting, jobs):
    """Execute all jobs, those first that took longest in the run before.  Raises Failure
    with every chapter that failed; the others are kept.
    """
    if not jobs:
        return
    times = setting.build / "results" / "times.json"
    running = []
    rows = json.loads(times.read_text("utf8"))["chapters"] if times.is_file() else []
    before = {row["chapter"]: row["seconds"] for row in rows}
    jobs = sorted(jobs, key=lambda job: -before.get(job.chapter.name, 0.0))
    print(f"Executing {', '.join(job.chapter.name for job in jobs)}", flush=True)
    variables = kernels(setting.build)
    with ThreadPoolExecutor(setting.jobs) as pool:
        todo = [pool.submit(execute, setting, job, running, variables) for job in jobs]
        try:
            wait(todo, return_when=FIRST_EXCEPTION)
            pool.shutdown(cancel_futures=True)  # after a failure, those that run go on
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in running:
                process.kill()
            raise
    problems = [f.exception() for f in todo if not f.cancelled() and f.exception()]
    for problem in problems:
        if not isinstance(problem, Failure | OSError):
            raise problem
    if problems:
        raise Failure("\n\n".join(map(str, problems)))
