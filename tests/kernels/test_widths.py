"""A kernel that is given without a width takes it from the data, everywhere alike."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

import nvsd
from nvsd.cli import main
from nvsd.descriptions import concrete
from nvsd.kernels import (
    Anova,
    Gaussian,
    Kernel,
    Linear,
    Matern52,
    RationalQuadratic,
    Warped,
    neighbour_width,
)

WITHOUT = [
    Gaussian(),
    Matern52(),
    RationalQuadratic(alpha=2.0),
    2.0 * Gaussian() + Linear(),
    Warped(Matern52()),
]


def filled(kernel: Kernel, width: float) -> Kernel:
    """The kernel with the width, written out by hand."""
    return {
        0: Gaussian(width),
        1: Matern52(width),
        2: RationalQuadratic(2.0, width),
        3: 2.0 * Gaussian(width) + Linear(),
        4: Warped(Matern52(width)),
    }[WITHOUT.index(kernel)]


def problem(n: int = 30, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * [1.0, 2.0, 0.5]
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)


def test_every_kernel_with_a_width_may_be_made_without():
    kinds = [kind for kind in concrete(Kernel) if "width" in {field.name for field in fields(kind)}]
    for kind in kinds:
        if kind.__module__.startswith("nvsd."):
            assert kind().width is None
            assert kind().filled(2.0).width == 2.0
            assert kind(width=3.0).filled(2.0) == kind(width=3.0)


@pytest.mark.parametrize("kernel", WITHOUT, ids=repr)
@pytest.mark.parametrize("standardize", [False, True])
def test_a_path_takes_the_width_from_the_data(kernel, standardize):
    X, y = problem()
    seen = (X - X.mean(axis=0)) / X.std(axis=0) if standardize else X
    expected = filled(kernel, neighbour_width(seen))
    given = {"n_taus": 4, "standardize": standardize}
    path = nvsd.nvsd_path(X, y, kernel=kernel, **given)
    assert Kernel.from_json(path.kernel.item()) == expected
    assert path.identical(nvsd.nvsd_path(X, y, kernel=expected, **given))
    prepared = nvsd.prepare(X, kernel=kernel, standardize=standardize)
    assert prepared.kernel == expected


def test_a_width_that_is_given_stays():
    X, y = problem()
    path = nvsd.nvsd_path(X, y, kernel=Gaussian(4.0) + Matern52((1.0, 2.0, 3.0)), n_taus=3)
    assert Kernel.from_json(path.kernel.item()) == Gaussian(4.0) + Matern52((1.0, 2.0, 3.0))
    # One width is given and the other is not.
    path = nvsd.nvsd_path(X, y, kernel=Gaussian(4.0) + Matern52(), n_taus=3)
    width = neighbour_width(X)
    assert Kernel.from_json(path.kernel.item()) == Gaussian(4.0) + Matern52(width)


def test_landmarks_tell_the_width():
    X, y = problem(60)
    given = {"value_points": 10, "derivative_points": list(range(0, 60, 3)), "n_taus": 3}
    path = nvsd.nvsd_path(X, y, kernel=Matern52(), **given)
    assert Kernel.from_json(path.kernel.item()) == Matern52(neighbour_width(X[::3]))


def test_estimators_and_selections_take_the_width_from_the_data():
    X, y = problem()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    width = neighbour_width(Z)
    regressor = nvsd.NVSDRegressor(kernel=Matern52(), standardize=True).fit(X, y)
    assert regressor.kernel == Matern52()
    assert regressor.kernel_ == Matern52(width)
    search = nvsd.NVSDRegressorCV(kernel=Gaussian(), standardize=True, n_taus=3, cv=3).fit(X, y)
    named = nvsd.NVSDRegressorCV(kernel="gaussian", standardize=True, n_taus=3, cv=3).fit(X, y)
    assert search.kernel_ == named.kernel_
    np.testing.assert_array_equal(search.predict(X), named.predict(X))
    selection = nvsd.select(X, y, kernel=Gaussian(), method="eliminate", cv=3)
    by_name = nvsd.select(X, y, kernel="gaussian", method="eliminate", cv=3)
    given = nvsd.select(X, y, kernel=Gaussian(width), method="eliminate", cv=3)
    assert selection.refit.fit.kernel == given.refit.fit.kernel
    assert selection.history.identical(given.history)
    assert selection.history.identical(by_name.history)
    np.testing.assert_array_equal(selection.predict(X), given.predict(X))
    estimator = nvsd.SelectiveRegressor(method="eliminate", kernel=Gaussian(), cv=3).fit(X, y)
    np.testing.assert_array_equal(estimator.predict(X), selection.predict(X))


def test_widths_are_multiples_of_that_of_the_data():
    X, y = problem()
    given = {"method": "eliminate", "cv": 3, "widths": [0.5, 1.0], "width_per_input": True}
    width = neighbour_width((X - X.mean(axis=0)) / X.std(axis=0))
    found = nvsd.select(X, y, kernel=Gaussian(), **given)
    expected = nvsd.select(X, y, kernel=Gaussian(width), **given)
    assert found.history.identical(expected.history)


def test_the_command_line_takes_the_width_from_the_data(tmp_path):
    X, y = problem()
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)
    table.to_csv(tmp_path / "data.csv", index=False)
    out = tmp_path / "path.nc"
    arguments = ["--target", "y", "--kernel", "matern", "--n-taus", "3", "--out", str(out)]
    assert main(["path", str(tmp_path / "data.csv"), *arguments]) == 0
    import xarray as xr

    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    with xr.open_dataset(out) as path:
        kernel = Kernel.from_json(path.kernel.item())
    assert kernel.width == pytest.approx(neighbour_width(Z), rel=1e-12)


def test_without_data_there_is_no_width():
    X, _ = problem(5)
    message = r"Gaussian\(\) has no width, .*; give one, such as Gaussian\(width=1.0\)\.$"
    for use in (Gaussian().K, Gaussian().G, (Gaussian() + Linear()).blocks):
        with pytest.raises(ValueError, match=message):
            use(X)
    with pytest.raises(ValueError, match=message):
        Gaussian().widened(2.0)
    assert Gaussian().restrict([0]) == Gaussian()
    assert Kernel.from_json(Gaussian().to_json()) == Gaussian()
    assert repr(Gaussian()) == "Gaussian()"


def test_the_base_of_an_anova_kernel_has_the_width_of_standardised_inputs():
    assert Anova(base=Matern52() + 0.5 * Linear()).base == Matern52(1.0) + 0.5 * Linear()


def test_blocks_need_a_kernel_of_known_width():
    X, y = problem()
    with pytest.raises(ValueError, match=r"^rows that come in blocks need a kernel; .*\.$"):
        nvsd.nvsd_path(iter([(X, y)]), kernel=Gaussian())
