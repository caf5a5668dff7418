"""`DerivativeElimination`, a former name: the same results, and a warning that says what to use."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import xarray as xr
from estimator_problems import RELEVANT, sample
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import nvsd
from nvsd.kernels import Gaussian
from nvsd.penalties import Lasso

OPTIONS = {
    "penalty": Lasso(), "nu": 1e-2, "nus": [1e-2, 1e-4], "widths": [0.5, 1.0],
    "width_per_input": True, "value_points": 20,
}  # fmt: skip


@pytest.mark.filterwarnings(
    "ignore:No features were selected", "ignore:DerivativeElimination is deprecated:FutureWarning"
)
@parametrize_with_checks([nvsd.DerivativeElimination(cv=2)])
def test_scikit_learn_accepts_it(estimator, check) -> None:
    check(estimator)


@pytest.mark.parametrize("options", [{}, OPTIONS], ids=["plain", "options"])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"kernel": "polynomial", "groups": ["u", "v", "v", "u", "w"], "rule": "1se"},
        {"method": "pool", "kernel": Gaussian(2.0), "cv": 3, "random_state": 5},
        {"method": "rank", "standardize": False, "options": {"n_taus": 8}},
    ],
    ids=["default", "groups", "pool", "rank"],
)
def test_the_two_names_give_the_same(given: dict[str, Any], options: dict[str, Any]) -> None:
    if given.get("kernel") == "polynomial":
        options = {name: value for name, value in options.items() if "width" not in name}
    (X, y), (fresh, _) = sample(30, 0), sample(7, 1)
    with pytest.warns(FutureWarning, match="use nvsd.SelectiveRegressor"):
        old = nvsd.DerivativeElimination(**given, **options).fit(X, y)
    both = options | given.get("options", {})
    new = nvsd.SelectiveRegressor(**{"method": "eliminate"} | given | {"options": both}).fit(X, y)
    np.testing.assert_array_equal(old.support_, new.support_)
    np.testing.assert_array_equal(old.predict(fresh), new.predict(fresh))
    np.testing.assert_array_equal(old.predict_gradient(fresh), new.predict_gradient(fresh))
    np.testing.assert_array_equal(old.derivative_norms_, new.derivative_norms_)
    xr.testing.assert_identical(old.history_, new.selection_.history)
    assert old.kernel_ == new.selection_.refit.kernel
    assert (old.n_iter_, old.gap_) == (old.history_.sizes["step"], 0)


def test_it_takes_validation_data() -> None:
    X, y = sample(30, 0)
    with pytest.warns(FutureWarning):
        model = nvsd.DerivativeElimination().fit(X, y, validation=sample(50, 2))
    assert list(model.support_) == RELEVANT


def test_only_fit_warns_and_in_one_sentence() -> None:
    X, y = sample(30, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = clone(nvsd.DerivativeElimination("rank"))
    with pytest.warns(FutureWarning) as caught:
        model.fit(X, y)
    (warning,) = caught
    message = str(warning.message)
    assert "SelectiveRegressor(method='rank')" in message
    assert message.endswith("as options={...}.")
    assert ". " not in message
    assert warning.filename == __file__
