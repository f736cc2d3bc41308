"""The benchmarks run, and their table and JSON hold what was timed."""

import json

import pytest

import benchmarks.__main__ as bench


def test_the_command_times_policies_beside_numpy(tmp_path, capsys):
    bench.main(["random", "linucb", "--rounds", "100", "--json", str(tmp_path / "times.json")])
    times = json.loads((tmp_path / "times.json").read_text())["rounds"]
    assert {"random", "linucb", "LinUCB of numpy"} <= set(times)
    assert min(times.values()) > 0
    assert "LinUCB of numpy" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        bench.main(["nobody"])
