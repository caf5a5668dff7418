"""Inputs in units that differ a lot."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import nvsd
from nvsd.data.units import DataWarning
from nvsd.kernels import Gaussian


@pytest.fixture
def table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.standard_normal(30), "b": rng.standard_normal(30), "c": 1.0})
    return X, X["a"].to_numpy() ** 2


def test_a_path_warns_once_and_names_both_inputs(table) -> None:
    X, y = table
    X["b"] *= 1e6
    with pytest.warns(DataWarning, match=r"'a' \(.*\) and 'b' .* standardize=True") as caught:
        nvsd.nvsd_path(X, y, n_taus=3)
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.parametrize("case", ["standardized", "similar", "a width for each"])
def test_there_is_no_warning_where_units_do_not_decide(table, case: str) -> None:
    X, y = table
    X["b"] *= 1e2 if case == "similar" else 1e6
    given = {"kernel": Gaussian((1.0, 1e6, 1.0))} if case == "a width for each" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        nvsd.nvsd_path(X, y, n_taus=3, standardize=case == "standardized", **given)
