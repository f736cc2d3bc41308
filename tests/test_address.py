"""The project's address stands in one place; every other file has it from there."""

import shutil
import tomllib

import pytest
import yaml

from tools import address

FILES = ("pyproject.toml", "CITATION.cff", "README.md", "book/index.md", "book/reports.md")
HERE = "https://forge.example/somebody/private-bandits"


@pytest.fixture
def copy(tmp_path):
    (tmp_path / "book").mkdir()
    for name in FILES:
        shutil.copy(address.ROOT / name, tmp_path / name)
    return tmp_path


def test_the_committed_files_agree_with_it():
    assert address.main(["--check"]) == 0


def test_an_address_reaches_every_file_and_can_be_taken_back(copy):
    before = address.written(copy, "", "")
    after = address.written(copy, HERE, "https://books.example/pb/")
    assert all(HERE in after[name] and HERE not in before[name] for name in FILES)
    urls = tomllib.loads(after["pyproject.toml"])["project"]["urls"]
    assert urls["Issues"] == f"{HERE}/issues"
    assert urls["Homepage"] == "https://books.example/pb/"
    for name, text in after.items():
        (copy / name).write_text(text, "utf8")
    assert address.written(copy, "", "") == before


def test_a_file_without_its_place_is_named(copy):
    (copy / "CITATION.cff").write_text("title: x", "utf8")
    with pytest.raises(ValueError, match=r"CITATION.cff must have one place"):
        address.written(copy, HERE, "")


def test_every_report_names_the_form_for_replies(copy):
    form = yaml.safe_load((address.ROOT / address.FORM).read_text("utf8"))
    fields = [f for f in form["body"] if f["type"] != "markdown"]
    (papers,) = (f["attributes"]["options"] for f in fields if f["id"] == "paper")
    link = f"{HERE}/issues/new?template=reply.yml"
    after = address.written(copy, HERE, "")["book/reports.md"]
    assert len(papers) == after.count(link) == after.count("\n## ") == address.PAPERS
    assert {"claim", "reply", "evidence"} <= {f["id"] for f in fields}
