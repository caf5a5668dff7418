"""Other methods of variable selection, each with its authors' defaults, behind one interface.

A peer takes X and y and gives what it has of three things: a ranking of all inputs, a selected set,
and predictions. Ties in a ranking keep the order of the columns, which `peers_bench.py` shuffles.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Predict = Callable[[Array], Array]

TREES = 500
HSIC_SIZE = 25  # inputs on the path of HSIC Lasso; no problem here has as many true ones
HSIC_NUMBERS = 5e7  # n²d up to which it runs without blocks, as in its article
XRFM_TRAIN = 0.8  # share of the rows that xRFM trains on; it needs the others for validation


class Fit(NamedTuple):
    """What a method has found: all inputs, best first; the selected ones; a predictor."""

    ranking: NDArray[np.intp] | None = None
    selected: Mask | None = None
    predict: Predict | None = None


class Peer(NamedTuple):
    """A method, what of it is measured, and the cells (n, d) in which it is affordable."""

    label: str
    about: str
    fit: Callable[[Array, Array, int], Fit]
    packages: tuple[str, ...] = ()
    affordable: Callable[[int, int], bool] = lambda n, d: True


def strongest(strength: Any) -> NDArray[np.intp]:
    """All inputs, the strongest first; of equals the first comes first."""
    return np.argsort(-np.asarray(strength, dtype=float), kind="stable")


def forest(X: Array, y: Array, seed: int) -> Fit:
    """A forest of 500 trees, otherwise scikit-learn's defaults."""
    model = _forest(seed).fit(X, y)
    return Fit(strongest(model.feature_importances_), None, model.predict)


def _forest(seed: int, **options: Any) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(**{"n_estimators": TREES, "random_state": seed} | options)


def boruta(X: Array, y: Array, seed: int) -> Fit:
    """Its confirmed inputs; tentative and rejected ones follow, and a forest predicts."""
    from boruta import BorutaPy

    trees = _forest(seed, max_depth=7)
    model = BorutaPy(trees, n_estimators="auto", max_iter=60, random_state=seed)
    model.fit(X, y)
    # The first row of the history is a placeholder; inputs of one rank go by their importance.
    history = np.nan_to_num(model.importance_history_[1:], nan=0.0)
    order = np.lexsort((-history.mean(axis=0), model.ranking_))
    return Fit(order, model.support_, _on(model.support_, X, y, seed))


def _on(support: Mask, X: Array, y: Array, seed: int) -> Predict:
    """A forest on some inputs, or the mean if there are none."""
    if not support.any():
        return lambda Z: np.full(len(Z), y.mean())
    model = _forest(seed).fit(X[:, support], y)
    return lambda Z: model.predict(Z[:, support])


def lightgbm(X: Array, y: Array, seed: int) -> Fit:
    """Boosted trees, ranked by the total gain of an input's splits."""
    from lightgbm import LGBMRegressor

    model = LGBMRegressor(importance_type="gain", random_state=seed, n_jobs=1, verbose=-1)
    model.fit(X, y)
    return Fit(strongest(model.feature_importances_), None, model.predict)


def lasso(X: Array, y: Array, seed: int) -> Fit:
    """The linear lasso on standardised inputs, its penalty by five folds."""
    from sklearn.linear_model import LassoCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LassoCV(random_state=seed)).fit(X, y)
    coefficients = np.abs(model[-1].coef_)
    return Fit(strongest(coefficients), coefficients > 0, model.predict)


def hsic(X: Array, y: Array, seed: int) -> Fit:
    """HSIC Lasso: inputs in the order in which they enter its path."""
    from nvsd.experiments.methods.kernel import hsic_path

    n, d = X.shape
    blocks = {} if n * n * d <= HSIC_NUMBERS else {"B": 20, "M": 3}
    sizes = range(min(HSIC_SIZE, d - 1), -1, -1)
    path = next(path for size in sizes if (path := hsic_path(X, y, size, **blocks)))
    return Fit(strongest(np.sum(path, axis=0)))


