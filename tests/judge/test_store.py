"""What is found is kept, all or nothing, under all that it depends on."""

import json

import pytest

from companion.judge.store import Store, digest_of_package, write


def test_what_is_kept_is_found_again(tmp_path):
    path = tmp_path / "kept.json"
    store = Store(path)
    key = store.key("a", 1, True)
    assert key != store.key("a", 1, False)
    store[key] = {"found": [1.5, "inf"]}
    again = Store(path)
    assert key in again
    assert again[key] == {"found": [1.5, "inf"]}
    assert len(digest_of_package()) >= 16


def test_another_file_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps([1, 2]))
    with pytest.raises(ValueError, match="must be a file of the judge"):
        Store(path)
    assert json.loads(path.read_text()) == [1, 2]


def test_a_text_that_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(UnicodeEncodeError):
        write(tmp_path / "x.txt", "\ud800")
    assert list(tmp_path.iterdir()) == []
