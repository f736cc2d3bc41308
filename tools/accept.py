"""Accept results that differ from the lock: `python -m tools.accept CHAPTER/ID ...
"why"`.

The last argument is the reason; `--all` in place of the names takes every claim that
differs.  The results are those of the last build at the papers' scale.
"""

import argparse
import datetime
import json
import sys
from pathlib import Path

from tools import lock
from tools.chapters import PAPER
from tools.errors import Refusal

SHORTEST = 15  # characters of a reason


def accept(root, names, why, today):
    """Take the differences of these claims (None: of all) into the lock; return their
    number.

    All other claims get the numbers of the accepted build, which are those on its pages.
    """
    folder = root / "_build" / "results"
    if not (folder / "claims.json").is_file():
        raise Refusal("there are no results to accept: run `make book` first")
    scale = json.loads((folder / "times.json").read_text("utf8"))["scale"]
    if scale != PAPER:
        raise Refusal(
            f"the last build was at {scale} scale; the lock holds results of the papers'"
        )
    if len(why.strip()) < SHORTEST:
        raise Refusal(f"the reason must have {SHORTEST} characters at least; got {why!r}")
    records = {
        lock.name(r): r for r in json.loads((folder / "claims.json").read_text("utf8"))
    }
    kept = lock.read(root)
    found = lock.differences(kept, records.values())
    first = not kept["claims"]
    lock.refresh(kept, records.values())
    for name in found if names is None else names:
        if name not in found:
            raise Refusal(f"{name} does not differ from {lock.PLACE}")
        if name in records:
            kept["claims"][name] = lock.entry(records[name])
        else:
            del kept["claims"][name]
        if not first:  # the first record of all has no history
            what = "; ".join(found[name])
            kept["history"].append(
                {"claim": name, "when": today, "what": what, "why": why}
            )
    lock.write(root, kept)
    return len(found if names is None else names)


def main(argv=None):
    """Exit code: 0 accepted, 2 refused."""
    parser = argparse.ArgumentParser(prog="python -m tools.accept")
    parser.add_argument("--all", action="store_true", help="every claim that differs")
    parser.add_argument(
        "--root",
        type=Path,
        default=Path(__file__).resolve().parent.parent,
    )
    parser.add_argument("names", nargs="*", metavar="CHAPTER/ID")
    parser.add_argument("why", help="the reason")
    args = parser.parse_args(argv)
    try:
        if args.all == bool(args.names):
            raise Refusal("name the claims, or say --all, and give the reason last")
        today = datetime.date.today().isoformat()
        count = accept(args.root, args.names or None, args.why, today)
    except Refusal as error:
        print(f"Refused: {error}", file=sys.stderr)
        return 2
    print(f"accepted into {lock.PLACE}: {count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
