"""`path.nvsd`: predictions, gradients and refits against finite differences and direct formulas."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from path_problems import kernels, representations, sample
from sklearn.kernel_ridge import KernelRidge

import nvsd
from nvsd.kernels import Gaussian, Kernel, Linear, Polynomial
from nvsd.penalties import ElasticNet, Lasso
from reference.kernels import entry

N, D, M = 9, 3, 5
STEP = 1e-5
EVERYTHING = [
    pytest.param(kernel, kind, id=f"{kernel}-{kind}")
    for kernel in kernels(D)
    for kind in representations(kernel)
]
every_path = pytest.mark.parametrize(("kernel", "kind"), EVERYTHING)


@cache
def make(kernel: Kernel, kind: str = "auto", several: bool = True, **options) -> xr.Dataset:
    X, y = sample(11, N, D)
    penalty = ElasticNet([0.4, 1.0]) if several else Lasso()
    options = {"nu": 1e-2, "n_taus": 4, "representation": kind} | options
    return nvsd.nvsd_path(X, y, kernel=kernel, penalty=penalty, **options)


@pytest.fixture
def X_new(rng) -> np.ndarray:
    return rng.standard_normal((M, D))


def close(actual, expected, rtol=1e-6):
    expected = np.asarray(expected)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=rtol * np.abs(expected).max())


def differences(predict, X_new: np.ndarray) -> np.ndarray:
    """Central differences, with the inputs before the samples as in `gradient`."""
    slopes = []
    for a in range(X_new.shape[1]):
        shift = STEP * np.eye(X_new.shape[1])[a]
        slopes.append((predict(X_new + shift) - predict(X_new - shift)) / (2 * STEP))
    return np.stack(slopes, axis=-2)


@every_path
def test_gradient_is_the_derivative_of_the_prediction(kernel, kind, X_new) -> None:
    path = make(kernel, kind)
    gradient = path.nvsd.gradient(X_new)
    assert gradient.dims == ("mu", "tau", "feature", "sample")
    assert gradient.feature.values.tolist() == ["x0", "x1", "x2"]
    close(gradient, differences(lambda Z: path.nvsd.predict(Z).values, X_new))


@every_path
def test_prediction_is_the_sum_over_the_samples(kernel, kind, X_new) -> None:
    """f = Σ α_j k(x_j, ·) + Σ β_aj ∂_a k(x_j, ·), one entry at a time."""
    path = make(kernel, kind)
    prediction = path.nvsd.predict(X_new)
    assert prediction.dims == ("mu", "tau", "sample")
    if "alpha" not in path:
        return
    X, y = sample(11, N, D)
    for mu, tau in [(0, 1), (1, 3)]:
        row, expected = path.isel(mu=mu, tau=tau), np.full(M, y.mean())
        for i, j in np.ndindex(M, N):
            k, first, _ = entry(kernel, X[j], X_new[i])
            expected[i] += row.alpha.values[j] * k
            expected[i] += sum(row.beta.values[a, j] * first[a] for a in range(D))
        close(prediction.isel(mu=mu, tau=tau), expected, rtol=1e-5)


@every_path
def test_derivative_norm_on_other_points(kernel, kind, X_new) -> None:
    path = make(kernel, kind)
    norm = path.nvsd.derivative_norm(X_new)
    assert norm.dims == ("mu", "tau", "feature")
    close(norm, np.sqrt(np.mean(path.nvsd.gradient(X_new).values ** 2, axis=-1)))


def test_representations_predict_the_same(X_new) -> None:
    for kernel in (Polynomial(3), Linear()):
        taus = (0.5, 0.05)
        first, *others = [
            make(kernel, kind, taus=taus, tol=1e-12) for kind in representations(kernel)
        ]
        for other in others:
            close(other.nvsd.predict(X_new), first.nvsd.predict(X_new), rtol=1e-4)
            close(other.nvsd.gradient(X_new), first.nvsd.gradient(X_new), rtol=1e-3)


def test_part_of_a_path_predicts_its_part(X_new) -> None:
    path = make(Gaussian(1.5))
    whole = path.nvsd.predict(X_new)
    close(path.isel(tau=[2, 0]).nvsd.predict(X_new), whole.isel(tau=[2, 0]), 1e-12)
    close(path.isel(mu=1).nvsd.predict(X_new), whole.isel(mu=1), 1e-12)
    one = path.isel(mu=0, tau=2).nvsd.predict(X_new)
    assert one.dims == ("sample",)
    close(one, whole.isel(mu=0, tau=2), 1e-12)
    gradient = path.isel(mu=0, tau=2).nvsd.gradient(X_new)
    assert gradient.dims == ("feature", "sample")


def test_a_single_tau_is_refitted(X_new) -> None:
    path, (X, y) = make(Gaussian(1.5)).isel(mu=0), sample(11, N, D)
    whole = path.nvsd.debias(X, y).nvsd.predict(X_new)
    one = path.isel(tau=2)
    alone = one.nvsd.debias(X, y)
    assert alone.nvsd.predict(X_new).dims == ("sample",)
    close(alone.nvsd.predict(X_new), whole.isel(tau=2), 1e-12)
    parts = [path.isel(tau=[k]) for k in (2, 1)]
    # Both give every variable the dimension, those of the data too.
    for again in (one.expand_dims("tau"), xr.concat(parts, "tau", data_vars="all")):
        close(again.nvsd.predict(X_new)[0], path.nvsd.predict(X_new).isel(tau=2), 1e-12)
        close(again.nvsd.debias(X, y).nvsd.predict(X_new)[0], whole.isel(tau=2), 1e-12)


def test_paths_of_different_data_are_not_one_path(X_new) -> None:
    path = make(Gaussian(1.5)).isel(mu=0)
    other = path.assign(x_mean=path.x_mean + 1)
    joined = xr.concat([path, other], "tau", data_vars="all")
    with pytest.raises(ValueError, match="x_mean differs along tau, so these are paths of diff"):
        joined.nvsd.predict(X_new)


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Polynomial(2)], ids=str)
def test_the_order_of_the_dimensions_does_not_matter(kernel, X_new) -> None:
    path = make(kernel)
    turned = path.transpose(*reversed(list(path.dims)))
    X, y = sample(11, N, D)
    xr.testing.assert_allclose(
        turned.nvsd.predict(X_new).transpose("mu", "tau", "sample"), path.nvsd.predict(X_new)
    )
    xr.testing.assert_allclose(
        turned.nvsd.gradient(X_new).transpose("mu", "tau", "feature", "sample"),
        path.nvsd.gradient(X_new),
    )
    xr.testing.assert_allclose(
        turned.nvsd.debias(X, y).alpha.transpose("mu", "tau", "sample"),
        path.nvsd.debias(X, y).alpha,
    )


# Units and names of the inputs.


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Polynomial(2), Linear()], ids=str)
def test_standardised_inputs(kernel: Kernel, rng) -> None:
    X, y = sample(12, N, D)
    X = X * [100.0, 0.01, 1.0] + [1e3, 0.0, -5.0]
    X_new = X.mean(axis=0) + X.std(axis=0) * rng.standard_normal((M, D))
    path = nvsd.nvsd_path(X, y, kernel=kernel, nu=1e-2, n_taus=4, standardize=True)
    by_hand = nvsd.nvsd_path(
        (X - X.mean(axis=0)) / X.std(axis=0), y, kernel=kernel, nu=1e-2, n_taus=4
    )
    close(path.nvsd.predict(X_new), by_hand.nvsd.predict((X_new - X.mean(0)) / X.std(0)))
    close(path.derivative_norm, by_hand.derivative_norm)
    # The gradient is in the units of X as given; differences with steps to match.
    gradient, scale = path.nvsd.gradient(X_new), X.std(axis=0)
    predict = lambda Z: path.nvsd.predict(X.mean(0) + scale * Z).values  # noqa: E731
    slopes = differences(predict, (X_new - X.mean(0)) / scale)
    close(gradient * scale[:, None], slopes)
    # Norms are comparable with those in the path.
    close(path.nvsd.derivative_norm(X)[-1], path.derivative_norm[-1], rtol=1e-2)


def test_a_constant_input_is_only_centred() -> None:
    X, y = sample(12, N, D, "column")
    path = nvsd.nvsd_path(X, y, kernel=Gaussian(1.5), n_taus=3, standardize=True)
    assert float(path.x_scale[2]) == 1.0
    assert np.isfinite(path.nvsd.predict(X)).all()


def test_columns_are_matched_by_name(X_new) -> None:
    X, y = sample(11, N, D)
    names = ["age", "size", "mass"]
    path = nvsd.nvsd_path(pd.DataFrame(X, columns=names), y, kernel=Gaussian(1.5), n_taus=3)
    frame = pd.DataFrame(X_new, columns=names)
    shuffled = frame[["mass", "age", "size"]].assign(other=7.0)
    expected = path.nvsd.predict(X_new)
    xr.testing.assert_equal(path.nvsd.predict(frame), expected)
    xr.testing.assert_equal(path.nvsd.predict(shuffled), expected)
    xr.testing.assert_equal(path.nvsd.gradient(shuffled), path.nvsd.gradient(X_new))
    with pytest.raises(ValueError, match=r"^the columns of X lack 'size'; give .*\.$"):
        path.nvsd.predict(frame.drop(columns="size"))
    labelled = xr.DataArray(X_new, dims=("row", "sensor"), coords={"sensor": names})
    close(path.nvsd.predict(labelled.sel(sensor=names[::-1])), path.nvsd.predict(X_new), 1e-12)
    with pytest.raises(ValueError, match=r"^X has shape \(3,\); give two dimensions.*\.$"):
        path.nvsd.predict(labelled[0])
    unnamed = nvsd.nvsd_path(X, y, kernel=Gaussian(1.5), n_taus=3)
    with pytest.raises(ValueError, match="lack 'x0'; give X without names, as in the fit"):
        unnamed.nvsd.predict(frame)
    with pytest.raises(ValueError, match=r"^several inputs are called 'size'; give .*\.$"):
        path.nvsd.predict(pd.concat([frame, frame["size"]], axis=1))


def test_columns_of_a_refit_on_some_points_are_matched_by_name(X_new) -> None:
    X, y = sample(11, N, D)
    names = ["size", "age", "x1"]
    frame = pd.DataFrame(X, columns=names)
    path = nvsd.nvsd_path(frame, y, kernel=Gaussian(1.5), n_taus=3)

    def refit(rows, *target):
        return path.nvsd.debias(rows, *target, value_points=6)

    expected = refit(X, y).nvsd.predict(X_new)
    labelled = xr.DataArray(X, dims=("row", "sensor"), coords={"sensor": names})
    lazy = pytest.importorskip("dask.array").from_array(X, chunks=(4, D))
    blocks = [(frame[:4], y[:4]), (frame[4:], y[4:])]
    turned = [names[::-1], names[1:] + names[:1]]
    for same in (*(frame[order] for order in turned), labelled.sel(sensor=turned[0]), lazy):
        close(refit(same, y).nvsd.predict(X_new), expected, 1e-9)
    close(refit(blocks).nvsd.predict(X_new), expected, 1e-9)

    class Reader:
        """Blocks from somewhere, with what they are called."""

        columns = names

        def __iter__(self):
            return iter(blocks)

    close(refit(Reader()).nvsd.predict(X_new), expected, 1e-9)
    close(refit(labelled.chunk(row=5), y).nvsd.predict(X_new), expected, 1e-9)
    for bad, target, why in (
        (frame.rename(columns={"age": "Age"}), (y,), "lack 'age'"),
        (X[:, :1], (y,), "X has 1 columns but the path has 3 inputs"),
        ([(block[turned[0]], part) for block, part in blocks], (), "in another order"),
        (X, (), "y is missing"),
    ):
        with pytest.raises(ValueError, match=why) as error:
            refit(bad, *target)
        assert str(error.value).endswith(".")
    with pytest.raises(ValueError, match=r"^value_points = 0 is not allowed; give"):
        path.nvsd.debias(X, y, value_points=0)


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": Polynomial(2)},
        {"kernel": Gaussian((1.0, 2.0, 3.0))},
        {"kernel": Gaussian(2.0), "value_points": 6},
    ],
)
def test_the_order_of_the_inputs_in_a_path_does_not_matter(options, X_new) -> None:
    X, y = sample(11, N, D)
    names = ["x10", "x9", "a"]
    path = nvsd.nvsd_path(pd.DataFrame(X, columns=names), y, n_taus=3, **options)
    turned = path.sortby("feature")
    assert list(turned["feature"].values) == ["a", "x10", "x9"]
    frame = pd.DataFrame(X_new, columns=names)
    refits = [each.nvsd.debias(X, y, nu=1e-3) for each in (path, turned)]
    loose = turned.reset_coords("column_number")
    for one, other in ((path, turned), refits, (path, loose)):
        close(one.nvsd.predict(frame), other.nvsd.predict(frame), 1e-12)
        slopes = other.nvsd.gradient(frame).sel(feature=one["feature"])
        close(one.nvsd.gradient(frame), slopes, 1e-12)
    # A support that is no DataArray is in the order that the path has now.
    support = turned["support"].values
    given = turned.nvsd.debias(X, y, nu=1e-3, support=support)
    close(given.nvsd.predict(X_new), refits[0].nvsd.predict(X_new), 1e-12)
    plain = turned.nvsd.debias(
        X, y, nu=1e-3, support=xr.DataArray(support, dims=("tau", "feature"))
    )
    close(plain.nvsd.predict(X_new), refits[0].nvsd.predict(X_new), 1e-12)
    other = nvsd.nvsd_path(
        pd.DataFrame(X, columns=names)[["a", "x9", "x10"]], y, taus=[1e-3], **options
    )
    joined = xr.concat(
        [path, other], "tau", data_vars="all", coords="different", compat="equals", join="outer"
    )
    with pytest.raises(ValueError, match="joins paths whose inputs were in different orders"):
        joined.nvsd.predict(frame)


def test_a_path_in_order_is_not_copied() -> None:
    path = make(Gaussian(1.5))
    assert np.shares_memory(path.nvsd._dataset["beta"].values, path["beta"].values)


def test_a_support_with_labels_goes_by_them(X_new) -> None:
    X, y = sample(11, N, D)
    path = make(Gaussian(1.5), several=False, n_taus=D)
    support = path["derivative_norm"] > 0.5 * path["derivative_norm"].max("feature")
    assert len(np.unique(support.values, axis=0)) > 1
    expected = path.nvsd.debias(X, y, support=support.values)
    turned = support.isel(feature=slice(None, None, -1))
    for same in (support, turned, support.sortby("tau"), support.T, xr.DataArray(support.values)):
        xr.testing.assert_identical(path.nvsd.debias(X, y, support=same), expected)
    twice = xr.concat([path, path], "tau", data_vars="minimal", coords="minimal", compat="override")
    both = np.concatenate([support.values, support.values])
    for same in (both, twice["support"].copy(data=both)):
        again = twice.nvsd.debias(X, y, support=same).isel(tau=slice(0, path.sizes["tau"]))
        close(again.nvsd.predict(X_new), expected.nvsd.predict(X_new), 1e-12)
    several = make(Gaussian(1.5), n_taus=D)
    both = support.expand_dims(mu=several["mu"].values, axis=2).assign_coords(tau=several["tau"])
    for mu in (0, 1):
        alone = several.isel(mu=mu).nvsd.debias(X, y, support=both.isel(mu=mu))
        joint = several.nvsd.debias(X, y, support=both).isel(mu=mu)
        close(joint.nvsd.predict(X_new), alone.nvsd.predict(X_new), 1e-12)
    for other in (support.isel(tau=[0]), support.rename(feature="sensor"), support.isel(tau=0)):
        with pytest.raises(ValueError, match="whose labels differ from those of the path") as error:
            path.nvsd.debias(X, y, support=other)
        assert str(error.value).endswith(".")


BAD = {
    "too few columns": np.ones((4, 2)),
    "a vector": np.ones(3),
    "NaN": np.full((4, 3), np.nan),
    "text": np.full((4, 3), "a"),
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("method", ["predict", "gradient", "derivative_norm"])
def test_bad_points_are_refused_in_one_sentence(bad: str, method: str) -> None:
    with pytest.raises(ValueError, match=r"\A[^\n]+; [^\n]+\.\Z"):
        getattr(make(Gaussian(1.5)).nvsd, method)(BAD[bad])


def test_coefficients_of_monomials_need_a_polynomial_kernel(X_new) -> None:
    path = make(Polynomial(3), "monomial").assign_coords(kernel=Gaussian(1.5).to_json())
    for method in (path.nvsd.predict, path.nvsd.gradient):
        with pytest.raises(ValueError, match=r"^theta is not .* Gaussian.*; the Dataset is damag"):
            method(X_new)


# The refit.


def kernel_ridge(kernel: Kernel, X, y, mask, nu: float, X_new) -> np.ndarray:
    """scikit-learn's, on the chosen inputs; the mean without any."""
    if not mask.any():
        return np.full(len(X_new), y.mean())
    inner = kernel.restrict(mask)
    K, K_new = inner.K(X[:, mask]), inner.K(X_new[:, mask], X[:, mask])
    model = KernelRidge(alpha=len(y) * nu, kernel="precomputed").fit(K, y - y.mean())
    return y.mean() + model.predict(K_new)


