"""The template is a working policy, compiled and not, and is never written over a file."""

import judged
import numpy as np
import pytest

from companion.judge import template
from companion.judge.streams import run, stream_for
from companion.judge.subject import load

JIT = [("# @jit", "@jit"), ("# from companion.jit", "from companion.jit")]


def test_compiled_and_plain_templates_play_the_same_arms(tmp_path):
    plain, compiled = (
        load(str(judged.written(tmp_path, name, *changes))).policy
        for name, changes in (("plainly", []), ("compiled", JIT))
    )
    assert not hasattr(plain.play, "py_func")
    assert hasattr(compiled.play, "py_func")
    X, R, _ = stream_for(plain, 100)
    assert np.array_equal(run(plain, X, R)[0], run(compiled, X, R)[0])


def test_it_is_not_written_over_a_file(tmp_path):
    path = tmp_path / "mine.py"
    template.write(path)
    assert path.read_text("utf8") == template.text()
    with pytest.raises(ValueError, match=r"mine\.py already"):
        template.write(path)
    with pytest.raises(ValueError, match=r"end with \.py"):
        template.write(tmp_path / "mine.txt")
