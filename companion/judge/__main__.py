"""`python -m companion.judge my_policy.py`: see `companion.judge.judge`.

Exit code: 0 MEASURED, 1 REFUTED, 2 NOTHING, 3 BOUNDED ONLY, 4 CONTRACT BROKEN.
"""

import argparse
import sys
from pathlib import Path

from companion.judge.judging import judge
from companion.judge.load import TEMPLATE


def main(arguments=None) -> int:
    """Judge, print, write the report; its exit code."""
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
    told = vars(known.parse_args(arguments))
    policy, new, out = told.pop("policy"), told.pop("new"), told.pop("out")
    try:
        if new:
            with open(policy, "x", encoding="utf8") as file:  # never over one that is there
                file.write(TEMPLATE.read_text("utf8"))
            print(f"{policy} is a working policy: python -m companion.judge {policy}")
            return 0
        report = judge(policy, **told)
        out = out or f"{Path(policy).stem.rpartition('.')[2]}.judged"
        for kind in ("json", "html"):
            report.save(f"{out}.{kind}")
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"Written: {out}.html, {out}.json\n\n{report}")
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main())
