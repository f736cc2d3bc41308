"""A run of one's own: counted, asked late, saved, loaded, interrupted."""

import errno
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest
import runs
import streams
from streams import flat, same_bits, stream_for

from companion import held, policies
from companion.contract import LARGEST_RECORD
from companion.live import Live
from companion.policies import fliphat, jdp_linucb, linucb

EVERY = list(policies.TABLE)
LATE = [n for n in EVERY if streams.example(n).delayed_feedback]
IN_ORDER = [n for n in EVERY if n not in LATE]
X = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


@pytest.fixture
def policy(name):
    return streams.example(name)


def jdp(T=400, **changes):
    return jdp_linucb(3, T, **({"epsilon": 1.0, "delta": 0.1} | changes))


def feed(live, X, R, rounds):
    arms = []
    for t in rounds:
        arms.append(live.select(X[t]))
        live.update(arms[-1], R[t, arms[-1]])
    return arms


def loaded(live, file):
    """The run again, after it was saved, closed and loaded."""
    live.save(file)
    live.close()
    return Live.load(file, live.policy)


def need_not_loaded(words, file, policy=None):
    """Loading this file is refused in these words, by default for a LinUCB."""
    with pytest.raises(ValueError, match=words):
        Live.load(file, policy or linucb(3))


def need_not_saved(words, file, live):
    """Saving the run there is refused in these words."""
    with pytest.raises(ValueError, match=words):
        live.save(file)


@pytest.mark.parametrize("name", EVERY)
def test_a_saved_run_goes_on_to_the_bit_but_for_its_generator(policy, tmp_path):
    file = tmp_path / "run.npz"
    X, R = stream_for(policy, 200)
    live = policy.start(5)
    feed(live, X, R, range(100))
    asked = live.select(X[100])
    live.save(file)
    live.close()
    again = Live.load(file, pickle.loads(pickle.dumps(policy)))
    assert again.report() == live.report()
    for one in (live, again):
        one.rng = np.random.default_rng(6)
        one.update(asked, R[100, asked])
    assert feed(again, X, R, range(101, 200)) == feed(live, X, R, range(101, 200))
    assert all(map(same_bits, flat(live.state), flat(again.state)))


def test_a_run_that_is_loaded_twice_draws_fresh_noise(tmp_path):
    """With the same noise the difference of the two releases would be 0.8 x, exactly."""
    file = tmp_path / "run"
    policy = jdp()
    x = np.array([0.5, 0.1, 0.2])
    live = policy.start(1)
    live.save(file)
    live.close()
    shown = []
    for r in (0.9, 0.1):
        again = Live.load(file, policy)
        again.select(np.stack([x, x]))
        again.update(0, r)
        shown.append(again.state.release[-3:].copy())
        again.close()
    assert np.abs(shown[0] - shown[1] - 0.8 * x).min() > 1e-3


SAVING = """
import sys
from companion.policies import linucb
linucb(3).start().save(sys.argv[1])
"""


def test_a_file_is_held_by_one_run_until_it_is_closed_or_gone(tmp_path):
    file = tmp_path / "run"
    policy = linucb(3)
    live = policy.start(0)
    live.save(file)
    live.save(file)
    other = runs.python(SAVING, file)
    assert "path must be free; another run holds" in other.stderr
    need_not_loaded("path must be free; another run holds", file)
    live.close()
    with pytest.raises(ValueError, match="of the same policy") as kept:  # noqa: F841
        Live.load(file, jdp())
    again = Live.load(file, policy)
    need_not_saved("path must be free", file, live)
    del again
    live.save(file)


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (jdp()._replace(select=linucb(3).select), "kernels is"),
        (linucb(3), "policy is 'JDP-LinUCB', here it is 'LinUCB'"),
        (jdp(epsilon=2.0), r"guarantee.epsilon is .*, here it is (2|1\.9999)"),
        (jdp(ridge=2.0), "params.ridge is 1.0, here it is 2.0"),
    ],
)
def test_a_run_of_another_policy_parameter_or_version_is_refused_by_name(
    other,
    named,
    tmp_path,
    monkeypatch,
):
    file = tmp_path / "run"
    jdp().start(0).save(file)
    need_not_loaded(f"its {named}", file, other)
    monkeypatch.setattr("companion.__version__", "9.9")
    need_not_loaded(r"its version is '.*', here it is '9.9'", file, jdp())