@pytest.mark.parametrize("kernel", kernels(D), ids=str)
def test_debias_is_kernel_ridge_on_the_selected_inputs(kernel: Kernel, X_new) -> None:
    X, y = sample(11, N, D)
    path = make(kernel)
    refit = path.nvsd.debias(X, y)
    np.testing.assert_array_equal(refit.support, path.support)
    prediction = refit.nvsd.predict(X_new)
    assert prediction.dims == ("mu", "tau", "sample")
    for mu, tau in np.ndindex(2, 4):
        mask = path.support.values[mu, tau]
        expected = kernel_ridge(kernel, X, y, mask, 1e-2, X_new)
        close(prediction[mu, tau], expected)
        fitted = kernel_ridge(kernel, X, y, mask, 1e-2, X)
        close(refit.fitted[mu, tau], fitted)
        assert float(refit.loss[mu, tau]) == pytest.approx(np.mean((y - fitted) ** 2), rel=1e-6)
    assert all(variable.attrs.get("long_name") for variable in refit.data_vars.values())


def test_the_refit_ignores_what_was_not_selected(X_new) -> None:
    X, y = sample(11, N, D)
    support = np.zeros((4, D), dtype=bool)
    support[1:, 0] = support[2:, 1] = True
    refit = make(Gaussian(1.5), several=False).nvsd.debias(X, y, support=support)
    gradient = refit.nvsd.gradient(X_new)
    assert gradient.dims == ("tau", "feature", "sample")
    close(gradient, differences(lambda Z: refit.nvsd.predict(Z).values, X_new))
    np.testing.assert_array_equal(np.abs(gradient).max("sample") > 0, support)


