"""Published pages show powers, not what Python prints; code, formulas and data stay as they are."""

import copy
import doctest
import json

import pytest

from tools import powers

SHOWN = {
    "from 1.5e+06 on": "from 1.5·10⁶ on",
    "T = 1e+14.": "T = 10¹⁴.",
    "[2.8e-05, 1e+00]": "[2.8·10⁻⁵, 1]",
    "√d T^(3/4), n^(-1/2), d^2": "√d T<sup>3/4</sup>, n<sup>−1/2</sup>, d<sup>2</sup>",
    "ε^-(1+α), e^S": "ε<sup>−(1+α)</sup>, e<sup>S</sup>",
    "run 3e5f, v1.2e3x, lemma_1e6": "run 3e5f, v1.2e3x, lemma_1e6",
}


@pytest.mark.parametrize(("text", "wanted"), SHOWN.items())
def test_a_number_is_written_as_a_power(text, wanted):
    assert powers.raised(text) == wanted


@pytest.mark.parametrize(
    "kept",
    [
        "<code>delta=1e-05, x^2</code>",
        "<pre>1e-05</pre>",
        '<script type="application/json">[1e-05]</script>',
        '<a id="cell-1e5" href="data:,1e-05">x</a>',
        r"\(T^{1e+05} x^2\)",
        "$d^2$",
    ],
)
def test_what_is_no_text_stays(kept):
    assert powers.page(f"a {kept} 1e+06") == f"a {kept} 10⁶"


def test_the_name_of_a_column_is_text_on_a_phone():
    page = '<td data-label="T = 1e+06">2.1e+06</td>'
    assert powers.page(page) == '<td data-label="T = 10⁶">2.1·10⁶</td>'


def test_outputs_change_and_code_does_not():
    glue = "application/papermill.record/text/plain"
    cell = {
        "source": "x = 1e-05",
        "outputs": [
            {"data": {"text/html": ["<b>1e-05", "</b>"], "text/plain": "1e-05"}},
            {"data": {glue: "'1e-05'"}},
            {"name": "stdout", "text": "1e-05"},
        ],
    }
    before = copy.deepcopy(cell)
    powers.outputs(cell)
    assert cell["outputs"][0]["data"] == {"text/html": "<b>10⁻⁵</b>", "text/plain": "1e-05"}
    assert cell["outputs"][1]["data"] == {glue: "'10⁻⁵'"}
    assert cell["source"] == before["source"]
    assert json.dumps(cell["outputs"][2]) == json.dumps(before["outputs"][2])


def test_examples():
    assert doctest.testmod(powers).failed == 0
