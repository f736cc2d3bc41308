"""A release in one command: `python -m tools.release` builds, checks and tags.

The version stands in four files, which must agree; the changes must be committed, and the
changelog must say when it was released.  Wheel and source archive are built from the commit, in an
environment of their own, looked into, and checked by `twine`.  On an index the README stands
alone: its picture and its links get the project's address, and are left out while there is none
(`described`).  Nothing is sent anywhere: the last
lines say how.  `--dry-run` does the same without a tag, and allows an unreleased changelog.
"""

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

from tools.errors import Failure

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ("build==1.6.1", "twine==7.0.0")
VERSIONS = {  # file: what stands around the version
    "companion/__init__.py": r'^__version__ = "(.*?)"$',
    "CITATION.cff": r"^version: (.*?)$",
    "README.md": r"note = \{Version (.*?)\}",
}
ABOUT = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff"}
MADE = {"PKG-INFO", "setup.cfg", "MANIFEST.in"}  # by the build


def version(root, dry_run=False):
    """The version of a project.  Raises Failure unless all files say the same."""
    declared = tomllib.loads((root / "pyproject.toml").read_text("utf8"))["project"]["version"]
    for name, pattern in VERSIONS.items():
        found = re.findall(pattern, (root / name).read_text("utf8"), re.MULTILINE)
        if found != [declared]:
            raise Failure(f"{name} must say version {declared} once; it says {found}")
    heading = re.search(r"^## (.*)$", (root / "CHANGELOG.md").read_text("utf8"), re.MULTILINE)[1]
    dated = re.fullmatch(rf"{re.escape(declared)} \(\d{{4}}-\d\d-\d\d\)", heading)
    if not (dated or (dry_run and heading.startswith(f"{declared} "))):
        raise Failure(f"CHANGELOG.md must begin with {declared} (YYYY-MM-DD); it has: {heading}")
    return declared


def package(root):
    """What of the package is published: code, numbers, claims, texts, the mark of its types."""
    wanted = ("*.py", "*.json", "*.toml", "*.txt", "py.typed")
    found = (p for kind in wanted for p in (root / "companion").rglob(kind))
    return {p.relative_to(root).as_posix() for p in found if "__pycache__" not in p.parts}


def different(archive, root):
    """Files that a wheel or a source archive lacks, and those that it should not have."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as z:
            held = {n for n in z.namelist() if ".dist-info/" not in n}
        return held ^ package(root)
    with tarfile.open(archive) as t:
        names = (m.name.partition("/")[2] for m in t.getmembers() if m.isfile())
        held = {n for n in names if ".egg-info/" not in n}
    return (held - MADE) ^ (package(root) | ABOUT)


def described(text, address):
    """The README as a package index shows it, where no file lies beside it: with an address,
    pictures and links lead there; without one, they are left out, and so is a picture's caption."""
    if not address:
        text = re.sub(r"!\[[^]]*\]\([^)]*\)\n\n(\*[^*]*\*\n\n)?", "", text)
        return re.sub(r"(?<!!)\[([^]]*)\]\((?!https?:|#)[^)]*\)", r"\1", text)
    text = re.sub(r"(!\[[^]]*\]\()(?!https?:)", rf"\1{address}/raw/main/", text)
    return re.sub(r"((?<!!)\[[^]]*\]\()(?!https?:|#)", rf"\1{address}/blob/main/", text)


def run(*command, cwd=ROOT):
    """What a command says.  Raises Failure with it if the command fails."""
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(root, dist):
    """Wheel and source archive of the last commit in dist, looked into and checked."""
    with tempfile.TemporaryDirectory() as base:
        own, source = Path(base) / "env", Path(base) / "source"
        run(sys.executable, "-m", "venv", own)
        run(own / "bin" / "python", "-m", "pip", "install", "-q", *TOOLS)
        run("git", "clone", "-q", root, source)
        project = tomllib.loads((source / "pyproject.toml").read_text("utf8"))
        address = project["tool"]["private-bandits"]["address"]
        readme = source / "README.md"
        readme.write_text(described(readme.read_text("utf8"), address), "utf8")
        run(own / "bin" / "python", "-m", "build", "-o", dist, source)
        made = sorted(dist.iterdir())
        for archive in made:
            if wrong := different(archive, source):
                raise Failure(f"{archive.name} lacks, or should not have: {sorted(wrong)}")
        run(own / "bin" / "python", "-m", "twine", "check", "--strict", *made)
    return made


def main(argv=None):
    """Exit code: 0 done, 1 refused."""
    parser = argparse.ArgumentParser(prog="python -m tools.release")
    parser.add_argument("--dry-run", action="store_true", help="build and check, make no tag")
    args = parser.parse_args(argv)
    try:
        tag = f"v{version(ROOT, args.dry_run)}"
        if run("git", "status", "--porcelain"):
            raise Failure("commit the changes first: a release is built from a commit")
        if run("git", "tag", "--list", tag):
            raise Failure(f"the tag {tag} is there already: raise the version")
        dist = ROOT / "dist"
        if dist.exists() and any(dist.iterdir()):
            raise Failure("empty the folder dist first")
        made = build(ROOT, dist)
        if not args.dry_run:
            run("git", "tag", "-a", tag, "-m", f"Version {tag[1:]}")
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    print("\n".join(["built and checked:", *(f"  dist/{p.name}" for p in made)]))
    print(f"to publish: git push origin {tag}; twine upload dist/*")
    return 0


if __name__ == "__main__":
    sys.exit(main())
