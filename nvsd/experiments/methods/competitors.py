"""Two modern competitors; both need PyTorch: pip install 'nvsd[competitors]'."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np

from nvsd.experiments.methods.base import Array, Mask, Method, Model, best_of, best_refit, nested
from nvsd.experiments.protocol import Split

BANDWIDTHS = (3.0, 10.0, 30.0)
REGULARISATION = (1e-3, 1e-1)


class _Competitor(Method):
    family = "competitor"


@dataclass(frozen=True)
class LassoNet(_Competitor):
    """LassoNet (Lemhadri et al. 2021): the sets along its path, then kernel ridge."""

    packages = ("lassonet", "torch")

    def fit(self, split: Split) -> Model:
        """The package's defaults, with early stopping on the validation data."""
        torch, lassonet = import_module("torch"), import_module("lassonet")
        torch.set_num_threads(1)
        net = lassonet.LassoNetRegressor(
            verbose=0, random_state=0, torch_seed=0, device=torch.device("cpu")
        )
        y, y_val = _unit(split)
        path = net.path(
            split.X.astype(np.float32), y, X_val=split.X_val.astype(np.float32), y_val=y_val
        )
        return best_refit(split, [item.selected.numpy().astype(bool) for item in path])


@dataclass(frozen=True)
class XRFM(_Competitor):
    """xRFM (Beaglehole et al. 2025): nested sets by the diagonal of its AGOP, then kernel ridge."""

    packages = ("xrfm", "torch")

    def fit(self, split: Split) -> Model:
        """A ranking for each bandwidth and regularisation; all their sets are compared."""
        sets: list[Mask] = []
        for machine in _machines(split):
            # The average gradient outer product of the best round.
            sets += nested(np.diag(machine.collect_best_agops()[0].numpy()))
        return best_refit(split, sets)


@dataclass(frozen=True)
class XRFMAlone(_Competitor):
    """xRFM, which uses all inputs, with its own predictions."""

    packages = ("xrfm", "torch")

    def fit(self, split: Split) -> Model:
        """The machine of least validation error."""
        return best_of([_alone(split, machine) for machine in _machines(split)])


def _machines(split: Split) -> Iterator[Any]:
    """One for each bandwidth and regularisation."""
    import_module("torch").set_num_threads(1)
    for bandwidth, reg in product(BANDWIDTHS, REGULARISATION):
        yield _machine(split, bandwidth, reg)


def _alone(split: Split, machine: Any) -> Model:
    mean, spread = _unit_of(split)

    def predict(X: Array) -> Array:
        return np.asarray(mean + spread * np.ravel(machine.predict(X)), dtype=float)

    error = float(np.mean((predict(split.X_val) - split.y_val) ** 2))
    return Model(np.ones(split.X.shape[1], bool), predict, error)


def _machine(split: Split, bandwidth: float, reg: float) -> Any:
    model = {
        "kernel": "l2_high_dim",
        "exponent": 1.0,
        "bandwidth": bandwidth,
        "diag": False,
        "bandwidth_mode": "constant",
    }
    fit = {
        "get_agop_best_model": True,
        "return_best_params": True,
        "reg": reg,
        "iters": 5,
        "early_stop_rfm": False,
    }
    # Any other refill_size would move training rows to the validation data.
    machine = import_module("xrfm").xRFM(
        rfm_params={"model": model, "fit": fit},
        device="cpu",
        random_state=0,
        refill_size=0,
        verbose=False,
    )
    y, y_val = _unit(split)
    machine.fit(split.X, y, split.X_val, y_val)
    return machine


def _unit(split: Split) -> tuple[Any, Any]:
    """Both targets in units of the training target, single precision."""
    mean, spread = _unit_of(split)
    unit = ((y - mean) / spread for y in (split.y, split.y_val))
    y, y_val = (values.astype(np.float32) for values in unit)
    return y, y_val


def _unit_of(split: Split) -> tuple[float, float]:
    return float(split.y.mean()), float(split.y.std()) or 1.0
