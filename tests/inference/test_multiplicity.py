"""q-values against their definitions, and against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from nvsd.inference.multiplicity import CORRECTIONS

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=30).map(np.array)
every_correction = pytest.mark.parametrize("name", list(CORRECTIONS))


@pytest.mark.parametrize("name", ["bh", "by"])
@settings(derandomize=True, deadline=None)
@given(p=p_values)
def test_false_discovery_rates_are_those_of_scipy(name: str, p: np.ndarray) -> None:
    np.testing.assert_allclose(
        CORRECTIONS[name](p), false_discovery_control(p, method=name), rtol=1e-12
    )


@settings(derandomize=True, deadline=None)
@given(p=p_values, level=st.floats(0.001, 0.999))
def test_holm_rejects_what_stepping_down_rejects(p: np.ndarray, level: float) -> None:
    rejected = np.zeros(len(p), dtype=bool)
    for k, place in enumerate(np.argsort(p, kind="stable")):
        if p[place] * (len(p) - k) > level:
            break
        rejected[place] = True
    np.testing.assert_array_equal(CORRECTIONS["holm"](p) <= level, rejected)


@every_correction
def test_a_single_p_value_is_its_own_q_value(name: str) -> None:
    assert CORRECTIONS[name](np.array([0.03])) == pytest.approx(0.03)
