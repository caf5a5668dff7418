"""Kernel methods: HSIC Lasso and xRFM; and LassoNet, which needs PyTorch as xRFM does."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from nvsd.benchmark.methods.base import (
    Array,
    Fit,
    Method,
    Predict,
    Target,
    spread,
    strongest,
    up_to,
)
from nvsd.experiments.methods.kernel import hsic_path

HSIC_SIZE = 25  # inputs on the path of HSIC Lasso; no problem with more has as many true ones
HSIC_NUMBERS = 5e7  # n²d up to which it runs without blocks, as in its article
HSIC_ROWS = 3_000  # with more it would take a sixth of the whole budget for three cells
XRFM_TRAIN = 0.8  # share of the rows that xRFM trains on; it needs the others for validation


def hsic(X: Array, y: Target, classes: bool, seed: int) -> Fit:
    """HSIC Lasso: inputs in the order in which they enter its path."""
    n, d = X.shape
    blocks = {} if n * n * d <= HSIC_NUMBERS else {"B": 20, "M": 3}
    sizes = range(min(HSIC_SIZE, d - 1), -1, -1)
    paths = (hsic_path(X, y, size, classes=classes, **blocks) for size in sizes)
    return Fit(strongest(np.sum(next(path for path in paths if path), axis=0)))


class _Units:
    """Standardised inputs and targets in single precision; classes stay as they are."""

    def __init__(self, X: Array, y: Target, classes: bool) -> None:
        self._centre, self._scale, self._classes = X.mean(axis=0), spread(X), classes
        self._mean, self._unit = (0.0, 1.0) if classes else (float(y.mean()), float(y.std()) or 1.0)
        self.X = self.inputs(X)
        self.y = y if classes else ((y - self._mean) / self._unit).astype(np.float32)

    def inputs(self, X: Array) -> Any:
        return ((X - self._centre) / self._scale).astype(np.float32)

    def outcome(self, model: Any) -> Predict:
        """Predictions in the units of y, or probabilities."""
        if self._classes:
            return lambda X: np.asarray(model.predict_proba(self.inputs(X)))
        return lambda X: self._mean + self._unit * np.ravel(model.predict(self.inputs(X)))


def xrfm(X: Array, y: Target, classes: bool, seed: int) -> Fit:
    """XRFM on standardised data, ranked by the diagonal of its average gradient outer product."""
    import_module("torch").set_num_threads(1)
    rows = np.random.default_rng(seed).permutation(len(X))
    train, rest = np.split(rows, [round(XRFM_TRAIN * len(X))])
    units = _Units(X, y, classes)
    # Any other refill_size would move more training rows to the validation data.
    machine = import_module("xrfm").xRFM(
        device="cpu", random_state=seed, refill_size=0, verbose=False
    )
    machine.fit(units.X[train], units.y[train], units.X[rest], units.y[rest])
    strength = np.diag(machine.collect_best_agops()[0].numpy())
    return Fit(strongest(strength), None, units.outcome(machine))


def lassonet(X: Array, y: Target, classes: bool, seed: int) -> Fit:
    """LassoNet: ranked by when inputs leave its path; least validation loss gives set and fit."""
    torch, package = import_module("torch"), import_module("lassonet")
    torch.set_num_threads(1)
    kind = package.LassoNetClassifier if classes else package.LassoNetRegressor
    net = kind(verbose=0, random_state=seed, torch_seed=seed, device=torch.device("cpu"))
    units = _Units(X, y, classes)
    path = net.path(units.X, units.y, return_state_dicts=True, disable_lambda_warning=True)
    best = min(path, key=lambda item: item.val_loss)
    net.load(best)
    selected = best.selected.numpy().astype(bool)
    return Fit(strongest(net.feature_importances_), selected, units.outcome(net))


METHODS = {
    "hsic": Method(
        "HSIC Lasso",
        "the authors' package, inputs in the order in which they enter; blocks of 20, the "
        "package's default, where n²d is above 5·10⁷; no set but of a size that is asked for, no "
        "predictions",
        hsic,
        ("pyHSICLasso",),
        lambda n, d: n <= HSIC_ROWS,
    ),
    "xrfm": Method(
        "xRFM",
        "defaults, a fifth of the rows for validation, inputs ranked by the diagonal of the "
        "average gradient outer product; no set",
        xrfm,
        ("xrfm", "torch"),
    ),
    "lassonet": Method(
        "LassoNet",
        "defaults, inputs ranked by when they leave the path; the point of least validation loss, "
        "on a tenth of the rows, gives set and predictions",
        lassonet,
        ("lassonet", "torch"),
        up_to(2_000),
    ),
}
