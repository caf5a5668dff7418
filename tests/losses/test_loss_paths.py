"""Paths of classes and of weighted samples: what the Dataset holds and predicts."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr
from scipy.special import expit

import nvsd
from nvsd.kernels import Gaussian, Polynomial
from nvsd.losses import Huber, Logistic, Quantile
from nvsd.penalties import ElasticNet, GroupLasso

KERNEL = Gaussian(2.0)


@pytest.fixture
def sample(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((40, 3))
    return X, X[:, 0] ** 2 + X[:, 1] + 0.1 * rng.standard_normal(40)


@pytest.fixture
def labels(sample) -> np.ndarray:
    return np.array(["low", "middle", "high"])[np.digitize(sample[1], [0.0, 1.5])]


def test_two_classes_by_any_label_are_the_same_path(sample) -> None:
    X, y = sample
    positive = y > 0.5
    first = nvsd.nvsd_path(X, positive, kernel=KERNEL, loss=Logistic(), n_taus=5)
    for given in (positive.astype(int), np.where(positive, "yes", "no"), positive * 2.0 - 1.0):
        other = nvsd.nvsd_path(X, given, kernel=KERNEL, loss=Logistic(), n_taus=5)
        np.testing.assert_array_equal(other.fitted, first.fitted)
    assert json.loads(first.attrs["classes"]) == [False, True]
    assert json.loads(nvsd.nvsd_path(X, np.where(positive, "yes", "no"), kernel=KERNEL,
                                     loss=Logistic(), n_taus=2).attrs["classes"]) == ["no", "yes"]  # fmt: skip


def test_probabilities_are_those_of_the_log_odds(sample) -> None:
    X, y = sample
    path = nvsd.nvsd_path(X, y > 0.5, kernel=KERNEL, loss=Logistic(), n_taus=5)
    np.testing.assert_allclose(path.nvsd.predict(X), path.fitted, rtol=1e-6, atol=1e-8)
    shares = path.nvsd.probability(X)
    assert shares.dims == ("tau", "class", "sample")
    np.testing.assert_allclose(shares.sel({"class": "True"}), expit(path.fitted), rtol=1e-6)
    np.testing.assert_allclose(shares.sum("class"), 1.0)
    assert (np.diff(path.explained) >= -1e-9).all()  # f explains more as tau falls
    worst = float(Logistic().value(np.where(y > 0.5, 1.0, -1.0), path.intercept.values[0]))
    assert path.attrs["scale"] == pytest.approx(worst, rel=1e-2)


def test_several_classes_are_one_against_the_others(sample, labels, tmp_path) -> None:
    X, _ = sample
    path = nvsd.nvsd_path(X, labels, kernel=KERNEL, loss=Logistic(), n_taus=6)
    assert list(path["class"].values) == ["high", "low", "middle"]
    for label in path["class"].values:
        alone = nvsd.nvsd_path(
            X, labels == label, kernel=KERNEL, loss=Logistic(), taus=path.tau.values
        )
        np.testing.assert_allclose(path.fitted.sel({"class": label}), alone.fitted, atol=1e-12)
    shares = path.nvsd.probability(X)
    np.testing.assert_allclose(shares.sum("class"), 1.0)
    each = expit(path.nvsd.predict(X))
    expected = (each / each.sum("class")).transpose(*shares.dims)
    np.testing.assert_allclose(shares, expected)
    path.to_netcdf(tmp_path / "path.nc")
    again = xr.load_dataset(tmp_path / "path.nc")
    xr.testing.assert_identical(again.nvsd.probability(X), shares)
    # The last tau tells the classes apart on the samples.
    best = shares.isel(tau=-1).argmax("class")
    assert np.mean(path["class"].values[best] == labels) > 0.8


def test_several_classes_with_an_elastic_net_of_several_mu_and_groups(sample, labels) -> None:
    X, _ = sample
    given = {"kernel": KERNEL, "loss": Logistic(), "n_taus": 3}
    path = nvsd.nvsd_path(X, labels, penalty=ElasticNet([0.3, 0.9]), **given)
    assert path.nvsd.predict(X[:2]).sizes == {"class": 3, "mu": 2, "tau": 3, "sample": 2}
    path = nvsd.nvsd_path(X, labels, penalty=GroupLasso(["a", "a", "b"]), **given)
    assert (path.support.sel(feature="x0") == path.support.sel(feature="x1")).all()


def test_balanced_classes_weigh_the_same(sample) -> None:
    X, y = sample
    rare = y > np.quantile(y, 0.85)
    given = {"kernel": KERNEL, "loss": Logistic(), "n_taus": 4}
    balanced = nvsd.nvsd_path(X, rare, class_weight="balanced", **given)
    share = rare.mean()
    by_hand = np.where(rare, 0.5 / share, 0.5 / (1 - share))
    weighted = nvsd.nvsd_path(X, rare, sample_weight=by_hand, **given)
    named = nvsd.nvsd_path(X, rare, class_weight={True: (1 - share) / share}, **given)
    np.testing.assert_allclose(balanced.fitted, weighted.fitted, atol=1e-8)
    np.testing.assert_allclose(balanced.fitted, named.fitted, atol=1e-8)
    assert abs(balanced.intercept.values[0]) < abs(nvsd.nvsd_path(X, rare, **given).intercept[0])
    labels = np.where(rare, "a", np.where(y > 0, "b", "c"))
    several = nvsd.nvsd_path(X, labels, class_weight="balanced", **given)
    weights = 1 / np.array([np.sum(labels == label) for label in labels])
    alone = nvsd.nvsd_path(
        X, labels == "b", sample_weight=weights, kernel=KERNEL, loss=Logistic(), taus=several.tau
    )
    np.testing.assert_allclose(several.fitted.sel({"class": "b"}), alone.fitted, atol=1e-8)


def test_long_names_and_units_fit_the_loss(sample) -> None:
    X, y = sample
    given = {"kernel": KERNEL, "n_taus": 2}
    logistic = nvsd.nvsd_path(X, y > 0, loss=Logistic(), **given)
    assert logistic.loss.attrs == {"long_name": "log-loss over the samples"}
    assert logistic.derivative_norm.attrs["units"] == "1/x"
    assert "units" not in logistic.gap.attrs
    assert nvsd.nvsd_path(X, y, loss=Quantile(0.3), **given).gap.attrs["units"] == "y"
    huber = nvsd.nvsd_path(X, y, loss=Huber(), **given)
    assert huber.gap.attrs["units"] == "y^2"
    assert json.loads(huber.attrs["loss"])["delta"] > 0  # the one that was taken from y


def test_the_warning_names_the_scale_of_the_loss(sample) -> None:
    X, y = sample
    with pytest.warns(nvsd.ConvergenceWarning, match="of the loss of the best constant") as caught:
        nvsd.nvsd_path(X, y > 0, kernel=Polynomial(3), loss=Logistic(), max_iter=1, n_taus=5)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("y", "options", "words"),
    [
        ("one", {}, "one class only"),
        ("three", {"representation": "matrix-free"}, "'matrix-free' needs a quadratic loss"),
        ("three", {"class_weight": {"x": 2.0}}, "class_weight names 'x'"),
        ("three", {"class_weight": 3}, "class_weight = 3 is not allowed"),
        ("numbers", {}, "numbers with fractions"),
        ("missing", {}, "1 missing labels"),
        ("mixed", {}, "mixes labels of types number and text"),
        ("short", {}, "give one label per row"),
        ("names", {}, "give two dimensions|different labels"),
    ],
)
def test_what_cannot_be_classes_is_refused(sample, labels, y, options, words) -> None:
    X, numbers = sample
    targets = {
        "one": ["a"] * 40,
        "three": labels,
        "numbers": numbers,
        "missing": [None, *labels[1:]],
        "mixed": [1, *labels[1:]],
        "short": labels[1:],
        "names": [f"row {i}" for i in range(150)],
    }
    if y == "names":
        X = np.random.default_rng(0).standard_normal((150, 2))
    with pytest.raises(ValueError, match=words):
        nvsd.nvsd_path(X, targets[y], kernel=KERNEL, loss=Logistic(), **options)


def test_weights_are_checked_and_only_their_ratios_matter(sample) -> None:
    X, y = sample
    weights = np.linspace(0.5, 2.0, 40)
    given = {"kernel": KERNEL, "n_taus": 4, "tol": 1e-9}
    one = nvsd.nvsd_path(X, y, sample_weight=weights, **given)
    two = nvsd.nvsd_path(X, y, sample_weight=7 * weights, **given)
    np.testing.assert_allclose(one.fitted, two.fitted, rtol=1e-6)
    assert float(one.y_mean) == pytest.approx(np.average(y, weights=weights))
    equal = nvsd.nvsd_path(X, y, sample_weight=np.full(40, 3.0), **given)
    xr.testing.assert_identical(equal, nvsd.nvsd_path(X, y, **given))
    for bad, words in (
        (np.zeros(40), "give positive weights"),
        (weights[1:], "sample_weight has shape"),
        (np.full(40, np.nan), "sample_weight holds NaN"),
    ):
        with pytest.raises(ValueError, match=words):
            nvsd.nvsd_path(X, y, sample_weight=bad, **given)
    with pytest.raises(ValueError, match="is not a loss of classes"):
        nvsd.nvsd_path(X, y, class_weight="balanced", **given)
    with pytest.raises(ValueError, match="in blocks"):
        nvsd.nvsd_path([(X, y)], kernel=Polynomial(2), loss=Huber())


def test_a_prepared_problem_serves_several_targets(sample) -> None:
    X, y = sample
    prepared = nvsd.prepare(X, kernel=KERNEL, loss=Logistic())
    for cut in (0.0, 1.0):
        path = nvsd.nvsd_path(prepared, y > cut, n_taus=4)
        alone = nvsd.nvsd_path(X, y > cut, kernel=KERNEL, loss=Logistic(), n_taus=4)
        xr.testing.assert_identical(path, alone)


def test_weights_pull_f_towards_heavy_samples(sample) -> None:
    X, y = sample
    weights = np.where(y > 1, 20.0, 1.0)
    given = {"kernel": KERNEL, "n_taus": 5, "nu": 0.1}
    plain = nvsd.nvsd_path(X, y, **given).isel(tau=-1).fitted.values - y
    pulled = nvsd.nvsd_path(X, y, sample_weight=weights, **given).isel(tau=-1).fitted.values - y
    assert np.mean(pulled[y > 1] ** 2) < np.mean(plain[y > 1] ** 2)
