"""Files that one run holds at a time: the lock is on the file itself, not on its name.

A symbolic or a hard link leads to the same file, so it meets the same lock.  The lock
ends with the process, at the latest.  A child of a fork holds nothing.  Windows has no
such locks.
"""

import errno
import os
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

LOCKABLE = fcntl is not None
LOCKS = set()  # those of this process
# what flock says of a lock of others
TAKEN = {errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES}


class Lock:
    """The lock on an open file (on Windows no more than the open file).

    `path` stands in the messages of what is raised: ValueError if others hold the lock,
    or if the file system has no locks.
    """

    def __init__(self, descriptor: int, path: Path) -> None:
        self.descriptor = descriptor
        self.process = os.getpid()
        LOCKS.add(self)
        if not LOCKABLE:
            return
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.let_go()
            if error.errno in TAKEN:
                raise _taken(path) from None
            raise ValueError(
                "path must lie on a file system with locks (flock), or two runs could "
                f"go on from one file; {path}: {error.strerror}"
            ) from error

    def let_go(self) -> None:
        """Unlock the file and close it, once; the child of a fork closes it alone."""
        try:
            LOCKS.remove(self)
        except KeyError:
            return
        if LOCKABLE and self.process == os.getpid():
            with suppress(OSError):  # where there are no locks
                fcntl.flock(self.descriptor, fcntl.LOCK_UN)
        os.close(self.descriptor)

    def identity(self):
        """What names the file, whatever its path is."""
        return _identity(os.fstat(self.descriptor))


def real_path(path: str | Path) -> Path:
    """The absolute path of a file, there or not, without symbolic links.

    Raises ValueError unless it lies in a folder that is there, in which this process may
    write.
    """
    wrong = ValueError(f"path must be the path of a file, in a folder; got {path=}")
    if not isinstance(path, (str, os.PathLike)) or not str(path) or "\0" in str(path):
        raise wrong
    try:
        real = Path(path).resolve()
        there = real.exists()
    except (OSError, RuntimeError) as error:  # links that lead to each other, for one
        raise ValueError(f"{wrong}: {error}") from None
    if there and not real.is_file():
        raise wrong
    folder = real.parent
    if not folder.is_dir():
        raise wrong
    effective = os.access in os.supports_effective_ids
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=effective):
        raise ValueError(
            "path must lie in a folder in which this process may write, for a run is "
            f"saved where it was loaded; {folder} is read-only"
        )
    return real


def identity(path: Path):
    """What names the file at `path`; None if there is none."""
    try:
        return _identity(os.stat(path))
    except FileNotFoundError:
        return None


def hold(path: Path, make: bool = False) -> Lock:
    """The lock on the file at `path`; make: an empty one is made if there is none.

    Raises ValueError if another run holds it, or if there are no locks.
    """
    made = make and not path.exists()
    flags = os.O_RDWR
    if made:
        flags |= os.O_CREAT | os.O_EXCL
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileExistsError:  # another run has made it meanwhile
        raise _taken(path) from None
    except OSError as error:
        raise ValueError(
            f"path must lead to a file that this process may write; {path}: "
            f"{error.strerror}"
        ) from error
    try:
        lock = Lock(descriptor, path)
    except BaseException:
        if made:
            os.unlink(path)
        raise
    if lock.identity() != identity(path):  # whoever held it has saved meanwhile
        lock.let_go()
        raise _taken(path)
    return lock


def need_one_name(path: Path) -> None:
    """ValueError if hard links lead to the file at `path`: saving puts a new one in its
    place."""
    names = os.stat(path).st_nlink
    if names > 1:
        raise ValueError(
            "path must be the only name of its file, or saving would leave an older run "
            f"under the others; {path} has {names} names (hard links): copy it, or "
            "remove the others"
        )


def let_all_go(locks: dict) -> None:
    """Let go of every lock in a dictionary, and empty it."""
    while locks:
        locks.popitem()[1].let_go()


def _identity(status):
    return status.st_dev, status.st_ino


def _taken(path):
    return ValueError(f"path must be free; another run holds {path}")


def _forget():
    """In the child of a fork: close what the parent holds, which stays locked for the
    parent."""
    for lock in list(LOCKS):
        lock.let_go()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
