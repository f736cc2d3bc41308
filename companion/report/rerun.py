"""One figure is run again by `python -m evidence.claims.rerun`."""

import sys

if __name__ == "__main__":
    command = " ".join(["python -m evidence.claims.rerun", *sys.argv[1:]])
    sys.exit(f"companion.report.rerun is evidence.claims.rerun now: {command}")
raise ImportError("companion.report.rerun is evidence.claims.rerun now")
