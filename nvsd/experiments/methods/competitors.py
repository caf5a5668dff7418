"""Two modern competitors; both need PyTorch: pip install 'nvsd[competitors]'."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from nvsd.experiments.methods.base import Mask, Method, Model, best_refit, nested
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
        """The package's defaults; it stops early by the validation data."""
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
        torch = import_module("torch")
        torch.set_num_threads(1)
        sets: list[Mask] = []
        for bandwidth in BANDWIDTHS:
            for reg in REGULARISATION:
                sets += nested(_agop(split, bandwidth, reg))
        return best_refit(split, sets)


def _agop(split: Split, bandwidth: float, reg: float) -> Any:
    """The diagonal of the average gradient outer product of the best round."""
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
    return np.diag(machine.collect_best_agops()[0].numpy())


def _unit(split: Split) -> tuple[Any, Any]:
    """Both targets in units of the training target, single precision."""
    mean, spread = split.y.mean(), split.y.std() or 1.0
    unit = ((y - mean) / spread for y in (split.y, split.y_val))
    y, y_val = (values.astype(np.float32) for values in unit)
    return y, y_val
