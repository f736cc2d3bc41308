"""`python -m evidence.judge my_policy.py`: see `evidence.judge.judge`.

Exit code: 0 MEASURED, 1 REFUTED, 2 NOTHING, 3 BOUNDED ONLY, 4 CONTRACT BROKEN.
"""

import argparse
import sys
from pathlib import Path

from evidence.judge import judge
from evidence.judge.load import TEMPLATE


def main(arguments=None) -> int:
    """Judge, print, write the report; its exit code."""
    known = argparse.ArgumentParser("python -m evidence.judge")
    known.add_argument("policy", help="a file, or the name of a module")
    known.add_argument(
        "--new", action="store_true", help="write a template there instead"
    )
    known.add_argument(
        "--quick",
        action="store_true",
        help="a short look: one to three minutes, five at most (else thirty)",
    )
    known.add_argument("--out", help="reports go to OUT.json and OUT.txt")
    options = known.parse_args(arguments)
    policy = options.policy
    out = options.out or f"{Path(policy).stem.rpartition('.')[2]}.judged"
    try:
        if options.new:
            # never over one that is there
            with open(policy, "x", encoding="utf8") as file:
                file.write(TEMPLATE.read_text("utf8"))
            print(f"{policy} is a working policy: python -m evidence.judge {policy}")
            return 0
        report = judge(policy, quick=options.quick)
        report.save(f"{out}.json")
        report.save(f"{out}.txt")
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"Written: {out}.txt, {out}.json\n\n{report}")
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main())
