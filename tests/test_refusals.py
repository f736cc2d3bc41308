"""What the runner refuses before anything runs: exit code 2, one line, nothing
written."""

import pytest
from tiny_book import asked, notebook, tiny

ONE = ["x = 1"]


def refused(root, *options):
    """The message of a refusal, after checking that nothing ran."""
    done = asked(root, *options)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert not (root / "_build").exists()
    assert done.stderr.startswith("Refused: ")
    assert len(done.stderr.splitlines()) == 1
    return done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--only", "onne"], ["chapter 'onne'", "did you mean 'one'?"]),
        (["--scale", "papper"], ["scale 'papper'", "did you mean 'paper'?"]),
        (["-p", "detla", "0.5"], ["parameter of one 'detla'", "did you mean 'delta'?"]),
        (["-p", "T", "50"], ["one: T = 50", "integer in [100, 1_000]"]),
        (["-p", "delta", "nan"], ["one: delta = 'nan'", "float in (0, 1)"]),
        (["--jobs", "0"], ["--jobs", "1 or more"]),
        (["--cell-timeout", "x"], ["--cell-timeout", "'x'"]),
        (["--base-url", "example"], ["--base-url", "got example"]),
        (["--colour"], ["--colour"]),
    ],
)
def test_bad_requests(tmp_path, options, words):
    message = refused(tiny(tmp_path, one=ONE), *options)
    assert all(word in message for word in words), message


@pytest.mark.parametrize(
    ("scales", "words"),
    [
        ("smoke: {two: {T: 100}}", ["book/scales.yml, smoke", "'two'"]),
        ("smoke: {one: {S: 100}}", ["book/scales.yml, smoke", "'S'"]),
        ("smoke: {one: {T: 10}}", ["book/scales.yml, smoke", "T = 10", "[100, 1_000]"]),
        ("smoke: {one: {T: '100'}}", ["T = '100'"]),
    ],
)
def test_bad_scales_are_refused_at_every_scale(tmp_path, scales, words):
    root = tiny(tmp_path, one=ONE)
    (root / "book" / "scales.yml").write_text(scales)
    message = refused(root)
    assert all(word in message for word in words), message


def test_bad_parameters_cell(tmp_path):
    root = tiny(tmp_path, one=ONE)
    notebook(root / "book" / "one.ipynb", "x = 1", parameters="T = 500  # rounds")
    assert "one.ipynb, parameters cell, line 1 ('T = 500  # rounds')" in refused(root)


def test_page_that_is_not_there(tmp_path):
    root = tiny(tmp_path, one=ONE, two=ONE)
    (root / "book" / "two.ipynb").unlink()
    assert "_toc.yml lists book/two" in refused(root)


RULES = (
    "T = 500  # rounds; integer in [100, 1_000]\nK = 10  # arms; integer in [2, 1_000]\n"
    "# needs: T >= 2 * K"
)


@pytest.mark.parametrize(
    ("options", "scales", "words"),
    [
        (["-p", "K", "251"], "", "got K = 251, T = 500"),
        ([], "smoke: {one: {T: 100, K: 51}}", "got K = 51, T = 100"),
    ],
)
def test_values_that_make_no_sense_together(tmp_path, options, scales, words):
    """Those of a scale at every other one."""
    root = tiny(tmp_path, one=ONE)
    notebook(root / "book" / "one.ipynb", *ONE, parameters=RULES)
    (root / "book" / "scales.yml").write_text(scales)
    assert f"parameters need T >= 2 * K; {words}" in refused(root, *options)