def test_validation_data_choose_nu(rng) -> None:
    X, y = sample(11, N, D)
    X_val, y_val = sample(13, 20, D)
    path, nus = make(Gaussian(1.5), several=False), [1e-6, 1e-3, 1.0]
    refit = path.nvsd.debias(X, y, nu=nus, validation=(X_val, y_val))
    for tau in range(4):
        mask = path.support.values[tau]
        errors = [
            np.mean((kernel_ridge(Gaussian(1.5), X, y, mask, nu, X_val) - y_val) ** 2) for nu in nus
        ]
        if mask.any():
            assert float(refit.ridge_nu[tau]) == nus[int(np.argmin(errors))]
    wide = path.nvsd.debias(X, y, validation=(X_val, y_val))
    error = ((wide.nvsd.predict(X_val) - y_val) ** 2).mean("sample")
    given = ((path.nvsd.debias(X, y).nvsd.predict(X_val) - y_val) ** 2).mean("sample")
    assert (error <= given * 1.05).all()


def test_a_refit_can_be_saved(tmp_path, X_new) -> None:
    X, y = sample(11, N, D)
    refit = make(Gaussian(1.5)).nvsd.debias(X, y)
    refit.to_netcdf(tmp_path / "refit.nc", engine="h5netcdf")
    loaded = xr.load_dataset(tmp_path / "refit.nc", engine="h5netcdf")
    xr.testing.assert_identical(loaded, refit)
    xr.testing.assert_equal(loaded.nvsd.predict(X_new), refit.nvsd.predict(X_new))


