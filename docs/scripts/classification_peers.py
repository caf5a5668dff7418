"""Other methods of selection for classes, each with its authors' defaults, behind one interface.

A peer takes X and labels 0, 1, … and gives what it has of three things: a ranking of all inputs, a
selected set, and probabilities.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from peers import HSIC_NUMBERS, HSIC_SIZE, TREES, XRFM_TRAIN, Array, Mask, spread, strongest

Labels = NDArray[np.intp]
Predict = Callable[[Array], Array]


class Fit(NamedTuple):
    """What a method has found: all inputs, best first; the selected ones; probabilities."""

    ranking: NDArray[np.intp] | None = None
    selected: Mask | None = None
    predict_proba: Predict | None = None


class Peer(NamedTuple):
    """A method, what of it is measured, and the cells (n, d) in which it is affordable."""

    label: str
    about: str
    fit: Callable[[Array, Labels, int], Fit]
    packages: tuple[str, ...] = ()
    affordable: Callable[[int, int], bool] = lambda n, d: True


def ours(X: Array, y: Labels, seed: int) -> Fit:
    """`nvsd.select` on text labels, nothing told."""
    import nvsd

    found = nvsd.select(X, np.array([f"class {code}" for code in y]), progress=False)
    return Fit(found.order, found.support, found.predict_proba)


def _forest(seed: int, **options: Any) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(**{"n_estimators": TREES, "random_state": seed} | options)


def forest(X: Array, y: Labels, seed: int) -> Fit:
    """A forest of 500 trees, otherwise scikit-learn's defaults."""
    model = _forest(seed).fit(X, y)
    return Fit(strongest(model.feature_importances_), None, model.predict_proba)


def boruta(X: Array, y: Labels, seed: int) -> Fit:
    """Its confirmed inputs; tentative and rejected ones follow, and a forest predicts."""
    from boruta import BorutaPy

    trees = _forest(seed, max_depth=7)
    model = BorutaPy(trees, n_estimators="auto", max_iter=60, random_state=seed)
    model.fit(X, y)
    history = np.nan_to_num(model.importance_history_[1:], nan=0.0)
    order = np.lexsort((-history.mean(axis=0), model.ranking_))
    support = model.support_
    if not support.any():
        shares = np.bincount(y) / len(y)
        return Fit(order, support, lambda Z: np.tile(shares, (len(Z), 1)))
    trees = _forest(seed).fit(X[:, support], y)
    return Fit(order, support, lambda Z: trees.predict_proba(Z[:, support]))


def lightgbm(X: Array, y: Labels, seed: int) -> Fit:
    """Boosted trees, ranked by the total gain of an input's splits."""
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(importance_type="gain", random_state=seed, n_jobs=1, verbose=-1)
    model.fit(X, y)
    return Fit(strongest(model.feature_importances_), None, model.predict_proba)


def hsic(X: Array, y: Labels, seed: int) -> Fit:
    """HSIC Lasso for classes: inputs in the order in which they enter its path."""
    from pyHSICLasso import HSICLasso

    n, d = X.shape
    blocks = {"B": 0, "M": 1} if n * n * d <= HSIC_NUMBERS else {"B": 20, "M": 3}
    old_name = mock.patch.object(np.linalg, "linalg", np.linalg, create=True)
    # Its steps may cycle, and then it has room for 4d of them only.
    for size in range(min(HSIC_SIZE, d - 1), 0, -1):
        model = HSICLasso()
        with contextlib.suppress(IndexError), contextlib.redirect_stdout(io.StringIO()), old_name:
            model.input(np.ascontiguousarray(X), np.asarray(y))
            model.classification(size, **blocks, max_neighbors=min(10, d - 1), n_jobs=1)
            return Fit(strongest((np.asarray(model.path) > 0).sum(axis=1)))
    return Fit(np.arange(d))


def xrfm(X: Array, y: Labels, seed: int) -> Fit:
    """XRFM on standardised inputs, ranked by the diagonal of its average gradient outer product."""
    torch = import_module("torch")
    torch.set_num_threads(1)
    rows = np.random.default_rng(seed).permutation(len(X))
    train, rest = np.split(rows, [round(XRFM_TRAIN * len(X))])
    centre, scale = X.mean(axis=0), spread(X)
    Z = ((X - centre) / scale).astype(np.float32)
    machine = import_module("xrfm").xRFM(
        device="cpu",
        random_state=seed,
        refill_size=0,
        verbose=False,
    )
    machine.fit(Z[train], y[train], Z[rest], y[rest])

    def predict(X_new: Array) -> Array:
        return np.asarray(machine.predict_proba(((X_new - centre) / scale).astype("f4")))

    return Fit(strongest(np.diag(machine.collect_best_agops()[0].numpy())), None, predict)


def lassonet(X: Array, y: Labels, seed: int) -> Fit:
    """LassoNet: ranked by when inputs leave its path; least validation loss gives set and fit."""
    torch = import_module("torch")
    torch.set_num_threads(1)
    centre, scale = X.mean(axis=0), spread(X)
    net = import_module("lassonet").LassoNetClassifier(
        verbose=0, random_state=seed, torch_seed=seed, device=torch.device("cpu")
    )
    Z = ((X - centre) / scale).astype(np.float32)
    path = net.path(Z, y, return_state_dicts=True, disable_lambda_warning=True)
    best = min(path, key=lambda item: item.val_loss)
    net.load(best)

    def predict(X_new: Array) -> Array:
        return np.asarray(net.predict_proba(((X_new - centre) / scale).astype("f4")))

    return Fit(strongest(net.feature_importances_), best.selected.numpy().astype(bool), predict)


# In the order of the tables.
PEERS: dict[str, Peer] = {
    "ours": Peer("`select`", "`nvsd.select(X, labels)`", ours, ("numpy", "scipy")),
    "rf": Peer("random forest", "scikit-learn, 500 trees, no set", forest, ("scikit-learn",)),
    "boruta": Peer(
        "Boruta",
        "forests of depth 7, 60 rounds; the confirmed inputs, and a forest of 500 trees on them",
        boruta,
        ("Boruta", "scikit-learn"),
        lambda n, d: n * d <= 130_000,
    ),
    "lgbm": Peer("LightGBM", "defaults, ranked by gain, no set", lightgbm, ("lightgbm",)),
    "hsic": Peer("HSIC Lasso", "the authors' package, order of entry", hsic, ("pyHSICLasso",)),
    "xrfm": Peer("xRFM", "defaults, ranked by its gradients, no set", xrfm, ("xrfm", "torch")),
    "lassonet": Peer(
        "LassoNet",
        "defaults; the point of least validation loss gives set and probabilities",
        lassonet,
        ("lassonet", "torch"),
        lambda n, d: n * d <= 32_000,
    ),
}
