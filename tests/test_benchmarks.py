"""The benchmarks run, and say what was timed."""

import benchmarks.__main__ as bench


def test_the_command_times_policies_beside_numpy(capsys):
    bench.main(["random", "linucb", "--rounds", "100"])
    said = capsys.readouterr().out
    assert all(f"{name} " in said for name in ("random", "linucb", "LinUCB of numpy"))


def test_a_library_that_is_not_installed_is_named(monkeypatch, capsys):
    monkeypatch.setattr(
        bench,
        "OTHERS",
        {"numpy": bench.numpy_linucb, "no_such_library": None},
    )
    bench.main(["random", "--rounds", "20"])
    said = capsys.readouterr().out
    assert "LinUCB of numpy " in said
    assert (
        "LinUCB of no_such_library   not installed: pip install no_such_library" in said
    )
