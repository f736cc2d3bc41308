"""`python -m benchmarks [NAME ...]`: run the files here that have `rows`; one Markdown table."""

import importlib
import pkgutil
import sys

import benchmarks


def line(name, ours, reference, limit):
    """One row of the table."""
    other, ratio = (
        ("", "") if reference is None else (f"{reference:.3g}", f"{reference / ours:.1f}")
    )
    return f"| {name} | {ours:.3g} | {other} | {ratio} | {limit} |"


def main():
    """Print rows as they come: (name, our seconds, seconds of the reference or None, limit)."""
    print("| what | ours (s) | reference (s) | times faster | limit |")
    print("|---|--:|--:|--:|---|", flush=True)
    for module in sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__)):
        if module != "__main__" and module in (sys.argv[1:] or [module]):
            for row in getattr(importlib.import_module(f"benchmarks.{module}"), "rows", tuple)():
                print(line(*row), flush=True)


if __name__ == "__main__":
    main()
