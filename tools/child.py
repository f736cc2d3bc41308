"""Executes one notebook in a process of its own: `python -m tools.child JOB`, JOB being JSON.

Standard output carries one JSON object per line: {"done": id, "seconds": s} after each code cell,
with the seconds of CPU that it took; at the end {"cpu_seconds": s}, or {"error": ...} with the
place of the failure.  Everything else goes to standard error.  The process ends when its standard
input closes, so it never outlives the runner.
"""

import contextlib
import json
import logging
import os
import resource
import sys
import threading

import papermill
import psutil
from papermill.engines import NBClientEngine, papermill_engines
from papermill.exceptions import PapermillExecutionError

from tools.leash import die_with_parent

OUT = os.fdopen(os.dup(1), "w", buffering=1)
PLACE = {"cell": None, "begin": 0.0}  # the cell being executed, seconds of CPU when it began


def used():
    """Seconds of CPU that this process's children, the kernel and its workers, have taken."""
    total = 0.0
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it may have ended
            total += sum(process.cpu_times()[:2])
    return total


def tell(**message):
    """Send one message to the runner."""
    print(json.dumps(message), file=OUT)


class Engine(NBClientEngine):
    """papermill's own engine, telling after each cell how far it is."""

    @classmethod
    def execute_managed_notebook(cls, nb_man, kernel_name, **options):
        start, complete = nb_man.cell_start, nb_man.cell_complete

        def cell_start(cell, cell_index=None, **more):
            if cell.cell_type == "code":
                PLACE["cell"], PLACE["begin"] = cell, used()
            start(cell, cell_index, **more)

        def cell_complete(cell, cell_index=None, **more):
            complete(cell, cell_index, **more)
            if cell.cell_type == "code":
                tell(done=cell.get("id"), seconds=round(used() - PLACE["begin"], 3))

        nb_man.cell_start, nb_man.cell_complete = cell_start, cell_complete
        return super().execute_managed_notebook(nb_man, kernel_name, **options)


def explain(error):
    """Where and why the execution stopped."""
    cell = PLACE["cell"]
    if isinstance(error, PapermillExecutionError):
        lines = "\n".join(error.traceback) or f"{error.ename}: {error.evalue}"
    else:
        lines = f"{type(error).__name__}: {error}"
    return {"id": cell.get("id") if cell else None, "traceback": lines}


def main():
    job = json.loads(sys.argv[1])
    threading.Thread(target=die_with_parent, daemon=True).start()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    os.dup2(2, 1)  # whatever prints, prints to the log
    papermill_engines.register("book", Engine)
    try:
        papermill.execute_notebook(
            job["source"],
            job["target"],
            parameters=job["parameters"],
            engine_name="book",
            kernel_name="python3",
            cwd=job["cwd"],
            progress_bar=False,
            log_output=True,
            execution_timeout=job["cell_timeout"],
        )
    except Exception as error:  # whatever it is, the runner reports it with its place
        tell(error=explain(error))
        raise
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    tell(cpu_seconds=round(used.ru_utime + used.ru_stime, 2))


if __name__ == "__main__":
    main()
