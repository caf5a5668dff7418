"""Every installed method finds what is plain."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from nvsd.benchmark.methods import METHODS, forests
from nvsd.benchmark.methods.base import MODULES, Method, up_to
from nvsd.benchmark.scores import class_scores

HERE = [key for key, method in METHODS.items() if not method.missing]
RANKED_ONLY = {
    "rf-permutation",
    "rf-shap",
    "lgbm-shap",
    "hsic",
    "rfe",
    "mutual-information",
    "mrmr",
}
WITH_SETS = {"ours", "ours-fdr", "boruta", "lassonet", "spam", "hidimstat", "lasso", "elastic-net"}


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forests, "TREES", 30)


def plain(classes: bool) -> tuple[np.ndarray, np.ndarray]:
    """Two inputs of five that matter, without noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 5))
    f = 2 * X[:, 3] - 1.5 * X[:, 1]
    return X, (f > 0).astype(int) if classes else f


@pytest.mark.parametrize("classes", [False, True], ids=["numbers", "classes"])
@pytest.mark.parametrize("key", HERE)
def test_a_method_finds_what_is_plain(key: str, classes: bool) -> None:
    method = METHODS[key]
    if not method.takes(80, 5, classes):
        pytest.skip("it does not take this kind of y")
    X, y = plain(classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = method.fit(X, y, classes, 0)
    assert fit.ranking is not None
    assert sorted(fit.ranking.tolist()) == [0, 1, 2, 3, 4]
    assert set(fit.ranking[:2].tolist()) == {1, 3}
    assert (fit.selected is not None) == (key in WITH_SETS)
    if fit.selected is not None:
        assert fit.selected.dtype == bool
        assert set(np.flatnonzero(fit.selected).tolist()) & {1, 3}
    predicts = key not in RANKED_ONLY | {"hidimstat"}
    assert (fit.predict is not None) == predicts
    if fit.predict is not None:
        predicted = fit.predict(X)
        if classes:
            assert predicted.shape == (80, 2)
            np.testing.assert_allclose(predicted.sum(axis=1), 1.0, atol=1e-5)
            assert class_scores(y, predicted)["auc"] > 0.9
        else:
            assert np.mean((np.ravel(predicted) - y) ** 2) < 0.5 * y.var()


def test_three_classes_work() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((90, 4))
    y = np.digitize(X[:, 2], [-0.5, 0.5])
    for key in ("rf", "lasso", "mrmr", "mutual-information", "lgbm-shap"):
        if METHODS[key].missing:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = METHODS[key].fit(X, y, True, 0)
        assert fit.ranking is not None
        assert fit.ranking[0] == 2, key


def test_what_is_not_installed_is_named() -> None:
    method = Method("x", "x", METHODS["rf"].fit, ("scikit-learn", "no_such_package"))
    assert method.missing == ("no_such_package",)
    assert METHODS["rf"].missing == ()
    assert set(MODULES) <= {name for m in METHODS.values() for name in m.packages}


def test_limits_are_kept() -> None:
    method = Method("x", "x", METHODS["rf"].fit, affordable=up_to(1000, 50), classes=False)
    assert method.takes(50, 20, False)
    assert not method.takes(50, 21, False)
    assert not method.takes(51, 2, False)
    assert not method.takes(50, 20, True)