class Trap:
    """Its pickle makes a folder."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_what_is_no_saved_run_is_refused_and_nothing_is_unpickled(tmp_path, live):
    file = tmp_path / "run.npz"
    trap = tmp_path / "sprung"
    for content in (b"", b"nothing", pickle.dumps({"about": 1})):
        file.write_bytes(content)
        need_not_loaded("path must lead to a saved run", file)
    need_not_loaded("path of a file", tmp_path)
    need_not_loaded("there is none at", tmp_path / "none")
    assert list(tmp_path.glob("*.lock")) == []
    beyond = tmp_path / "none" / "run"
    need_not_saved("path must be the path of a file, in a folder", beyond, live)
    live.save(file)
    live.close()
    with np.load(file) as saved:
        arrays = dict(saved)
        assert json.loads(str(saved["about"]))["policy"] == "LinUCB"
    for wrong in (np.array([Trap(trap)], dtype=object), np.zeros(4)):
        np.savez(file, **arrays | {"state.b": wrong})
        need_not_loaded("path must lead", file)
    assert not trap.exists()


def test_saving_is_all_or_nothing_and_for_the_owner_alone(tmp_path):
    """As on a full disk: the run that was saved before stays, and can be saved again."""
    file = tmp_path / "run"
    live = jdp().start(0)
    live.save(file)
    before = file.read_bytes()
    assert file.stat().st_mode & 0o077 == 0
    live.select(X)
    live.update(0, 1.0)
    with runs.no_file_beyond(1_000), pytest.raises(OSError, match="too large"):
        live.save(file)
    assert file.read_bytes() == before
    assert {p.name for p in tmp_path.iterdir()} == {"run"}
    assert loaded(live, file).rounds == 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EVERY)
def test_clipped_records_are_counted_as_the_policy_counts_them(policy):
    X, R = stream_for(policy, 200)
    X = X * np.linspace(0.5, 1.5, 200)[:, None, None]
    R = R * np.linspace(0.9, 1.1, 200)[:, None]
    live = policy.start(0)
    feed(live, X, R, range(200))
    found = live.report().clipped
    own = getattr(live.state, "clipped", None)
    assert (found is None) == (policy.universe is None)
    assert found is not None or policy.guarantee.model == "none"
    if found is not None and own is not None:
        assert found["records"] == int(np.ravel(own)[0])
        assert max(found["contexts"], found["rewards"]) <= found["records"]


@pytest.mark.filterwarnings("error")
def test_one_warning_when_many_records_are_clipped(tmp_path):
    live = jdp().start(0)
    live.select(5.0 * X)
    live.update(0, 7.0)  # one record is not many
    live.select(5.0 * X)
    with pytest.warns(
        UserWarning,
        match="2 of 2 records were clipped: 'JDP-LinUCB' takes contexts with",
    ):
        live.update(1, 0.5)
    feed(live, 5.0 * np.stack([X] * 20), np.full((20, 2), 0.5), range(20))
    assert live.report().clipped == {"contexts": 22, "rewards": 1, "records": 22}
    again = loaded(live, tmp_path / "run")
    assert again.report() == live.report()
    again.select(5.0 * X)
    again.update(0, 1.0)  # it has warned already


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("size", [LARGEST_RECORD, -LARGEST_RECORD, 1e-200])
def test_records_of_any_admitted_size_leave_a_finite_state(policy, size):
    X, R = stream_for(policy, 40)
    X = X / np.abs(X).max() * size
    R = np.full(R.shape, size)
    live = policy.start(0)
    feed(live, X, R, range(40))
    for part, start in zip(
        flat(live.state),
        flat(policy.init(policy.params)),
        strict=True,
    ):
        assert (np.isfinite(part) | ~np.isfinite(start)).all()


@pytest.mark.parametrize("name", LATE)
def test_late_rewards_are_a_run_in_the_order_in_which_they_come(policy):
    """Seven questions are open, rewards come in any order: kernels see the same calls."""
    X, R = stream_for(policy, 84)
    live = policy.start(3)
    order = np.random.default_rng(4)
    rng = np.random.default_rng(3)
    state = policy.init(policy.params)
    for start in range(0, 84, 7):
        asked = {}
        for t in range(start, start + 7):
            asked[t] = live.select(X[t], str(t))
            assert asked[t] == policy.select(policy.params, state, X[t], rng)
        for t in order.permutation(list(asked)):
            x = X[t, asked[t]].copy()
            r = R[t, asked[t]]
            live.update(asked[t], r, str(t))
            policy.update(policy.params, state, asked[t], x, r, rng)
    assert all(map(same_bits, flat(live.state), flat(state)))


@pytest.mark.parametrize("name", IN_ORDER)
def test_a_policy_without_delayed_feedback_takes_one_question_at_a_time(policy):
    X, R = stream_for(policy, 4)
    live = policy.start(0)
    arm = live.select(X[0], "a")
    with pytest.raises(
        ValueError,
        match=rf"policy '{policy.name}' has no delayed feedback",
    ):
        live.select(X[1], "b")
    with pytest.raises(ValueError, match="has no delayed feedback"):
        live.drop("a")
    live.update(arm, R[0, arm], "a")
    live.select(X[1], "b")


def test_tickets(tmp_path):
    live = jdp(3).start(0)
    for bad in ("", 3, "x" * 201):
        with pytest.raises(ValueError, match="ticket must be a text"):
            live.select(X, bad)
    live.select(X, "a")
    with pytest.raises(ValueError, match="ticket 'a' is open"):
        live.select(X, "a")
    none = "ticket must be that of an open question; got "
    before = "update was called before select"
    for bad, words in (("b", none + "'b'"), ([1], none), (None, before)):
        with pytest.raises(ValueError, match=words):
            live.update(0, 0.5, bad)
    live.select(X, "b")
    live.select(X[::-1])  # without a ticket: one more
    with pytest.raises(ValueError, match="select was called twice"):
        live.select(X)
    with pytest.raises(ValueError, match="T=3, the horizon"):
        live.select(X, "d")
    live.drop("b")
    with pytest.raises(ValueError, match=none + "'b'"):
        live.drop("b")
    live.open["a"][0][:] = 9.0  # a copy
    again = loaded(live, tmp_path / "run")
    assert [seen.tolist() for seen, _ in again.open.values()] == [
        X.tolist(),
        X[::-1].tolist(),
    ]
    again.update(1, 0.5, "a")
    assert (again.rounds, list(again.open)) == (1, [None])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGALRM])
def test_an_interrupt_waits_until_the_kernel_has_returned(number):
    """In the middle of a call it can end Python; here every kernel interrupts itself."""
    done = []
    policy = linucb(3)

    def interrupted(kernel):
        def called(*arguments):
            signal.raise_signal(number)
            done.append(kernel.__name__)
            return kernel(*arguments)

        return called

    steps = {name: interrupted(getattr(policy, name)) for name in ("select", "update")}
    live = policy._replace(**steps).start(0)
    usual = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            live.select(np.eye(3))
        with pytest.raises(KeyboardInterrupt):
            live.update(live.open[None][1], 0.5)
    finally:
        signal.signal(number, usual)
    assert (done, live.rounds, live.open) == (["select", "update"], 1, {})


def test_threads_lose_no_record_and_drop_or_save_beside_others(tmp_path, live):
    """What is learned after 8 x 25 rounds is the sum of all records, whatever their
    order."""

    def work(name):
        for i in range(25):
            ticket = f"{name} {i}"
            live.select(X, ticket)
            live.select(X, f"{ticket} dropped")
            live.update(1, 0.5, ticket)
            live.drop(f"{ticket} dropped")
            if i % 10 == 0:
                live.save(tmp_path / "run")
            report = live.report()
            assert report.rounds == sum(report.arms.values())
            assert len(live.open) <= 16

    runs.in_threads(work)
    assert live.state.b.tolist() == [0.0, 100.0, 0.0]
    assert (live.rounds, live.open) == (200, {})
    assert loaded(live, tmp_path / "run").report() == live.report()
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_a_child_refuses_at_once_what_a_thread_of_its_parent_was_doing(live):
    entered = threading.Event()
    leave = threading.Event()

    def stay():
        with live._alone():
            entered.set()
            leave.wait(60.0)

    thread = threading.Thread(target=stay)
    thread.start()
    entered.wait(60.0)
    try:
        assert "RuntimeError: this run belongs to process" in runs.in_child(
            lambda: live.select(X)
        )
    finally:
        leave.set()
        thread.join()


def test_a_child_of_a_fork_does_not_hold_the_file_and_does_not_free_it(tmp_path, live):
    file = tmp_path / "run"
    live.save(file)
    assert runs.in_child(live.close) == "None"
    need_not_loaded("another run holds", file)
    live.close()
    Live.load(file, linucb(3)).close()


PARENT_GONE = """
import os, sys
from companion.policies import linucb
live = linucb(3).start(0)
live.save(sys.argv[1])
ready, begun = os.pipe()
if os.fork() == 0:
    os.write(begun, b"x")
    sys.stdin.read()
    os._exit(0)
