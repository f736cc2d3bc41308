"""The project's address, told to every file that names it: `python -m tools.address`.

It stands in one place, `[tool.private-bandits]` of pyproject.toml, and is empty until there is one.
Each file has a line, or a part between two marks, that this writes anew; with an empty address
every text reads well without it.  `--check` writes nothing, and fails if a file differs.
"""

import argparse
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = "pyproject.toml"
FORM = ".github/ISSUE_TEMPLATE/reply.yml"  # for authors who answer a verdict
PAPERS = 5  # reports, each of which names the form


def written(root, address, site):
    """{file: its text} with this address of the repository and of the site ("": none yet)."""
    found = {}

    def put(name, pattern, text, places=1):
        old = found.get(name) or (root / name).read_text("utf8")
        new, count = re.subn(pattern, lambda _: text, old, flags=re.MULTILINE | re.DOTALL)
        if count != places:
            wanted = "one place" if places == 1 else f"{places} places"
            raise ValueError(f"{name} must have {wanted} for the address; it has {count}")
        found[name] = new

    links = {"Homepage": site or address, "Repository": address, "Issues": f"{address}/issues"}
    urls = "".join(f'{key} = "{link}"\n' for key, link in links.items()) if address else ""
    put(PYPROJECT, r"# urls\n.*?# end of urls", f"# urls\n{'[project.urls]' if urls else ''}\n"
        f"{urls}# end of urls")  # fmt: skip
    where = f"repository-code: {address}\n" if address else ""
    put("CITATION.cff", r"^# address\n(repository-code: [^\n]*\n)?", f"# address\n{where}")
    fetch = f"git clone {address} private-bandits" if address else "cd private-bandits"
    enter = " && cd private-bandits" if address else ""
    for name in ("README.md", "book/index.md"):
        put(name, r"^(git clone [^\n]*|cd) private-bandits[^\n]*$",
            f"{fetch}{enter}   # the folder of these sources")  # fmt: skip
    here = f"[form]({address}/issues/new?template={Path(FORM).name})"
    form = f"this {here}" if address else f"the form `{FORM}` of these sources"
    put(
        "book/reports.md",
        r"To send one, fill in [^\n]*\.$",
        f"To send one, fill in {form}.",
        PAPERS,
    )
    return found


def main(argv=None):
    """Exit code: 0 written or equal, 1 different."""
    parser = argparse.ArgumentParser(prog="python -m tools.address")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if files differ")
    args = parser.parse_args(argv)
    own = tomllib.loads((ROOT / PYPROJECT).read_text("utf8"))["tool"]["private-bandits"]
    texts = written(ROOT, own["address"], own["site"])
    different = [n for n, text in texts.items() if (ROOT / n).read_text("utf8") != text]
    if not args.check:
        for name in different:
            (ROOT / name).write_text(texts[name], "utf8")
    elif different:
        print(f"the address is another in {', '.join(different)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