@pytest.mark.parametrize(
    "bad",
    [
        {"nu": [1e-3, 1.0]},  # nothing to choose by
        {"nu": -1.0},
        {"nu": np.nan},
        {"y": np.ones(3)},
        {"X": np.ones((N, 2))},
        {"support": np.ones((3, D), dtype=bool)},
        {"validation": (np.ones((4, D)), np.ones(3))},
    ],
    ids=str,
)
def test_bad_refits_are_refused_in_one_sentence(bad: dict) -> None:
    X, y = sample(11, N, D)
    arguments = {"X": X, "y": y} | bad
    with pytest.raises(ValueError, match=r"\A[^\n]+; [^\n]+\.\Z"):
        make(Gaussian(1.5)).nvsd.debias(**arguments)


# What is no path any more.


@pytest.mark.parametrize(
    ("cut", "columns"),
    [({"sample": [0, 1]}, D), ({"feature": [0, 2]}, 2)],
    ids=["sample", "feature"],
)
def test_a_path_without_some_of_its_samples_or_inputs_is_refused(cut, columns, X_new) -> None:
    (dim,) = cut
    path = make(Gaussian(1.5), several=False)
    refits = path.nvsd.debias(*sample(11, N, D))
    for whole in (path, refits):
        assert whole.nvsd.predict(X_new).shape == (4, M)
        for ask in ("predict", "gradient", "derivative_norm"):
            with pytest.raises(ValueError, match=f"of . along {dim}, but f needs all"):
                getattr(whole.isel(cut).nvsd, ask)(X_new[:, :columns])


def test_paths_that_were_joined_are_taken_apart_first(X_new) -> None:
    paths = [make(Gaussian(1.5), several=False, nu=nu, taus=(0.1, 1.0)) for nu in (0.1, 0.01)]
    joined = xr.concat(paths, "nu")
    for ask in (joined.nvsd.predict, joined.nvsd.gradient, joined.nvsd.debias):
        with pytest.raises(
            ValueError, match=r"along nu; take one of them, as in path.isel\(nu=0\)"
        ):
            ask(X_new)
    np.testing.assert_array_equal(
        joined.isel(nu=1).nvsd.predict(X_new), paths[1].nvsd.predict(X_new)
    )


def test_a_refit_that_does_not_fit_in_memory_is_refused(monkeypatch) -> None:
    path = make(Gaussian(1.5), several=False)
    monkeypatch.setattr("nvsd.machine.available_memory", lambda: 1000.0)
    with pytest.raises(ValueError, match=r"kernel ridge on 9 rows would need .* value_points"):
        path.nvsd.debias(*sample(11, N, D))
