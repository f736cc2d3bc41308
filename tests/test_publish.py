"""A site is published under its version and at the root, and older versions stay."""

import os
import shutil
import subprocess
import sys

import pytest
import yaml

from tools import card, front, publish, site
from tools.errors import Failure

ROOT = publish.ROOT


def built(folder, **pages):
    """A whole site of these pages."""
    folder.mkdir(parents=True)
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text)
    (folder / site.MARK).write_text("digest")
    return folder


def pages(folder):
    """{path: text} of the pages below a folder."""
    found = folder.rglob("*.html")
    return {p.relative_to(folder).as_posix(): p.read_text() for p in sorted(found)}


def test_the_newest_is_at_the_root_and_all_are_under_their_numbers(tmp_path):
    out = tmp_path / "out"
    publish.publish(built(tmp_path / "a", index="one", gone="x"), out, "0.1.0")
    publish.publish(built(tmp_path / "b", index="two"), out, "0.2.0")
    publish.publish(built(tmp_path / "c", index="three"), out, "0.2.0")
    assert pages(out) == {
        "0.1.0/gone.html": "x",
        "0.1.0/index.html": "one",
        "0.2.0/index.html": "three",
        "index.html": "three",
    }


def test_what_is_no_site_or_no_version_changes_nothing(tmp_path):
    out = tmp_path / "out"
    publish.publish(built(tmp_path / "a", index="one"), out, "0.1.0")
    before = pages(out)
    with pytest.raises(Failure, match="no whole site"):
        publish.publish(tmp_path, out, "0.2.0")
    with pytest.raises(Failure, match=r"must be like 1\.2\.3"):
        publish.publish(tmp_path / "a", out, "latest")
    assert pages(out) == before


def git(*args, cwd):
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *args]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.slow
def test_the_script_keeps_one_commit_with_every_version(tmp_path):
    """`.ci/publish` against a repository on this machine."""
    git("init", "-q", "--bare", "origin.git", cwd=tmp_path)
    work = tmp_path / "work"
    shutil.copytree(ROOT / ".ci", work / ".ci")
    (work / "README.md").write_text("sources")
    (work / ".gitignore").write_text("_build/\npublished/\n")
    git("init", "-q", cwd=work)
    git("add", "-A", cwd=work)
    git("commit", "-qm", "sources", cwd=work)
    git("remote", "add", "origin", str(tmp_path / "origin.git"), cwd=work)
    python = tmp_path / "python"
    env = os.environ | {"PYTHON": str(python), "PYTHONPATH": str(ROOT)}
    for version, text in (("0.1.0", "one"), ("0.2.0", "two")):
        python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@" --version {version}\n')
        python.chmod(0o755)
        shutil.rmtree(work / "_build", ignore_errors=True)
        built(work / "_build" / "html", index=text)
        done = subprocess.run(
            ["bash", work / ".ci" / "publish"], env=env, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    assert pages(work / "published") == {
        "0.1.0/index.html": "one", "0.2.0/index.html": "two", "index.html": "two",
    }  # fmt: skip
    log = git("log", "--format=%s", "published", cwd=tmp_path / "origin.git").splitlines()
    assert len(log) == 1
    listed = git("ls-tree", "-r", "--name-only", "published", cwd=tmp_path / "origin.git").split()
    assert {"0.1.0/index.html", "index.html"} <= set(listed)
    assert "README.md" not in listed
    assert git("status", "--porcelain", cwd=work) == ""


def test_a_link_s_picture_is_drawn_from_the_counts_and_named_only_with_an_address():
    given = {"reproduced": 3, "not reproduced": 1}
    ax = card.draw(given, "Built at smoke scale: not the numbers").axes[0]
    said = [t.get_text() for t in ax.texts]
    assert {"4 sentences tested", "3 reproduced", "1 not reproduced"} <= set(said)
    assert said[-1] == "Built at smoke scale"
    bars = [p.get_width() for p in ax.patches if p.get_height() == 60]
    assert bars == [pytest.approx(795), pytest.approx(265)]
    assert card.png(given) == card.png(given) != card.png({"reproduced": 4})
    assert "No sentence tested yet" in [t.get_text() for t in card.draw({}).axes[0].texts]
    assert front.counted({}) == {}
    address = "https://books.example/pb/"
    config = yaml.safe_load(site.configuration(ROOT, "", address))["sphinx"]["config"]
    assert config["ogp_image"] == f"{address}_static/card.png"
    assert "ogp_image" not in site.configuration(ROOT, "", None).decode()


@pytest.mark.parametrize("verdicts", [{v: 12 for v in card.SHADES}, {"reproduced": 1}])
def test_no_words_of_the_picture_meet_or_leave_it(verdicts):
    fig = card.draw(verdicts, "Built at smoke scale")
    fig.canvas.draw()
    boxes = [t.get_window_extent() for t in fig.axes[0].texts if t.get_text()]
    assert all(b.x0 >= 0 and b.x1 <= 1200 and b.y0 >= 0 and b.y1 <= 630 for b in boxes)
    for i, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[:i])
