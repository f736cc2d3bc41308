"""The tables of policies: every one of the package, once, below its trust model."""

import re

import pytest

from companion import policies
from companion.arena.policies import MODELS, described, which_policy


def test_every_policy_stands_below_its_trust_model(tmp_path):
    page = which_policy(tmp_path)._repr_html_()
    parts = re.split(r"<p><b>(\w+)\.</b>", page)[1:]
    found = {
        name: model.lower()
        for model, part in zip(parts[::2], parts[1::2], strict=True)
        for name in re.findall(r"<code>(\w+)</code>", part)
    }
    assert found == {n: policies.example(n).guarantee.model for n in policies.TABLE}
    assert set(found.values()) <= MODELS.keys()
    assert len(re.findall("<code>", page)) == len(found)
    assert "href" not in page  # there are no chapters in this folder


@pytest.mark.parametrize("name", policies.TABLE)
def test_every_policy_says_what_it_is(name):
    assert described(policies.factory(name)), f"{name}'s docstring must say what it is"
