"""A release is refused where files disagree; archives are looked into."""

import re
import shutil
import tarfile
import zipfile

import pytest

from tools import release
from tools.errors import Failure

FILES = ("pyproject.toml", "CHANGELOG.md", *release.VERSIONS)


@pytest.fixture
def copy(tmp_path):
    for name in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(release.ROOT / name, tmp_path / name)
    return tmp_path


def test_the_committed_files_agree_on_the_version(copy):
    now = release.version(copy, dry_run=True)
    log = copy / "CHANGELOG.md"
    log.write_text(log.read_text("utf8").replace(f"{now} (unreleased)", f"{now} (2026-01-31)", 1))
    assert release.version(copy) == now


@pytest.mark.parametrize("name", release.VERSIONS)
def test_a_file_with_another_version_is_named(copy, name):
    text = (copy / name).read_text("utf8").replace(release.version(copy, dry_run=True), "9.9")
    (copy / name).write_text(text, "utf8")
    with pytest.raises(Failure, match=f"{name} must say version"):
        release.version(copy, dry_run=True)


def test_an_unreleased_changelog_is_no_release(copy):
    log = copy / "CHANGELOG.md"
    log.write_text("# Changelog\n\n## 0.1.0 (unreleased)\n")
    with pytest.raises(Failure, match=r"must begin with 0.1.0 \(YYYY-MM-DD\)"):
        release.version(copy)


def test_what_an_archive_lacks_or_should_not_have_is_found(tmp_path):
    root, held = release.ROOT, release.package(release.ROOT)
    wheel, source = tmp_path / "a.whl", tmp_path / "a.tar.gz"
    with zipfile.ZipFile(wheel, "w") as z:
        for name in (held - {"companion/py.typed"}) | {"tests/test_core.py"}:
            z.writestr(name, "")
    assert release.different(wheel, root) == {"companion/py.typed", "tests/test_core.py"}
    with tarfile.open(source, "w:gz") as t:
        for name in held | release.ABOUT | release.MADE - {"README.md"}:
            t.add(root / "LICENSE", f"a-1/{name}")
        t.add(root / "LICENSE", "a-1/tests/test_core.py")
    assert release.different(source, root) == {"tests/test_core.py"}


def test_a_command_that_fails_is_told():
    with pytest.raises(Failure, match="no-such-thing"):
        release.run("git", "rev-parse", "--verify", "no-such-thing")


TEXT = """See [this](ERRATA.md), [there](https://a.example) and [below](#cite).

![A picture (of two)](book/_static/a.svg)

*Its caption, in two
lines.*

The end.
"""


def test_on_an_index_pictures_and_links_are_absolute_or_left_out():
    bare = release.described(TEXT, "")
    assert bare == "See this, [there](https://a.example) and [below](#cite).\n\nThe end.\n"
    address = "https://forge.example/a/b"
    full = release.described(TEXT, address)
    assert f"[this]({address}/blob/main/ERRATA.md)" in full
    assert f"![A picture (of two)]({address}/raw/main/book/_static/a.svg)" in full
    assert "[there](https://a.example) and [below](#cite)" in full
    readme = (release.ROOT / "README.md").read_text("utf8")
    assert not re.findall(r"\]\((?!https?:|#)", release.described(readme, ""))
    assert not re.findall(r"\]\((?!https?:|#)", release.described(readme, address))
    assert "![" in readme
    assert "![" not in release.described(readme, "")
