"""Many settings, many repetitions, kept as they end: a driver that dies loses what was running.

A finished repetition is a row of a SQLite file, under a digest of all that it depends on: the
world, the policies, T, the grid, the seed, and the code.  A row is written whole or not at all,
and is made of plain arrays.  The driver alone opens the file; workers need no shared disk.

Size: the limit, and an example of ten lines.

>>> from companion.baselines.linucb import linucb
>>> from companion.environments import sphere
>>> settings = {"short": Setting(sphere(4, 3), [linucb(3)], T=200)}
>>> with tempfile.TemporaryDirectory() as folder:
...     first = sweep(settings, range(2), store=f"{folder}/runs", progress=False)
...     left = finished(settings, range(5), f"{folder}/runs")
...     more = sweep(settings, range(5), store=f"{folder}/runs", progress=False)
>>> left["missing"].tolist(), len(more["short"].regret)
([3], 5)
"""

import ast
import functools
import hashlib
import io
import pickle
import platform
import sqlite3
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numba
import numpy as np
import scipy

import companion
from companion._closure import Package, bare
from companion.simulate import as_result, need_run, need_seeds, over, repetition
from companion.validate import need_choice, need_method, need_module, need_path, shown

FORMAT = 1  # of the store
TABLE = (
    "CREATE TABLE repetitions (digest TEXT PRIMARY KEY, setting TEXT, rows INTEGER, "
    "columns INTEGER, regret BLOB, seconds BLOB)"
)
PACKAGE = Package(Path(companion.__file__).parent)


class Setting(NamedTuple):
    """One setting of a sweep: the arguments of `simulate` but seeds and executor."""

    env: Any
    policies: tuple
    T: int
    grid: object = None


def sweep(
    settings,
    seeds,
    executor=None,
    *,
    store,
    progress: bool = True,
):
    """{name: `Result`} of every setting, one repetition per seed; what is in the store is not run.

    settings: {name: `Setting`}; seeds: as `simulate` takes them, the same for all settings;
    executor: as for `simulate`; store: path of a file, made if there is none; progress: whether to
    show a bar.  Needs `private-bandits[sweeps]`.  The numbers are those of `simulate`, to the bit.
    A process or a Dask worker gets a setting once; other executors send it each time.

    Raises ValueError before anything runs on bad arguments, on a file that is no store, and on a
    world or a policy that is written in a notebook: no digest could know it again.  If a worker
    dies and its executor gives up, the error is raised, what had ended is kept, and the same call
    goes on from there.
    """
    tqdm = need_module("tqdm", "sweeps").tqdm
    settings, seeds = _need_settings(settings, seeds)
    need_choice("progress", progress, (True, False))
    if executor is not None:
        need_method("executor", executor, "submit")
    keys = _keys(settings, seeds)
    with closing(_opened(store)) as rows, _sent(settings, executor) as sent:
        known = _known(rows, keys.values())
        todo = [job for job, key in keys.items() if key not in known]

        def keep(place, run):
            name, i = todo[place]
            known[keys[name, i]] = run
            with rows:
                rows.execute(
                    "INSERT OR REPLACE INTO repetitions VALUES (?, ?, ?, ?, ?, ?)",
                    (keys[name, i], name, *run[0].shape, run[0].tobytes(), run[1].tobytes()),
                )
            bar.update()

        with tqdm(total=len(keys), initial=len(keys) - len(todo), disable=not progress) as bar:
            over(_one, [(sent[name], seeds[i]) for name, i in todo], executor, keep)
    return {
        name: as_result(s.policies, s.grid, [known[keys[name, i]] for i in range(len(seeds))])
        for name, s in settings.items()
    }


def finished(settings, seeds, store):
    """Data frame of what is done: setting, repetitions done, repetitions missing, CPU seconds.

    The arguments of `sweep`; nothing runs and nothing is written.  Needs pandas.
    """
    pd = need_module("pandas", "sweeps")
    settings, seeds = _need_settings(settings, seeds)
    keys = _keys(settings, seeds)
    need_path("store", store)
    known, lines = {}, []
    if Path(store).exists():
        with closing(_opened(store)) as rows:
            known = _known(rows, keys.values())
    for name in settings:
        runs = [known[k] for (n, _), k in keys.items() if n == name and k in known]
        seconds = float(sum(run[1].sum() for run in runs))
        lines.append((name, len(runs), len(seeds) - len(runs), seconds))
    return pd.DataFrame(lines, columns=["setting", "done", "missing", "CPU seconds"])


def _need_settings(settings, seeds):
    if not isinstance(settings, dict) or not settings:
        raise ValueError(f"settings must be a dictionary of named settings; got {shown(settings)}")
    seeds, checked = need_seeds(seeds), {}
    for name, s in settings.items():
        if not isinstance(name, str) or not isinstance(s, Setting):
            raise ValueError(f"settings must be {{name: Setting}}; got {shown({name: s})}")
        need_method(f"env of setting {name!r}", s.env, "blocks")
        policies, T, _, grid = need_run(s.policies, s.T, seeds, s.grid)
        checked[name] = Setting(s.env, policies, T, grid)
    return checked, seeds


