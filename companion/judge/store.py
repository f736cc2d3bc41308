"""What has been found so far, in a file: an interrupted judgement goes on where it stopped."""

import hashlib
import json
import os
import tempfile
from pathlib import Path

from companion.jit import PACKAGE


def digest_of_package() -> str:
    """A digest of all code of the package."""
    return PACKAGE.digest(sorted(PACKAGE.modules()))


class Store:
    """{key: plain data}, kept in a JSON file (None: in memory alone).

    A key holds everything that its value depends on.  A file that is no store, or of another
    version, is refused by name and left as it is.
    """

    def __init__(self, path=None):
        self.path = None if path is None else Path(path)
        self._kept = {}
        if self.path is not None and self.path.exists():
            try:
                found = json.loads(self.path.read_text("utf8"))
                self._kept = found["judged"]
            except (ValueError, KeyError, TypeError, UnicodeDecodeError):
                raise ValueError(f"store must be a file of the judge; got {self.path}") from None

    def key(self, *parts) -> str:
        """The name of a result that depends on these plain data."""
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]

    def __contains__(self, key):
        return key in self._kept

    def __getitem__(self, key):
        return self._kept[key]

    def __setitem__(self, key, value):
        self._kept[key] = value
        if self.path is not None:
            write(self.path, json.dumps({"judged": self._kept}))


def write(path, text: str) -> None:
    """Write a text file, all or nothing."""
    path = Path(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent or ".", prefix=path.name)
    try:
        with os.fdopen(handle, "w", encoding="utf8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
