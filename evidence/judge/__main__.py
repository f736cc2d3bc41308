"""`python -m evidence.judge my_policy.py`: see `evidence.judge.judge`.

Exit code: 0 MEASURED, 1 REFUTED, 2 NOTHING, 3 BOUNDED ONLY, 4 CONTRACT BROKEN.
"""

import argparse
import sys
from pathlib import Path

from evidence.judge.judging import judge
from evidence.judge.load import TEMPLATE


def main(arguments=None) -> int:
    """Judge, print, write the report; its exit code."""
    known = argparse.ArgumentParser(
        "python -m evidence.judge",
        description="Judge a policy.",
    )
    known.add_argument("policy", help="a file, or the name of a module")
    known.add_argument(
        "--new",
        action="store_true",
        help="write a template there instead",
    )
    known.add_argument(
        "--quick",
        action="store_true",
        help="a short look, about a minute",
    )
    known.add_argument(
        "--trials",
        type=int,
        help="runs of each input that an attack counts",
    )
    known.add_argument(
        "--out",
        help="reports go to OUT.json and OUT.html (default: the policy)",
    )
    told = known.parse_args(arguments)
    out = told.out or f"{Path(told.policy).stem.rpartition('.')[2]}.judged"
    try:
        if told.new:
            # never over one that is there
            with open(told.policy, "x", encoding="utf8") as file:
                file.write(TEMPLATE.read_text("utf8"))
            print(
                f"{told.policy} is a working policy: python -m evidence.judge "
                f"{told.policy}"
            )
            return 0
        report = judge(told.policy, quick=told.quick, trials=told.trials)
        for kind in ("json", "html"):
            report.save(f"{out}.{kind}")
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"Written: {out}.html, {out}.json\n\n{report}")
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main())
