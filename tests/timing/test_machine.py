"""The machine: described, and not named."""

import platform

from companion.timing import machine


def test_the_processor_is_the_first_model():
    text = "processor : 0\nmodel name\t: Chip 9\nprocessor : 1\nmodel name\t: Chip 10\n"
    assert machine.processor(text) == "Chip 9"
    assert machine.processor("flags : a b\n") == platform.machine()


def test_nothing_names_the_machine():
    found = machine.described()
    assert int(found["cores"]) >= 1
    assert platform.node() not in " ".join(found.values())
    assert found.keys() == {"processor", "cores", "system", "software"}
