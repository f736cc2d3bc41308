"""Puts a built site where it is published: `python -m tools.publish HTML FOLDER [--version V]`.

The folder holds every version that was published, each under its number, and the newest also at the
root, whose addresses therefore never change.  Links of a site are relative, so each copy leads to
its own pages.
"""

import argparse
import re
import shutil
import sys
from pathlib import Path

from tools import site
from tools.errors import Failure

ROOT = Path(__file__).resolve().parent.parent
NUMBER = re.compile(r"\d+\.\d+\.\d+")
KEPT = {".git", ".nojekyll"}


def publish(html, folder, version):
    """Copy a whole site to `folder/version` and to `folder` itself; what lies under other versions
    stays.  Raises Failure if the site is not whole."""
    if not NUMBER.fullmatch(version):
        raise Failure(f"version must be like 1.2.3; got {version!r}")
    if not (html / site.MARK).is_file():
        raise Failure(f"{html} holds no whole site: build it first")
    for old in folder.iterdir() if folder.is_dir() else ():
        if old.name == version or not (NUMBER.fullmatch(old.name) or old.name in KEPT):
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    shutil.copytree(html, folder / version)
    shutil.copytree(html, folder, dirs_exist_ok=True)
    (folder / ".nojekyll").touch()  # folders that begin with a line are pages, too


def main(argv=None):
    """Exit code: 0 done, 1 failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.publish")
    parser.add_argument("html", type=Path)
    parser.add_argument("folder", type=Path)
    said = re.search(
        r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text("utf8"), re.MULTILINE
    )
    parser.add_argument("--version", default=said[1], help="that of pyproject.toml")
    args = parser.parse_args(argv)
    try:
        publish(args.html, args.folder, args.version)
    except Failure as error:
        print(f"Failed: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
