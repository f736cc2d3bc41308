"""Every refusal names the argument and shows the value; NaN is never let through."""

import numpy as np
import pytest

from companion import validate as checks


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -0.1, 1.1, True, "0.5", None, 1j])
def test_need_float_refuses(bad):
    with pytest.raises(ValueError, match="ratio"):
        checks.need_float("ratio", bad, 0.0, 1.0)


def test_need_float_open_and_closed_ends():
    assert checks.need_float("x", 0, 0.0, 1.0) == 0.0
    assert checks.need_float("x", np.float32(1.0), 0.0, 1.0) == 1.0
    for options in ({"open_low": True}, {"low": 0.5}):
        with pytest.raises(ValueError, match=r"x=0"):
            checks.need_float("x", 0.0, **({"low": 0.0, "high": 1.0} | options))
    with pytest.raises(ValueError, match=r"\[0.0, 1.0\)"):
        checks.need_float("x", 1.0, 0.0, 1.0, open_high=True)
    assert checks.need_float("x", np.inf, allow_inf=True) == np.inf


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_need_positive_refuses(bad):
    with pytest.raises(ValueError, match="scale"):
        checks.need_positive("scale", bad)


@pytest.mark.parametrize("bad", [0.0, 1.0, np.nan])
def test_need_probability_refuses(bad):
    with pytest.raises(ValueError, match="p="):
        checks.need_probability("p", bad)


@pytest.mark.parametrize("bad", [0, 11, 3.5, True, np.nan, np.inf, "3", None])
def test_need_int_refuses(bad):
    with pytest.raises(ValueError, match=r"n must be an integer in \[1, 10\]"):
        checks.need_int("n", bad, 1, 10)


def test_need_int_accepts_whole_numbers():
    values = [checks.need_int("n", v, 1) for v in (3, 3.0, np.int8(3), np.float64(3))]
    assert values == [3] * 4
    assert {type(v) for v in values} == {int}


def test_need_choice():
    assert checks.need_choice("kind", "a", ("a", "b")) == "a"
    for bad in ("c", None, 1):
        with pytest.raises(ValueError, match="'a', 'b'"):
            checks.need_choice("kind", bad, ("a", "b"))
    with pytest.raises(ValueError, match="fresh"):
        checks.need_choice("fresh", 1, (True, False))  # 1 == True, but is not meant


def test_need_array():
    a = checks.need_array("X", [[1, 2], [3, 4]], ("n", 2))
    assert a.dtype == np.float64
    assert a.flags.c_contiguous
    assert checks.need_array("X", np.ones((3, 4)).T, ("n", "d")).flags.c_contiguous
    bad = [np.ones(2), np.ones((2, 3)), np.ones((0, 2)), "word", [[1, 2], [3]], None]
    for value in [*bad, [[1.0, np.nan]], [[np.inf, 1.0]]]:
        with pytest.raises(ValueError, match="X must"):
            checks.need_array("X", value, ("n", 2))


def test_what_is_no_number_is_no_array_of_numbers():
    masked = np.ma.masked_array(np.ones((2, 2)), np.eye(2, dtype=bool))
    durations = np.ones((2, 2), "timedelta64[s]")
    for value in (
        masked,
        durations,
        np.ones((2, 2), complex),
        [["1", "2"]] * 2,
        [[10**400, 1]] * 2,
    ):
        with pytest.raises(ValueError, match="X must be an array of numbers"):
            checks.need_array("X", value, ("n", 2))
    assert checks.need_array("X", np.ma.masked_array(np.ones((2, 2))), ("n", 2)).sum() == 4.0
    with pytest.raises(ValueError, match="shape"):
        checks.need_array("x", 1.0, ("d",))


@pytest.mark.parametrize("bad", [np.timedelta64(3), 10**400, 1e101, 1 + 0j])
def test_durations_and_what_no_float_holds_are_no_numbers(bad):
    for check in (checks.need_positive, lambda name, v: checks.need_int(name, v, 1)):
        with pytest.raises(ValueError, match=r"^n must"):
            check("n", bad)
