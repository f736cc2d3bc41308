"""What compiling takes: more in an empty folder than in one that has the kernels."""

import pytest

from companion.timing import compiling


def test_a_name_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"name must be one of .*got 'nobody'"):
        compiling.seconds("nobody")


@pytest.mark.slow
def test_kept_kernels_are_loaded(tmp_path):
    cold, warm = (compiling.seconds("random", str(tmp_path)) for _ in range(2))
    assert any(tmp_path.rglob("*.nbc"))
    assert 0.0 < warm < cold
