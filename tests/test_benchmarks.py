"""The benchmarks run, and say what was timed."""

import benchmarks.__main__ as bench


def test_the_command_times_policies_beside_numpy(capsys):
    bench.main(["random", "linucb", "--rounds", "100"])
    said = capsys.readouterr().out
    assert all(f"{name} " in said for name in ("random", "linucb", "LinUCB of numpy"))
