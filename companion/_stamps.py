"""When the files of this package were last written, as seen before any of its code is
imported."""

import os


def stamp(path):
    """What changes when a file is written: its times, size and number.  None: no such
    file."""
    try:
        told = os.stat(path)
    except OSError:
        return None
    return told.st_mtime_ns, told.st_ctime_ns, told.st_size, told.st_ino


def stamps(*roots):
    """{path: stamp} of all files below some folders, without what Python and Numba store
    there."""
    found = {}
    for root in roots:
        for folder, folders, names in os.walk(root):
            folders[:] = [name for name in folders if name != "__pycache__"]
            for name in names:
                path = os.path.join(folder, name)
                found[path] = stamp(path)
    return found


HOME = os.path.dirname(os.path.abspath(__file__))
AT_IMPORT = stamps(HOME, os.path.join(os.path.dirname(HOME), "evidence"))
