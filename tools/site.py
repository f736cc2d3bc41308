"""Builds the site from executed notebooks: a staged mirror of the book, warnings
fatal."""

import contextlib
import copy
import errno
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
from urllib.parse import urlsplit

import yaml

from evidence.readable import make_readable
from tools import api, cache, chapters, errata, execute, front, lock, results
from tools.errors import Failure, plain

MARK = ".whole"  # in the site: digest of what it was built from
FILLED = {"book/index.md", "book/reproducibility.md"}  # with what the chapters show
CHANGES = "book/changes.md"
SOURCES = "book/_static/private_bandits.tar.gz"  # the project, to be had from the site
FOLDERS = (
    ".ci",
    ".github",
    "benchmarks",
    "book",
    "companion",
    "evidence",
    "tests",
    "tools",
)
KINDS = {".cff", ".in", ".md", ".toml", ".txt", ".yml"}  # of files beside the folders
NAMES = {"LICENSE", "Makefile"}
LEFT = {"__pycache__", ".ipynb_checkpoints"}
# pages include them
FRONT = ("ERRATA.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff")


def configuration(root, note, base_url):
    """`_config.yml` with a banner saying `note`, and with what a published site needs.

    Without `base_url` there is no sitemap and no link preview, since both name the
    address.
    """
    config = yaml.safe_load((root / "_config.yml").read_text("utf8"))
    sphinx = config["sphinx"]
    if note:
        sphinx["config"].setdefault("html_theme_options", {})["announcement"] = note
    if base_url:
        config["html"]["baseurl"] = base_url
        sphinx["extra_extensions"] += ["sphinxext.opengraph", "sphinx_sitemap"]
        sphinx["config"] |= {
            "ogp_site_url": base_url,
            "ogp_social_cards": {"enable": False},
            "sitemap_url_scheme": "{link}",
            "sitemap_excludes": [
                "search.html",
                "genindex.html",
                "404.html",
                "prf-prf.html",
            ],
            "notfound_urls_prefix": urlsplit(base_url).path or "/",
        }
    return yaml.safe_dump(config, allow_unicode=True).encode()


def published(notebook, kept):
    """A copy for readers: without the runner's seal and the claims as data, with the
    history of claims that the lock has kept."""
    notebook = copy.deepcopy(notebook)
    notebook["metadata"].pop(cache.RUN)
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            data.pop(results.MIME, None)
            if "text/html" in data:
                data["text/html"] = lock.told(kept, "".join(data["text/html"]))
    return notebook


def sources(root):
    """The files of the project as a gzipped tar, the same bytes for the same files.

    `pip install` takes it as it is.  What a run leaves behind is not part of it.
    """
    files = [p for p in root.iterdir() if p.suffix in KINDS or p.name in NAMES]
    for folder in FOLDERS:
        files += (root / folder).rglob("*")
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", filename="", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in sorted(files):
            if path.is_file() and not LEFT & set(path.parts):
                data = path.read_bytes()
                inside = path.relative_to(root).as_posix()
                entry = tarfile.TarInfo(f"private_bandits/{inside}")
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


def mirror(root, executed, config):
    """Everything the site is made of: relative path -> bytes."""
    stage = {"_config.yml": config, "_toc.yml": (root / "_toc.yml").read_bytes()}
    files = [p for p in (root / "book").rglob("*") if p.suffix != ".ipynb"]
    files += (root / "tools" / "ext").glob("*.py")
    for package in ("companion", "evidence"):
        files += (root / package).rglob("*.py")
    files += [root / name for name in FRONT]
    for path in files:
        if path.is_file() and not LEFT & set(path.parts):
            stage[path.relative_to(root).as_posix()] = path.read_bytes()
    notebooks = {path.stem: notebook for path, notebook in executed.items()}
    for page in FILLED & stage.keys():
        stage[page] = front.fill(stage[page].decode(), notebooks).encode()
    if "ERRATA.md" in stage:
        stage["ERRATA.md"] = errata.overview(stage["ERRATA.md"].decode()).encode()
    for page in [page for page in stage if page.startswith("book/api/")]:
        stage[page] = api.fill(stage[page].decode(), root).encode()
    kept = lock.read(root)
    if CHANGES in stage:
        titles = {name: chapters.title(n) for name, n in notebooks.items()}
        page = stage[CHANGES].decode().replace("% changes", lock.changes(kept, titles))
        stage[CHANGES] = page.encode()
    stage[SOURCES] = sources(root)
    for path, notebook in executed.items():
        stage[path.relative_to(root).as_posix()] = cache.dump(published(notebook, kept))
    return stage


def _sphinx(source, output, log):
    """Run jupyter-book, which ends with this process.  Raises Failure with what it
    complains of."""
    process = execute.start(
        "jupyter_book.cli.main:main",
        "build",
        source,
        "--path-output",
        output,
        "-W",
        "-n",
        "--keep-going",
        "-q",
        log=subprocess.STDOUT,
        NUMBA_DISABLE_JIT="1",  # autodoc sees functions
    )
    # not into the log at once: a full disk would lose it
    code, printed = execute.finish(process)
    if code:
        lines = printed.splitlines()
        words = ("WARNING", "ERROR", "Error: ", "exception: ", os.strerror(errno.ENOSPC))
        telling = [line for line in lines if any(w in line for w in words)] or lines[-20:]
        said = plain("\n".join(telling)).replace(str(source) + os.sep, "")
        with contextlib.suppress(OSError):  # what it says is told in any case
            cache.put(log, printed.encode())
        raise Failure(f"the site does not build\n{said}\nLog: {log}")


def make_downloads_readable(folder):
    """Rewrite the notebooks that the pages offer, as papermill's engine does."""
    for path in folder.glob("*.ipynb"):
        notebook = json.loads(path.read_text("utf8"))
        make_readable(notebook)
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False), "utf8")


def build(root, build_dir, executed, note="", base_url=None):
    """Build the site into `build_dir/html` unless it is there already; return its first
    page.

    The old site stays until the new one is whole.  Raises Failure if there is any
    warning.
    """
    stage = mirror(root, executed, configuration(root, note, base_url))
    pins = (root / "requirements.txt").read_text("utf8")
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in stage.items()}
    digest = cache.digest([sums, pins])
    html, new, old = (build_dir / name for name in ("html", "site", "html.old"))
    # a run was killed between the two renames below
    if old.exists() and not html.exists():
        os.replace(old, html)
    mark = html / MARK
    if not (mark.is_file() and mark.read_text() == digest):
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        shutil.rmtree(build_dir / "src", ignore_errors=True)
        for name, data in stage.items():
            cache.put(build_dir / "src" / name, data)
        _sphinx(build_dir / "src", new, build_dir / "site.log")
        built = new / "_build" / "html"
        make_downloads_readable(built / "_sources" / "book")
        # the page that leads to the book names no icon, so browsers ask for one
        with (built / "index.html").open("a", encoding="utf8") as first_page:
            first_page.write('<link rel="icon" href="_static/logo.svg">\n')
        (built / MARK).write_text(digest)
        shutil.rmtree(old, ignore_errors=True)
        if html.exists():
            os.replace(html, old)
        os.replace(built, html)
    for left in (old, new):
        shutil.rmtree(left, ignore_errors=True)
    return html / "index.html"
