"""Executes one notebook in a process of its own: `python -m tools.child JOB`, JOB being JSON.

Standard output carries one JSON object per line: {"done": n} after each code cell, at the end
{"cpu_seconds": s}, or {"error": ...} with the place of the failure.  Everything else goes to
standard error.  The process ends when its standard input closes, so it never outlives the runner.
"""

import json
import logging
import os
import resource
import sys
import threading

import papermill
from papermill.engines import NBClientEngine, papermill_engines
from papermill.exceptions import PapermillExecutionError

OUT = os.fdopen(os.dup(1), "w", buffering=1)
PLACE = {"cell": None}  # the cell being executed


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
                PLACE["cell"] = cell
            start(cell, cell_index, **more)

        def cell_complete(cell, cell_index=None, **more):
            complete(cell, cell_index, **more)
            if cell.cell_type == "code":
                tell(done=cell.get("id"))

        nb_man.cell_start, nb_man.cell_complete = cell_start, cell_complete
        return super().execute_managed_notebook(nb_man, kernel_name, **options)


def die_with_parent():
    """End this process when standard input closes."""
    while os.read(0, 1):  # not sys.stdin, whose lock would disturb the end of Python
        pass
    os._exit(3)


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
