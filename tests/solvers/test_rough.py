"""S1 in single precision: its errors may cost iterations, but never the truth of a gap."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import xarray as xr

import nvsd
from nvsd.datasets import make_e3
from nvsd.kernels import Gaussian
from nvsd.linalg import CholeskySystem
from nvsd.penalties import ElasticNet, GroupLasso, Lasso, Penalty

TRAIN = make_e3(16, seed=3)  # 288 derivatives: systems of this order have factors
TAUS = np.geomspace(0.3, 0.003, 8)


def path(penalty: Penalty, tol: float) -> xr.Dataset:
    return nvsd.nvsd_path(
        TRAIN.X, TRAIN.y, kernel=Gaussian(2.0), penalty=penalty, taus=TAUS, tol=tol
    )


PENALTIES = [Lasso(), GroupLasso(TRAIN.groups), ElasticNet(0.6)]


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("error", [0.0, 1e-5, 1e-3])
def test_gaps_are_true_whatever_single_precision_does(
    penalty: Penalty, error: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = path(penalty, 1e-11)  # so small a tol is solved in double precision throughout
    rng, exact, calls = np.random.default_rng(0), CholeskySystem._solve_roughly, [0]

    def wrong(self: CholeskySystem, kappa: float, B: np.ndarray) -> np.ndarray:
        calls[0] += 1
        X = exact(self, kappa, B)
        return X * (1 + error * rng.standard_normal(X.shape))

    monkeypatch.setattr(CholeskySystem, "_solve_roughly", wrong)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = path(penalty, 1e-6)
    assert calls[0] > 0
    excess = found.objective - best.objective
    slack = best.gap + 1e-12 * found.attrs["scale"]
    assert (excess <= found.gap + slack).all()
    assert (excess >= -slack).all()
    if error <= 1e-5:  # larger errors are seen, and double precision takes over
        assert (found.gap <= 1e-6 * found.attrs["scale"]).all()


def test_a_small_tolerance_uses_double_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*given: object) -> None:
        raise AssertionError("single precision was used")

    monkeypatch.setattr(CholeskySystem, "_solve_roughly", never)
    assert (path(Lasso(), 1e-9).gap >= 0).all()
