"""Runs of a policy in several threads, and in the child of a fork."""

import copy
import os
import pickle
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from streams import flat, same_bits

THREADS = 8
SECONDS = 60  # after which a child that hangs ends


def in_threads(work):
    """What work(name) returns in eight threads at once; what one of them raises is raised
    here."""
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(work, [f"thread {i}" for i in range(THREADS)]))


def ask_until_refused(live, X, name, rounds=10**6):
    """Play rounds on contexts X (K, d) with tickets of this name, as far as the horizon
    goes."""
    for i in range(rounds):
        ticket = f"{name} {i}"
        arm = None
        while arm is None:
            try:
                arm = live.select(X, ticket)
            except ValueError as refusal:
                if "the horizon" in str(refusal):
                    return
                if "it takes one question at a time" not in str(refusal):
                    raise
                time.sleep(1e-5)
        live.update(arm, 0.5, ticket)


def learn_until_refused(stream, records):
    """Learn from records (x, y), as far as the horizon goes; the refusal at its end, or
    ""."""
    for x, y in records:
        try:
            stream.update(x, y)
        except ValueError as refusal:
            return str(refusal)
    return ""


class Watched:
    """A kernel that notes whether another call of it, or of its fellows, is under way."""

    def __init__(self, kernel, inside, overlaps):
        self.kernel = kernel
        self.inside = inside
        self.overlaps = overlaps

    def __call__(self, *arguments):
        self.overlaps.extend(self.inside)
        self.inside.append(self.kernel)
        time.sleep(1e-6)  # lets another thread in
        found = self.kernel(*arguments)
        self.inside.remove(self.kernel)
        return found


def watched(algorithm, *kernels):
    """(algorithm whose kernels are watched, list that gets every call that overlaps
    another)."""
    inside = []
    overlaps = []
    changes = {k: Watched(getattr(algorithm, k), inside, overlaps) for k in kernels}
    return algorithm._replace(**changes), overlaps


def python(program, *arguments, **options):
    """A program that has ended in a new Python, with its output as text."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, **options)


def in_child(function):
    """What function() returns, or raises, in the child of a fork, as a text."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        try:
            said = str(function())
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as told:
        said = told.read()
    os.waitpid(child, 0)
    return said


@contextmanager
def unchanged(run):
    """The state of a run is the same to the bit before and after."""
    before = [a.copy() for a in flat(run.state)]
    yield
    assert all(map(same_bits, before, flat(run.state)))


def check_not_copied(run):
    """A run that draws secret noise refuses to be copied, in words."""
    for make in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="the copy would draw the same noise"):
            make(run)


def check_not_forked(calls):
    """In the child of a fork none of these calls goes on."""
    for call in calls:
        assert in_child(call).startswith("RuntimeError: this run belongs to process")


@contextmanager
def no_file_beyond(size):
    """As on a full disk: writing more than `size` bytes into a file is an OSError."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
