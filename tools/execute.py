"""Runs the chapters that are not in the cache, a few at a time, each in its own process."""

import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import NamedTuple

from tqdm import tqdm

from tools import cache
from tools.chapters import code, source
from tools.errors import Failure, plain

TAIL = 15  # lines of a traceback that are shown


class Job(NamedTuple):
    chapter: object
    parameters: dict
    key: str


class Setting(NamedTuple):
    root: object
    build: object
    jobs: int
    cell_timeout: int


def _where(chapter, cell_id):
    """The place of a cell for people: number, id and first line."""
    for number, cell in enumerate(chapter.notebook["cells"], 1):
        if cell_id and cell.get("id") == cell_id:
            first = source(cell).strip().splitlines()[0]
            return f"cell {number} of {len(chapter.notebook['cells'])} (id {cell_id}): {first}"
    return "the cell of injected parameters" if cell_id else "before its first cell"


def _failed(job, code, error, log):
    """The Failure to raise for a process that ended badly."""
    name = job.chapter.name
    if error is None:
        lines = log.read_text("utf8", "replace").splitlines()
        return Failure(f"{name} stopped with exit code {code}\n" + "\n".join(lines[-TAIL:]))
    lines = plain(error["traceback"]).rstrip().splitlines()
    where = _where(job.chapter, error["id"])
    return Failure(f"{name} failed at {where}\n" + "\n".join(lines[-TAIL:]) + f"\nLog: {log}")


class Runner:
    """Executes jobs and keeps the results; `close` ends everything that still runs."""

    def __init__(self, setting, bar):
        self.setting, self.bar = setting, bar
        self.running, self.lock, self.closed = set(), threading.Lock(), False

    def _start(self, job, part, log):
        message = {
            "source": str(job.chapter.path),
            "target": str(part),
            "cwd": str(job.chapter.path.parent),
            "parameters": job.parameters,
            "cell_timeout": self.setting.cell_timeout,
        }
        here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
        with self.lock:
            if self.closed:
                raise Failure(f"{job.chapter.name} was not started")
            process = subprocess.Popen(
                [sys.executable, "-m", "tools.child", json.dumps(message)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                env=os.environ | self._environment() | {"PYTHONPATH": path},
                text=True, start_new_session=True,
            )  # fmt: skip
            self.running.add(process)
        return process

    def _environment(self):
        threads = max(1, (os.cpu_count() or 1) // self.setting.jobs)
        return {"OPENBLAS_NUM_THREADS": "1", "COMPANION_THREADS": str(threads)}

    def execute(self, job):
        """Execute one job and keep its result.  Raises Failure naming chapter and cell."""
        final = cache.place(self.setting.build, job.chapter.name, job.key)
        part, log = final.with_name(f"{os.getpid()}.part"), final.with_name("last.log")
        final.parent.mkdir(parents=True, exist_ok=True)
        begin, error, cpu = time.perf_counter(), None, None
        with log.open("w") as stream:
            process = self._start(job, part, stream)
        cells = {}
        for line in process.stdout:
            message = json.loads(line)
            if "done" in message:
                cells[message["done"]] = message["seconds"]
                self.bar.update()
            error, cpu = message.get("error", error), message.get("cpu_seconds", cpu)
        code = process.wait()
        process.stdin.close()
        self.running.discard(process)
        if code or cpu is None:
            raise _failed(job, code, error, log)
        seconds = round(time.perf_counter() - begin, 2)
        notebook = cache.seal(json.loads(part.read_bytes()), job.key, seconds, cpu, cells)
        if not cache.whole(notebook, job.key):
            raise Failure(f"{job.chapter.name}: not every cell was executed, see {log}")
        cache.put(final, cache.dump(notebook))
        cache.prune(self.setting.build, job.chapter.name)
        self.bar.write(f"{job.chapter.name}: executed in {seconds:.1f} s ({cpu:.1f} s of CPU)")

    def close(self):
        """End all processes that still run."""
        with self.lock:
            self.closed = True
            for process in self.running:
                process.terminate()


def took(build):
    """{chapter: seconds} of the last whole run; empty before it."""
    try:
        times = json.loads((build / "results" / "times.json").read_text("utf8"))
        return {row["chapter"]: row["seconds"] for row in times["chapters"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def run(setting, jobs):
    """Execute all jobs, those first that took longest in the run before.  Raises Failure with every
    chapter that failed; the others are kept.
    """
    if not jobs:
        return
    before = took(setting.build)
    jobs = sorted(jobs, key=lambda job: -before.get(job.chapter.name, 0.0))
    names = ", ".join(job.chapter.name for job in jobs)
    print(f"Executing {names}", flush=True)
    total = sum(len(code(job.chapter.notebook)) for job in jobs)
    bar = tqdm(total=total, unit="cell", desc=names[:60], disable=None)  # in a terminal only
    with bar, ThreadPoolExecutor(setting.jobs) as pool:
        runner = Runner(setting, bar)
        todo = [pool.submit(runner.execute, job) for job in jobs]
        try:
            wait(todo, return_when=FIRST_EXCEPTION)
        except BaseException:
            runner.close()
            raise
        if any(f.done() and f.exception() for f in todo):
            for future in todo:
                future.cancel()
    problems = [f.exception() for f in todo if not f.cancelled() and f.exception()]
    for problem in problems:
        if not isinstance(problem, Failure | OSError):
            raise problem
    if problems:
        raise Failure("\n\n".join(map(str, problems)))
