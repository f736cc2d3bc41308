"""A sweep is what `simulate` gives, from any executor, through any death, and to the bit."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
import sweeps
from streams import same_bits

from companion import simulate as simulation
from companion.baselines.linucb import linucb
from companion.baselines.random import random
from companion.environments import replay, sphere
from companion.simulate import repetitions, simulate
from companion.sweep import Setting, finished, sweep

SPHERE = Setting(sphere(3, 3), (linucb(3), random()), 60)
SEEDS = repetitions(5, 3)


def ran(monkeypatch):
    """A list that grows with each repetition that really runs."""
    runs = []

    def counted(env, policies, T, seed, grid):
        runs.append(seed)
        return simulation.repetition(env, policies, T, seed, grid)

    monkeypatch.setattr("companion.sweep.repetition", counted)
    return runs


def test_a_sweep_is_simulate_and_a_second_one_runs_nothing(tmp_path, monkeypatch):
    runs, store = ran(monkeypatch), tmp_path / "store"
    found = sweep({"a": SPHERE}, SEEDS, store=store, progress=False)["a"]
    straight = simulate(*SPHERE[:3], SEEDS)
    assert same_bits(found.regret, straight.regret)
    assert (found.names, found.guarantees) == (straight.names, straight.guarantees)
    assert len(runs) == 3
    again = sweep({"other name": SPHERE}, SEEDS, store=store, progress=False)["other name"]
    assert same_bits(again.regret, found.regret)
    assert same_bits(again.seconds, found.seconds)
    assert len(runs) == 3
    sweep({"a": SPHERE}, repetitions(5, 5), store=store, progress=False)
    assert len(runs) == 5  # the seeds that were not there


X = np.random.default_rng(0).uniform(-0.5, 0.5, (60, 3, 3))
CHANGES = {
    "world": {"env": sphere(4, 3)},
    "array in the world": {"env": replay(X, X[:, :, 0])},
    "last bit of an array": {"env": replay(X, np.nextafter(X[:, :, 0], 1.0))},
    "T": {"T": 61},
    "grid": {"grid": [7]},
    "parameter": {"policies": (linucb(3, ridge=2.0), random())},
    "name": {"policies": (linucb(3), random().renamed("other"))},
    "order": {"policies": (random(), linucb(3))},
}


def test_whatever_a_repetition_depends_on_is_in_the_digest(tmp_path, monkeypatch):
    runs, store = ran(monkeypatch), tmp_path / "store"
    for n, change in enumerate([{}, *CHANGES.values()], 1):
        sweep({"a": SPHERE._replace(**change)}, [1], store=store, progress=False)
        assert len(runs) == n, change
    monkeypatch.setattr("companion.sweep.PACKAGE.digest", lambda modules: "edited code")
    sweep({"a": SPHERE}, [1], store=store, progress=False)
    assert len(runs) == len(CHANGES) + 2


@pytest.mark.parametrize("module", ["tqdm", "joblib", "pandas"])
def test_what_is_not_installed_is_named_with_the_command_that_installs_it(
    module, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, module, None)
    call = finished if module == "pandas" else sweep
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'private-bandits\[sweeps\]'") as e:
        call({"a": SPHERE}, [1], store=tmp_path / "store")
    assert module in str(e.value)
    assert "\n" not in str(e.value)


def test_the_table_says_what_is_done(tmp_path):
    store = tmp_path / "store"
    four = SPHERE._replace(env=sphere(4, 3))
    assert finished({"a": SPHERE}, [1], store).values.tolist() == [["a", 0, 1, 0.0]]
    assert not store.exists()
    sweep({"a": SPHERE}, [1, 2], store=store, progress=False)
    table = finished({"a": SPHERE, "b": four}, [1, 2, 3], store)
    assert list(table.columns) == ["setting", "done", "missing", "CPU seconds"]
    assert table.iloc[:, :3].values.tolist() == [["a", 2, 1], ["b", 0, 3]]
    assert table["CPU seconds"][0] > 0


def test_what_had_ended_is_kept_when_a_repetition_fails(tmp_path):
    class Failing(ThreadPoolExecutor):
        def submit(self, task, setting, seed):
            return super().submit(task if seed.entropy < 2 else self.fail, setting, seed)

        def fail(self, *_):
            raise ZeroDivisionError("planted")

    store = tmp_path / "store"
    with Failing(1) as pool, pytest.raises(ZeroDivisionError, match="planted"):
        sweep({"a": SPHERE}, range(4), pool, store=store, progress=False)
    assert finished({"a": SPHERE}, range(4), store)["done"][0] == 2


def marks(path, what):
    text = path.read_text() if path.exists() else ""
    return [int(line.split()[1]) for line in text.splitlines() if line.startswith(what)]


def test_a_process_gets_a_setting_once(tmp_path):
    few = sweeps.settings(str(tmp_path / "marks"))
    with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
        found = sweep(few, range(6), pool, store=tmp_path / "store", progress=False)
    began, arrived = (marks(tmp_path / "marks", what) for what in ("began", "arrived"))
    assert len(began) == 12
    assert len(arrived) <= 2 * len(set(began))  # two settings; it would be 12
    straight = sweep(few, range(6), store=tmp_path / "threads", progress=False)
    assert all(same_bits(found[n].regret, straight[n].regret) for n in few)


def test_dask_gets_a_setting_once(tmp_path):
    from distributed import Client

    few, file = sweeps.settings(str(tmp_path / "marks")), tmp_path / "marks"
    options = {"n_workers": 1, "threads_per_worker": 2, "dashboard_address": None}
    with Client(processes=False, **options) as client:
        found = sweep(few, range(6), client, store=tmp_path / "store", progress=False)
    assert len(marks(file, "arrived")) < 6  # scheduler and worker; it would be 12 at least
    straight = sweep(few, range(6), store=tmp_path / "threads", progress=False)
    assert all(same_bits(found[n].regret, straight[n].regret) for n in few)


def rows(store):
    try:
        with sqlite3.connect(store, timeout=60) as kept:
            return kept.execute("SELECT count(*) FROM repetitions").fetchone()[0]
    except sqlite3.OperationalError:  # not made yet
        return 0


def until(condition):
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.slow
def test_a_worker_dies_then_the_driver_and_then_it_is_finished_to_the_bit(tmp_path):
    """Killed with -9 both; what had ended stays, and the rest is run once more."""
    store, file, n = tmp_path / "store", tmp_path / "marks", 6
    command = [sys.executable, sweeps.__file__, str(store), str(file), str(n)]
    slow = os.environ | {"PAUSE": "0.25"}
    first = subprocess.Popen(command, env=slow, stderr=subprocess.PIPE, text=True)
    until(lambda: rows(store) >= 2)
    os.kill(marks(file, "began")[-1], signal.SIGKILL)
    assert "BrokenProcessPool" in first.communicate(timeout=120)[1]
    kept = rows(store)
    assert 2 <= kept < 2 * n

    second = subprocess.Popen(command, env=slow, start_new_session=True)
    until(lambda: rows(store) >= kept + 2)
    os.killpg(second.pid, signal.SIGKILL)  # the driver, and its workers with it
    second.wait(timeout=120)
    kept, begun = rows(store), len(marks(file, "began"))
    assert kept < 2 * n

    subprocess.run(command, check=True, timeout=120)
    assert rows(store) == 2 * n
    assert len(marks(file, "began")) - begun == 2 * n - kept
    few = sweeps.settings(str(file))
    found = sweep(few, range(n), store=store, progress=False)
    for name, s in few.items():
        straight = simulate(s.env, s.policies, s.T, list(range(n)))
        assert same_bits(found[name].regret, straight.regret)


def test_a_file_that_is_no_store_is_refused_and_left_alone(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    with pytest.raises(ValueError, match="store must be the path of a store of sweeps"):
        sweep({"a": SPHERE}, [1], store=file, progress=False)
    assert file.read_text() == "mine"
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE mine (x)")
    for bad in (other, tmp_path / "no" / "folder", 3):
        with pytest.raises(ValueError, match="store must be"):
            sweep({"a": SPHERE}, [1], store=bad, progress=False)
    with sqlite3.connect(other) as db:
        assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("mine",)]


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("settings must be a dictionary", {"settings": {}}),
        ("settings must be a dictionary", {"settings": [SPHERE]}),
        ("settings must be {name: Setting}", {"settings": {"a": sphere(3, 3)}}),
        ("settings must be {name: Setting}", {"settings": {3: SPHERE}}),
        ("env of setting 'a' must be", {"settings": {"a": SPHERE._replace(env=None)}}),
        ("T must", {"settings": {"a": SPHERE._replace(T=0)}}),
        ("seeds", {"seeds": [-1]}),
        ("executor must be", {"executor": 4}),
        ("progress must be", {"progress": 2}),
    ],
)
def test_refused_before_anything_is_written(text, change, tmp_path):
    keys = {"settings": {"a": SPHERE}, "seeds": [1], "progress": False} | change
    with pytest.raises(ValueError, match=text):
        sweep(**keys, store=tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_what_cannot_be_known_again_is_refused(tmp_path, monkeypatch):
    class Local:
        def blocks(self, T, rng):
            raise AssertionError

    with pytest.raises(ValueError, match="env of setting 'a' must travel"):
        sweep({"a": SPHERE._replace(env=Local())}, [1], store=tmp_path / "store")
    monkeypatch.setattr(sweeps.Marked, "__module__", "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "Marked", sweeps.Marked, raising=False)
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    with pytest.raises(ValueError, match="written in a notebook: move it to a file"):
        sweep(sweeps.settings(""), [1], store=Path(tmp_path, "store"))
    assert not (tmp_path / "store").exists()
