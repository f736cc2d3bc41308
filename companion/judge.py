"""The judge stands in another package: `python -m evidence.judge`."""

import sys

if __name__ == "__main__":
    command = " ".join(["python -m evidence.judge", *sys.argv[1:]])
    sys.exit(f"companion.judge is evidence.judge now: {command}")
raise ImportError("companion.judge is evidence.judge now")
