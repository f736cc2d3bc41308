"""Whatever a reader passes to a public function is accepted or refused by name, in one voice."""

import collections
import inspect
import io

import boundary
import boundary_runs
import pytest
from boundary import DOUBTFUL, NEVER, arguments, tried

from companion import optimisers, policies
from companion.lplr import lplr_params

CALLS = boundary.factories() | boundary.options() | boundary.others() | boundary_runs.calls()


@pytest.mark.parametrize("name", CALLS)
def test_every_bad_argument_is_refused_by_name(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a text is a path that may be written to
    monkeypatch.setattr("sys.stdin", io.StringIO())  # the requests of a service
    call = CALLS[name]
    call.function(**call.good)  # what the others are compared with
    found = collections.Counter()
    for argument in arguments(call):
        for label, value in (NEVER | DOUBTFUL).items():
            outcome = tried(call, argument, value)
            if outcome == "accepted" and label in NEVER:
                outcome = "accepted what no argument may be"
            found[
                outcome if outcome in ("accepted", "refused") else f"{argument}={label}: {outcome}"
            ] += 1
    tries = len(arguments(call)) * len(NEVER | DOUBTFUL)
    assert found["accepted"] + found["refused"] == tries, found
    assert found["refused"] >= len(arguments(call)) * len(NEVER)


FACTORIES = policies.TABLE | optimisers.TABLE


@pytest.mark.parametrize("name", FACTORIES)
def test_a_misspelt_or_missing_keyword_is_a_type_error_in_the_name_of_the_factory(name):
    call = boundary.factories()[name]
    with pytest.raises(
        TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'epsilno'"
    ):
        call.function(**call.good, epsilno=1.0)
    if call.good:
        with pytest.raises(TypeError, match=rf"^{name}\(\) missing"):
            call.function()


def test_inner_parameters_name_their_function_too():
    with pytest.raises(
        TypeError, match=r"^lplr_params\(\) got an unexpected keyword argument 'zz'"
    ):
        lplr_params(2, 100, zz=1)


def test_the_table_has_every_factory_and_every_argument_that_a_reader_may_set():
    assert set(FACTORIES) <= set(CALLS)
    for name, entry in FACTORIES.items():
        kinds = inspect.signature(entry.factory).parameters.values()
        own = {p.name for p in kinds if p.kind is not p.VAR_KEYWORD}
        assert own <= set(arguments(CALLS[name]))
