"""`python -m companion.judge my_policy.py`: see `companion.judge.judge`."""

import argparse
import sys
from pathlib import Path

from companion.judge import template
from companion.judge.judging import judge


def parser():
    """The command line."""
    known = argparse.ArgumentParser("python -m companion.judge", description="Judge a policy.")
    known.add_argument("policy", help="a file, or the name of a module")
    known.add_argument("--new", action="store_true", help="write a template there instead")
    known.add_argument("--quick", action="store_true", help="a short look, about 30 seconds")
    known.add_argument("--worlds", nargs="*", help="of the arena, by name")
    known.add_argument("--epsilons", nargs="+", type=float, help="budgets in the arena")
    known.add_argument("--seed", type=int, default=1, help="of everything that is drawn")
    known.add_argument("--trials", type=int, help="runs of each input that an attack counts")
    known.add_argument("--limit", type=float, help="seconds that one task may take")
    known.add_argument("--out", help="reports go to OUT.json and OUT.html (default: the policy)")
    known.add_argument("--store", help="what was found so far (default: OUT.store.json)")
    return known


def main(arguments=None) -> int:
    """Judge, print, write the report; exit code 0, 1 if the promise is refuted or the contract does
    not hold, 2 if nothing could be judged."""
    given = parser().parse_args(arguments)
    try:
        if given.new:
            template.write(given.policy)
            print(f"{given.policy} is a working policy: python -m companion.judge {given.policy}")
            return 0
        out = given.out or f"{Path(given.policy).stem.rpartition('.')[2]}.judged"
        store = given.store or f"{out}.store.json"
        told = {n: getattr(given, n) for n in ("worlds", "epsilons", "seed", "trials")}
        report = judge(given.policy, **told, quick=given.quick, limit=given.limit,
                       store=store)  # fmt: skip
        for kind in ("json", "html"):
            report.save(f"{out}.{kind}")
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"\n{report}\n\nWritten: {out}.html, {out}.json")
    if "contract" not in report.data:
        return 2
    return int(report.refuted)


if __name__ == "__main__":
    sys.exit(main())