def xrfm(X: Array, y: Array, seed: int) -> Fit:
    """XRFM on standardised data, ranked by the diagonal of its average gradient outer product."""
    torch = import_module("torch")
    torch.set_num_threads(1)
    rows = np.random.default_rng(seed).permutation(len(X))
    train, rest = np.split(rows, [round(XRFM_TRAIN * len(X))])
    centre, scale = X.mean(axis=0), spread(X)
    mean, unit = float(y.mean()), float(y.std()) or 1.0
    Z, z = ((X - centre) / scale).astype(np.float32), ((y - mean) / unit).astype(np.float32)
    # Any other refill_size would move more training rows to the validation data.
    machine = import_module("xrfm").xRFM(
        device="cpu", random_state=seed, refill_size=0, verbose=False
    )
    machine.fit(Z[train], z[train], Z[rest], z[rest])

    def predict(X_new: Array) -> Array:
        return mean + unit * np.ravel(machine.predict(((X_new - centre) / scale).astype("f4")))

    return Fit(strongest(np.diag(machine.collect_best_agops()[0].numpy())), None, predict)


def lassonet(X: Array, y: Array, seed: int) -> Fit:
    """LassoNet: ranked by when inputs leave its path; least validation loss gives set and fit."""
    torch = import_module("torch")
    torch.set_num_threads(1)
    centre, scale = X.mean(axis=0), spread(X)
    mean, unit = float(y.mean()), float(y.std()) or 1.0
    net = import_module("lassonet").LassoNetRegressor(
        verbose=0, random_state=seed, torch_seed=seed, device=torch.device("cpu")
    )
    Z, z = ((X - centre) / scale).astype(np.float32), ((y - mean) / unit).astype(np.float32)
    path = net.path(Z, z, return_state_dicts=True, disable_lambda_warning=True)
    best = min(path, key=lambda item: item.val_loss)
    net.load(best)

    def predict(X_new: Array) -> Array:
        return mean + unit * np.ravel(net.predict(((X_new - centre) / scale).astype("f4")))

    return Fit(strongest(net.feature_importances_), best.selected.numpy().astype(bool), predict)


def spread(X: Array) -> Array:
    return np.where((scale := X.std(axis=0)) > 0, scale, 1.0)


def ours(X: Array, y: Array, seed: int) -> Fit:
    """`nvsd.select(X, y)`, nothing told; `predict` is its fit of least error."""
    import nvsd

    found = nvsd.select(X, y, progress=False)
    return Fit(found.order, found.support, found.predict)


def pool(X: Array, y: Array, seed: int) -> Fit:
    """`nvsd.select(X, y, method="pool")`, the default before."""
    import nvsd

    found = nvsd.select(X, y, method="pool", progress=False)
    return Fit(found.order, found.support, found.predict)


def _up_to(numbers: float) -> Callable[[int, int], bool]:
    return lambda n, d: n * d <= numbers


# In the order of the tables; ours first, then by what they are made of.
PEERS: dict[str, Peer] = {
    "ours": Peer("`select`", "`nvsd.select(X, y)`", ours, ("numpy", "scipy")),
    "pool": Peer(
        '`"pool"`',
        '`nvsd.select(X, y, method="pool")`, the default before; up to 250 rows and 50 inputs',
        pool,
        ("numpy", "scipy"),
        lambda n, d: n <= 250 and d <= 50,
    ),
    "rf": Peer(
        "random forest",
        "scikit-learn, 500 trees, inputs ranked by impurity; no set",
        forest,
        ("scikit-learn",),
    ),
    "boruta": Peer(
        "Boruta",
        "forests of depth 7, their number from the package, 60 rounds; the confirmed inputs, and "
        "a forest of 500 trees on them",
        boruta,
        ("Boruta", "scikit-learn"),
        _up_to(130_000),
    ),
    "lgbm": Peer("LightGBM", "defaults, inputs ranked by gain; no set", lightgbm, ("lightgbm",)),
    "hsic": Peer(
        "HSIC Lasso",
        "the authors' package, inputs in the order in which they enter; blocks of 20, the "
        "package's default, where n²d is above 5·10⁷; no set but of a size that is asked for, no "
        "predictions",
        hsic,
        ("pyHSICLasso",),
    ),
    "xrfm": Peer(
        "xRFM",
        "defaults, a fifth of the rows for validation, inputs ranked by the diagonal of the "
        "average gradient outer product; no set",
        xrfm,
        ("xrfm", "torch"),
    ),
    "lassonet": Peer(
        "LassoNet",
        "defaults, inputs ranked by when they leave the path; the point of least validation loss, "
        "on a tenth of the rows, gives set and predictions",
        lassonet,
        ("lassonet", "torch"),
        _up_to(130_000),
    ),
    "lasso": Peer(
        "LassoCV",
        "scikit-learn, five folds, inputs ranked by absolute coefficient; those that are not 0 are "
        "the set",
        lasso,
        ("scikit-learn",),
    ),
}