os.read(ready, 1)
print("parent ends", flush=True)
os._exit(0)
"""


def test_a_file_is_free_when_its_process_is_gone_though_a_child_lives(tmp_path):
    file = tmp_path / "run"
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", PARENT_GONE, str(file)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as parent:
        assert parent.stdout.readline() == "parent ends\n"
        parent.wait()
        Live.load(file, linucb(3)).close()
        parent.stdin.close()  # the child ends


def test_links_lead_to_the_run_that_is_held_and_saving_keeps_them(tmp_path, live):
    (tmp_path / "else").mkdir()
    file = tmp_path / "run"
    symbolic = tmp_path / "else" / "link"
    symbolic.symlink_to(file)
    live.save(symbolic)  # which leads nowhere yet
    live.select(X)
    live.update(0, 1.0)
    live.save(symbolic)
    assert symbolic.is_symlink()
    assert not file.is_symlink()
    hard = tmp_path / "hard"
    os.link(file, hard)
    for path in (file, symbolic, hard):
        need_not_loaded("path must be free; another run holds", path)
        other = linucb(3).start(1)
        need_not_saved("path must be free; another run holds", path, other)
    need_not_saved(r"2 names \(hard links\)", file, live)
    live.close()
    need_not_loaded(r"must be the only name of its file.* has 2 names", hard)
    assert os.path.samefile(file, hard)
    hard.unlink()
    again = Live.load(symbolic, linucb(3))
    assert again.rounds == 1
    os.rename(file, tmp_path / "moved")
    need_not_loaded("another run holds", tmp_path / "moved")
    again.save(file)


@pytest.mark.parametrize(
    "number",
    [errno.ENOTSUP, errno.ENOLCK, errno.EINVAL, errno.ENOSYS],
)
def test_a_file_system_without_locks_is_no_other_run(number, tmp_path, monkeypatch):
    linucb(3).start(0).save(tmp_path / "run")

    def refuse(descriptor, how):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(held.fcntl, "flock", refuse)
    before = (tmp_path / "run").read_bytes()
    words = f"path must lie on a file system with locks.*{os.strerror(number)}"
    need_not_loaded(words, tmp_path / "run")
    for name in ("run", "new"):
        need_not_saved(words, tmp_path / name, linucb(3).start(0))
    assert (tmp_path / "run").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


READ_ONLY = """
import os, sys
from companion.live import Live
from companion.policies import linucb
if os.getuid() == 0:
    os.setuid(65534)  # root may write everywhere
