"""Builds the site from executed notebooks: a staged mirror of the book, warnings fatal."""

import copy
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from tools import cache, cells, front, results
from tools.errors import Failure, plain

MARK = ".whole"  # in the site: digest of what it was built from
FRONT = ("ERRATA.md", "CHANGELOG.md", "CITATION.cff")  # pages include them


def configuration(root, note, base_url):
    """`_config.yml` with a banner saying `note`, and with what a published site needs.

    Without `base_url` there is no sitemap and no link preview, since both name the address.
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
            "sitemap_excludes": ["search.html", "genindex.html", "404.html", "prf-prf.html"],
            "notfound_urls_prefix": urlsplit(base_url).path or "/",
        }
    return yaml.safe_dump(config, allow_unicode=True).encode()


def published(notebook):
    """A copy for readers: without the runner's seal and the claims as data, and with a line above
    every code cell that continues others.
    """
    notebook = copy.deepcopy(notebook)
    notebook["metadata"].pop(cache.RUN)
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(results.MIME, None)
    notebook["cells"] = cells.annotated(notebook["cells"])
    return notebook


def mirror(root, executed, config):
    """Everything the site is made of: relative path -> bytes."""
    stage = {"_config.yml": config, "_toc.yml": (root / "_toc.yml").read_bytes()}
    files = [p for p in (root / "book").rglob("*") if p.suffix != ".ipynb"]
    files += [*(root / "tools" / "ext").glob("*.py"), *(root / "companion").rglob("*.py")]
    files += [root / name for name in FRONT]
    for path in files:
        if path.is_file() and not {"__pycache__", ".ipynb_checkpoints"} & set(path.parts):
            stage[path.relative_to(root).as_posix()] = path.read_bytes()
    notebooks = {path.stem: notebook for path, notebook in executed.items()}
    if (page := "book/index.md") in stage:
        stage[page] = front.fill(stage[page].decode(), notebooks).encode()
    for path, notebook in executed.items():
        stage[path.relative_to(root).as_posix()] = cache.dump(published(notebook))
    return stage


def _write(folder, stage):
    """Make `folder` hold exactly the files of `stage`."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in stage.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _sphinx(source, output, log):
    """Run jupyter-book.  Raises Failure with its warnings and errors."""
    command = [Path(sys.executable).with_name("jupyter-book"), "build", source]
    command += ["--path-output", output, "-W", "-n", "--keep-going", "-q"]
    with log.open("w") as stream:
        code = subprocess.call(command, stdout=stream, stderr=subprocess.STDOUT)
    if code:
        lines = log.read_text("utf8", "replace").splitlines()
        telling = [line for line in lines if "WARNING" in line or "ERROR" in line] or lines[-20:]
        said = plain("\n".join(telling)).replace(str(source) + os.sep, "")
        raise Failure(f"the site does not build\n{said}\nLog: {log}")


def build(root, build_dir, executed, note="", base_url=None):
    """Build the site into `build_dir/html` unless it is there already; return its first page.

    The old site stays until the new one is whole.  Raises Failure if there is any warning.
    """
    stage = mirror(root, executed, configuration(root, note, base_url))
    pins = (root / "requirements.txt").read_text("utf8")
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in stage.items()}
    digest = cache.digest([sums, pins])
    html, new = build_dir / "html", build_dir / "site"
    mark = html / MARK
    if not (mark.is_file() and mark.read_text() == digest):
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        _write(build_dir / "src", stage)
        _sphinx(build_dir / "src", new, build_dir / "site.log")
        built = new / "_build" / "html"
        (built / MARK).write_text(digest)
        if html.exists():
            shutil.rmtree(html)
        os.replace(built, html)
        shutil.rmtree(new)
    return html / "index.html"
