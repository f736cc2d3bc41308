"""A policy's own process: what hangs is stopped, what crashes takes nobody along.

The child loads the policy and does one task after another; a task that does not end within its
limit, or that kills the child, is answered for, and the next one gets a new child.  A limit is CPU
time, so that a busy machine changes no verdict; on the clock a task has `PATIENCE` times as much.
"""

import atexit
import importlib
import multiprocessing
import os
import signal
import sys

from companion.judge.subject import Refused, load, said

START = 60.0  # seconds within which a file has to import
PATIENCE = 10.0  # for a policy that sleeps, and for machines that others use
CLOCK = hasattr(signal, "setitimer")  # else limits are on the clock alone
FORK = "fork" in multiprocessing.get_all_start_methods()


class Failed(Exception):
    """A task gave nothing; the text says why."""


class Worker:
    """The policy in a process of its own: `ask` it for one task after another."""

    def __init__(self, what):
        self.what, self._child, self._pipe = what, None, None
        atexit.register(self.stop)

    def ask(self, task: str, limit: float | None, *args):
        """What the task "module:function" of this package says of the policy with these arguments;
        raises `Failed` if it raises, crashes, or takes more than `limit` seconds of CPU, and
        `Refused` if the policy cannot be loaded."""
        if self._child is None:
            self._start()
        self._pipe.send((task, args, limit))
        kind, found = self._answer(limit, f"does not return within {limit:g} s")
        if kind == "failed":
            raise Failed(found)
        return found

    def stop(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.kill()
            self._child.join()
            self._pipe.close()
            self._child = None

    def _start(self):
        context = multiprocessing.get_context("fork" if FORK else "spawn")
        self._pipe, theirs = context.Pipe()
        self._child = context.Process(
            target=_serve, args=(theirs, self.what, self._pipe), daemon=True
        )
        self._child.start()
        theirs.close()
        try:
            kind, found = self._answer(START, f"the file does not import within {START:g} s")
        except Failed as failure:
            raise Refused(str(failure)) from None
        if kind == "refused":
            self.stop()
            raise Refused(found)

    def _answer(self, limit, slow):
        if not self._pipe.poll(limit * PATIENCE if CLOCK else limit):
            self.stop()
            raise Failed(slow)
        try:
            return self._pipe.recv()
        except EOFError:
            self._child.join()
            code = self._child.exitcode
            self._child = None
            self._pipe.close()
            if CLOCK and code == -signal.SIGPROF:
                raise Failed(slow) from None
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            raise Failed(f"its process ends, with {how}") from None


def _serve(pipe, what, asking):
    """The child: load, then answer until nobody asks.  A fork holds a copy of the asking end, by
    which it would never notice that its parent is gone."""
    asking.close()
    quiet = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # what a policy prints is no part of the report's page
        os.dup2(quiet, stream)
    sys.stdout, sys.stderr = (os.fdopen(os.dup(quiet), "w") for _ in range(2))
    try:
        subject = load(what)
        subject.make(4)
    except Refused as refusal:
        pipe.send(("refused", str(refusal)))
        return
    except BaseException as error:
        pipe.send(("refused", f"its example cannot be made: {said(error)}"))
        return
    pipe.send(("ready", None))
    while True:
        try:
            task, args, limit = pipe.recv()
        except EOFError:
            return
        try:
            module, name = task.split(":")
            home = importlib.import_module(f"companion.judge.{module}")
            _alarm(limit)
            answer = "found", getattr(home, name)(subject, *args)
        except BaseException as error:
            answer = "failed", said(error)
        _alarm(0.0)
        pipe.send(answer)


def _alarm(seconds):
    """End this process after so many seconds of CPU time; 0: never."""
    if CLOCK:
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)