def _one(setting, seed):
    """One repetition, in a worker; a parcel is opened once per process."""
    env, policies, T, grid = _opened_parcel(setting.path) if type(setting) is _Parcel else setting
    return repetition(env, policies, T, seed, grid)


class _Parcel(NamedTuple):
    path: str  # of a file that this very driver wrote, in a folder that its user alone can read


@functools.lru_cache(maxsize=64)
def _opened_parcel(path):
    return pickle.loads(Path(path).read_bytes())


@contextmanager
def _sent(settings, executor):
    """{name: what stands for a setting in a job}, so that a worker gets each setting once."""
    if hasattr(executor, "scatter"):  # Dask: the result of a task, which is made again if lost
        yield {n: executor.submit(_same, s, pure=False) for n, s in settings.items()}
    elif isinstance(executor, ProcessPoolExecutor):
        with tempfile.TemporaryDirectory(prefix="sweep-") as folder:
            for i, s in enumerate(settings.values()):
                Path(folder, str(i)).write_bytes(pickle.dumps(s))
            yield {n: _Parcel(str(Path(folder, str(i)))) for i, n in enumerate(settings)}
    else:
        yield settings


def _same(value):
    return value


def _opened(store):
    """The store as a connection, made if there is none; ValueError on another file or format."""
    need_path("store", store)
    rows = None
    try:
        rows = sqlite3.connect(store, timeout=60.0)
        with rows:
            rows.execute("BEGIN IMMEDIATE")
            (found,) = rows.execute("PRAGMA user_version").fetchone()
            if not rows.execute("SELECT name FROM sqlite_master").fetchall() and found == 0:
                rows.execute(TABLE)
                found = rows.execute(f"PRAGMA user_version = {FORMAT}") and FORMAT
            made = rows.execute("SELECT sql FROM sqlite_master WHERE name = 'repetitions'")
        if found != FORMAT or made.fetchone() != (TABLE,):
            raise sqlite3.DatabaseError(f"format {found}, not {FORMAT}")
    except (sqlite3.Error, TypeError) as error:
        if rows is not None:
            rows.close()
        raise ValueError(
            f"store must be the path of a store of sweeps, or of no file yet; got {shown(store)} "
            f"({error})"
        ) from error
    return rows


def _known(rows, keys):
    """{digest: (regret, seconds)} of those of these repetitions that are in the store."""
    found = {}
    for key in keys:
        row = rows.execute(
            "SELECT rows, columns, regret, seconds FROM repetitions WHERE digest = ?", (key,)
        ).fetchone()
        if row:
            regret, seconds = (np.frombuffer(part).copy() for part in row[2:])
            found[key] = regret.reshape(row[:2]), seconds
    return found


def _keys(settings, seeds):
    """{(setting, place of the seed): digest of all that the repetition depends on}."""
    found = {}
    for name, s in settings.items():
        digest = _digest(name, s)
        for i, seed in enumerate(seeds):
            text = repr((digest, seed.entropy, tuple(seed.spawn_key)))
            found[name, i] = hashlib.sha256(text.encode()).hexdigest()
    return found


def _digest(name, s):
    joblib, names = need_module("joblib", "sweeps"), _Names()
    try:
        names.dump(s.env)
        values = joblib.hash((s.env, [(p.name, p.params) for p in s.policies], s.T, s.grid))
    except (pickle.PicklingError, AttributeError, TypeError, RecursionError) as error:
        raise ValueError(f"env of setting {name!r} must travel to processes: {error}") from error
    kernels = {getattr(f, "py_func", f) for p in s.policies for f in p if callable(f)}
    versions = [m.__version__ for m in (np, scipy, numba)]
    code = _code(names.modules | {f.__module__ for f in kernels}, name)
    about = FORMAT, platform.python_version_tuple()[:2], versions, values, code
    return hashlib.sha256(repr(about).encode()).hexdigest()


class _Names(pickle.Pickler):
    """Modules of the classes and functions that a value is made of."""

    def __init__(self):
        super().__init__(io.BytesIO())
        self.modules = set()

    def reducer_override(self, value):
        if isinstance(value, (type, FunctionType)):
            self.modules.add(value.__module__)
        return NotImplemented


def _code(modules, name):
    """What is known of the code: our modules with all they import, each other one by its file."""
    ours, others = {"companion.simulate"}, []
    for module in sorted(modules):
        file = getattr(sys.modules.get(module), "__file__", None)
        if module.split(".")[0] == PACKAGE.name:
            ours.add(module)
        elif module == "__main__" and file is None:
            raise ValueError(
                f"settings must be made of importable code, so that it is known again; setting "
                f"{name!r} holds something written in a notebook: move it to a file"
            )
        elif file and file.endswith(".py"):
            tree = ast.parse(Path(file).read_bytes())
            ours |= PACKAGE.imported(tree)
            others.append((module, hashlib.sha256(ast.dump(bare(tree)).encode()).hexdigest()))
    return PACKAGE.digest(ours), others
