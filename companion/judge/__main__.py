"""`python -m companion.judge my_policy.py`: see `companion.judge.judge`.

Exit code: 0 MEASURED, 1 REFUTED, 2 NOTHING, 3 BOUNDED ONLY, 4 CONTRACT BROKEN.
"""

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
    return known


def main(arguments=None) -> int:
    """Judge, print, write the report; its exit code."""
    given = parser().parse_args(arguments)
    try:
        if given.new:
            template.write(given.policy)
            print(f"{given.policy} is a working policy: python -m companion.judge {given.policy}")
            return 0
        out = given.out or f"{Path(given.policy).stem.rpartition('.')[2]}.judged"
        told = {n: getattr(given, n) for n in ("worlds", "epsilons", "seed", "trials", "limit")}
        report = judge(given.policy, **told, quick=given.quick)
        for kind in ("json", "html"):
            report.save(f"{out}.{kind}")
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"Written: {out}.html, {out}.json\n\n{report}")
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main())
