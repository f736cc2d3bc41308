"""Algorithms are found by looking, each by the one factory of its module."""

from types import ModuleType

import pytest

from companion import catalogue
from companion.core import Optimiser, Policy


def test_an_algorithm_has_the_name_of_its_factory_and_makes_what_it_says():
    for found, kind in ((catalogue.policies(), Policy), (catalogue.optimisers(), Optimiser)):
        assert list(found) == sorted(found)
        for name, entry in found.items():
            assert entry.factory.__name__ == entry.name == name
            assert entry.factory.__module__ == entry.module
            assert isinstance(entry.example(), kind)
    assert not set(catalogue.policies()) & set(catalogue.optimisers())


def test_a_module_with_two_factories_or_none_is_refused():
    module = ModuleType("made_up")
    module.example = None

    def one() -> Policy: ...

    def two() -> Optimiser: ...

    for factories, names in (((), r"\[\]"), ((one, two), r"\['one', 'two'\]")):
        for f in factories:
            f.__module__ = "made_up"
            setattr(module, f.__name__, f)
        with pytest.raises(TypeError, match=f"made_up must have one function .*{names}"):
            catalogue._entry(module)