file, policy = sys.argv[1], linucb(3)
for call in (lambda: Live.load(file, policy), lambda: policy.start().save(file)):
    try:
        call()
    except ValueError as error:
        print(error)
"""


def test_a_folder_that_is_read_only_is_refused_in_words():
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "run")
        linucb(3).start(0).save(file)
        file.chmod(0o644)
        Path(folder).chmod(0o555)
        found = runs.python(READ_ONLY, file)
        Path(folder).chmod(0o755)
    assert (
        found.stdout.count("path must lie in a folder in which this process may write")
        == 2
    ), found.stderr


def test_a_path_that_cannot_be_looked_up_is_refused_with_its_cause(tmp_path, live):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    for name, cause in ((300 * "x", "name too long"), ("a", "(?:loop|links)")):
        need_not_saved(f"(?is)path must be .*{cause}", tmp_path / name, live)


def test_a_run_goes_on_where_a_processor_rounds_parameters_otherwise(tmp_path):
    policy = fliphat(
        3,
        200,
        sparsity=1,
        epsilon=1.0,
        delta=0.1,
        b_max=1.0,
        iteration_rate=2.0,
    )
    policy.start(0).save(tmp_path / "run")
    clip = policy.params.reward_clip
    place = clip.shape[0] - 1
    for factor, fits in ((1.0 + 2e-16, True), (1.0 - 5e-13, True), (1.0 + 1e-11, False)):
        other = clip.copy()
        other[place] *= factor
        here = policy._replace(params=policy.params._replace(reward_clip=other))
        if fits:
            Live.load(tmp_path / "run", here).close()
            continue
        words = (
            rf"its params.reward_clip\[{place}\] is {clip[place]}, here it is "
            rf"{other[place]}"
        )
        need_not_loaded(words, tmp_path / "run", here)
