"""Presets refuse what is out of range."""

import numpy as np
import pytest

from companion.private_glm.joint import joint_glm
from companion.private_glm.presets import PRESETS

TIGHT = PRESETS["tight"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gamma", 0.0),
        ("width", -1.0),
        ("a_v", -1.0),
        ("a_h", np.nan),
        ("steps_o", 0),
        ("steps_tau", 0),
        ("cutoff_o", 0),
        ("cutoff_tau", 0),
        ("penalty", 0.0),
        ("share", 1.0),
        ("calibration", "tight"),
    ],
)
def test_a_bad_value_of_a_preset_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=name):
        joint_glm(3, 100, epsilon=1.0, delta=0.02, preset=TIGHT._replace(**{name: value}))
