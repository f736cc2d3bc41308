"""Make the book: `python -m tools.build [--scale SCALE] [--only CHAPTER] [-p NAME VALUE]
...`.

Every request is checked before anything runs (exit code 2).  Executed chapters are kept
under _build and used again as long as nothing they depend on has changed, so an
interrupted run goes on at the first chapter that is not whole.
"""

import argparse
import errno
import fcntl
import json
import os
import re
import sys
from contextlib import contextmanager
from pathlib import Path

from companion._stamps import stamp
from companion.held import TAKEN
from tools import cache, chapters, errata, lock, results, site
from tools.chapters import PAPER, SCOREBOARD
from tools.errors import Failure, Refusal
from tools.execute import Job, Setting, run

WHAT = "Make the book: execute its chapters, then build the site."


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Refusal(message)


def arguments(argv):
    """The parsed command line.  Raises Refusal."""
    parser = Parser(prog="python -m tools.build", description=WHAT)
    add = parser.add_argument
    add("--scale", default=PAPER, help="paper (default), or one of book/scales.yml")
    add(
        "--only",
        action="append",
        default=[],
        metavar="CHAPTER",
        help="the chapter that -p is for (default: all); may be repeated",
    )
    add(
        "-p",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "VALUE"),
        dest="pairs",
        help="set a parameter of these chapters; may be repeated",
    )
    add("--force", action="store_true", help="execute even what is in the cache")
    add("--jobs", type=int, default=2, help="chapters executed at a time (default 2)")
    add(
        "--cell-timeout",
        type=int,
        default=1800,
        metavar="SECONDS",
        help="longest time one cell may take (default 1800)",
    )
    add("--no-site", action="store_true", help="execute (with --only these alone)")
    add(
        "--base-url",
        metavar="URL",
        help="where the site will be published: https://.../",
    )
    add(
        "--root",
        type=Path,
        default=Path(__file__).resolve().parent.parent,
        help="the project",
    )
    args = parser.parse_args(argv)
    if min(args.jobs, args.cell_timeout) < 1:
        parser.error("--jobs and --cell-timeout must be 1 or more")
    if not re.fullmatch("https?://.*/", args.base_url or "http:///"):
        parser.error(
            f"--base-url must be http(s)://.../ with its last slash; got {args.base_url}"
        )
    return args


@contextmanager
def alone(build):
    """Keep a second run out while this one works.  Raises Refusal if there is one
    already.

    The lock is on the file itself, whatever the path to it is.  On a file system without
    locks it says so and goes on: every result is put in place whole, under its own name.
    """
    build.mkdir(parents=True, exist_ok=True)
    with (build / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in TAKEN:
                raise Refusal(f"another run is working in {build}; wait for it") from None
            print(
                f"{build} has no locks ({error.strerror}): start no second run there",
                file=sys.stderr,
            )
        yield


def execute(setting, book, wanted, force, inputs="", reads=()):
    """The executed notebook of every chapter in `wanted`; runs only what is not in the
    cache.

    inputs: digest of the files `reads`, which the chapters read.
    """
    around = cache.environment(setting.root)
    package = cache.package(setting.root)
    given = {str(path): stamp(path) for path in reads}
    jobs = []
    keys = {}
    for name, parameters in wanted.items():
        modules = cache.imports(package, book[name])
        depends = [around, cache.closure(setting.root, package, modules)]
        keys[name] = cache.key(book[name], parameters, depends, inputs)
        if force or cache.get(setting.build, name, keys[name]) is None:
            jobs.append(
                Job(
                    chapter=book[name],
                    parameters=parameters,
                    key=keys[name],
                    seen=given | package.seen(modules),
                )
            )
    cached = [name for name in wanted if all(name != job.chapter.name for job in jobs)]
    if cached:
        print(f"Nothing to execute, already whole: {', '.join(cached)}")
    run(setting, jobs)
    done = {name: cache.get(setting.build, name, key) for name, key in keys.items()}
    return {
        name: cache.refreshed(notebook, book[name]) for name, notebook in done.items()
    }


def note(args):
    """What the banner of the site says; nothing at the papers' own scale."""
    changed = ", ".join(f"{name} = {value}" for name, value in args.pairs)
    if args.scale == PAPER and not changed:
        return ""
    with_ = f" with {' in '.join([changed, *args.only])}" if changed else ""
    return (
        f"Built at {args.scale} scale{with_}: these are not the numbers to compare with "
        "the papers."
    )


def make(args):
    """Carry out a checked request; return the last line to print."""
    root = args.root.resolve()
    build = args.root.resolve() / "_build"
    book = chapters.load(root)
    wanted = chapters.requests(root, book, args.scale, args.only, args.pairs)
    if args.only and not args.no_site:  # the site has all other chapters, as committed
        wanted = chapters.requests(root, book, args.scale, [], []) | wanted
    setting = Setting(
        root=root,
        build=build,
        jobs=args.jobs,
        cell_timeout=args.cell_timeout,
    )
    with alone(build):
        executed = execute(setting, book, wanted, args.force)
        if args.only and args.no_site:
            keys = {n: executed[n]["metadata"][cache.RUN]["key"] for n in wanted}
            places = (cache.place(build, n, key) for n, key in keys.items())
            return f"Executed: {', '.join(map(os.path.relpath, places))}"
        path, inputs = results.write(build, args.scale, executed)
        if SCOREBOARD in book:
            records = os.path.relpath(path, book[SCOREBOARD].path.parent)
            board = {SCOREBOARD: {"records": records}}
            executed |= execute(setting, book, board, args.force, inputs, [path])
        said = f"Executed: {os.path.relpath(build / 'executed')}"
        if not args.no_site:
            notebooks = {book[name].path: notebook for name, notebook in executed.items()}
            first = site.build(root, build, notebooks, note(args), args.base_url)
            said = f"Open {os.path.relpath(first)} in a browser, or say `make serve`."
        if not args.pairs:  # last, so that what changed can be looked at
            records = json.loads(path.read_text("utf8"))
            lock.check(root, records, numbers=args.scale == PAPER)
            if args.scale == PAPER:
                errata.check(root, records, executed)
    return said


def plainly(error):
    """What went wrong; one line where the machine is the reason, whatever failed first on
    it."""
    for reason in map(os.strerror, (errno.ENOSPC, errno.EDQUOT)):
        if reason in str(error):
            return f"{reason}: make room and say the same again; what is whole is kept."
    if isinstance(error, OSError) and error.errno in (errno.EROFS, errno.EACCES):
        return f"{error.filename} cannot be written: {error.strerror}."
    return str(error)


def main(argv=None):
    """Exit code: 0 done, 1 something failed, 2 refused, 130 interrupted."""
    try:
        print(make(arguments(argv)))
    except Refusal as error:
        print(f"Refused: {error}", file=sys.stderr)
        return 2
    except (Failure, OSError) as error:
        print(f"Failed: {plainly(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            "Interrupted: what is whole is kept; say the same again to go on.",
            file=sys.stderr,
        )
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
