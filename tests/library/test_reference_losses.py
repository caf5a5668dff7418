"""The reference's losses against each other's statements, brute force, and wrong witnesses."""

from __future__ import annotations

import numpy as np
import pytest
from loss_problems import LOSSES, LossCase, sample
from scipy.optimize import minimize

import reference
from nvsd.kernels import Gaussian, Kernel, Linear, Polynomial
from nvsd.losses import Huber, Logistic, Loss, Parabola, Quantile, Squared
from nvsd.penalties import ElasticNet, GroupLasso, Lasso
from reference.losses import formula

CERTIFIED = 1e-6  # Clarabel is asked for 1e-9, and the gap divides the dual's error by ν
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=str)
TAU, NU = 0.1, 1e-2


@every_loss
def test_formulas_are_those_of_the_library(loss: Loss, rng) -> None:
    """Values, slopes and conjugates in two codings."""
    stated = formula(loss)
    y = rng.choice([-1.0, 1.0], 50) if loss.of_classes else rng.standard_normal(50)
    f = 3 * rng.standard_normal(50)
    low, high = stated.domain(y)
    v = low + rng.random(50) * (high - low)
    np.testing.assert_allclose(stated.values(y, f), loss.pointwise(y, f), rtol=1e-12)
    np.testing.assert_allclose(stated.slopes(y, f), loss.gradient(y, f), rtol=1e-12)
    np.testing.assert_allclose(stated.conjugates(y, v), loss.conjugate(y, v), rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(loss.feasible(y, high + 1), high)
    np.testing.assert_allclose(loss.feasible(y, low - 1), low)
    total = stated.total(y, f, np.ones(50)).value
    assert float(total) == pytest.approx(loss.pointwise(y, f).sum())


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("kernel", [Gaussian(1.5), Polynomial(2)], ids=str)
@every_loss
def test_statements_agree(loss: Loss, kernel: Kernel, center: bool, rng) -> None:
    """Proposition 2 and 3, in θ; and in ω, whose own witness may be poor."""
    X, y = sample(3, 8, 3, loss, "rows")
    given = {"kernel": kernel, "penalty": ElasticNet(0.6), "tau": TAU, "nu": NU, "loss": loss}
    given |= {"center": center, "sample_weight": rng.uniform(0.3, 3, 8)}
    first, second = (reference.solve(X, y, form=form, **given) for form in reference.FORMS)
    unit = LossCase(X, y, kernel, Lasso(), NU, loss, center=center).unit
    for s in (first, second):
        assert s.accuracy <= CERTIFIED * unit
        assert s.objective == pytest.approx(s.loss + TAU * s.penalty + NU * s.rkhs_norm)
    assert abs(first.objective - second.objective) <= CERTIFIED * unit
    plain = reference.solve(X, y, variable="omega", tol=None, **given)
    assert plain.objective == pytest.approx(first.objective, abs=1e-4 * unit)


@pytest.mark.parametrize("loss", [Logistic(), Huber(0.5)], ids=str)
def test_a_smooth_problem_by_brute_force(loss: Loss, rng) -> None:
    """A linear f and the elastic net without norms: scipy needs no cone."""
    X, y = sample(3, 12, 3, loss)
    weights = rng.uniform(0.3, 3, 12)
    weights = weights / weights.mean()
    given = {"kernel": Linear(), "penalty": ElasticNet(0.0), "tau": TAU, "nu": NU, "loss": loss}
    s = reference.solve(X, y, sample_weight=weights, **given)
    target = np.where(y == "yes", 1.0, -1.0) if loss.of_classes else y

    def value(x: np.ndarray) -> float:
        of_loss = loss.pointwise(target, X @ x[:3] + x[3]) @ weights / 12
        return float(of_loss + (TAU + NU) * x[:3] @ x[:3])

    best = minimize(value, np.zeros(4), method="BFGS", options={"gtol": 1e-9})
    assert s.objective == pytest.approx(best.fun, abs=1e-8)
    assert s.intercept == pytest.approx(best.x[3], abs=1e-3)
    np.testing.assert_allclose(s.derivative_norm, np.abs(best.x[:3]), atol=1e-3)


@pytest.mark.parametrize("center", [True, False])
@every_loss
def test_no_multipliers_bound_the_minimum_from_above(loss: Loss, center: bool, rng) -> None:
    X, y = sample(1, 8, 3, loss)
    case = LossCase(X, y, Gaussian(1.5), GroupLasso(["a", "b", "a"]), NU, loss, center=center)
    minimum, o = case.problem.solve(TAU).objective, case.objective
    for scale in (0.0, 0.01, 0.1, 1.0, 10.0):
        u, v = scale * rng.standard_normal((3, 8)), scale * rng.standard_normal(8)
        assert o.lower_bound(u, TAU, v) < minimum
        inside = o.admissible(v)
        assert np.isfinite(loss.conjugate(o.y, 8 * inside * (1 - 1e-15))).all()
        assert not center or abs(inside.sum()) <= 1e-14


def test_weights_of_squares() -> None:
    X, y = sample(1, 8, 3, Squared())
    given = {"kernel": Gaussian(1.5), "penalty": Lasso(), "tau": TAU, "nu": NU}
    plain = reference.solve(X, y, **given)
    same = reference.solve(X, y, loss=Squared(), sample_weight=np.full(8, 7.0), **given)
    assert same.objective == plain.objective
    assert plain.intercept == y.mean()
    weights = np.arange(1.0, 9.0)
    other = reference.solve(X, y, sample_weight=weights, **given)
    assert other.intercept == pytest.approx(np.average(y, weights=weights))
    assert other.accuracy <= CERTIFIED * y.var()


@every_loss
def test_paths_name_the_constant(loss: Loss) -> None:
    X, y = sample(1, 8, 3, loss)
    given = {"kernel": Gaussian(1.5), "penalty": Lasso(), "nu": NU, "loss": loss}
    path = reference.path(X, y, taus=[0.01, 0.1], **given)
    assert path.loss.attrs["long_name"] == "mean loss"
    s = reference.solve(X, y, tau=0.01, **given)
    assert float(path.intercept[1]) == pytest.approx(s.intercept, abs=1e-4)
    assert float(path.objective[1]) == pytest.approx(s.objective, rel=1e-6)


REFUSED = {
    "one class": {"y": np.ones(8), "loss": Logistic()},
    "three classes": {"y": np.arange(8) % 3, "loss": Logistic()},
    "no delta": {"loss": Huber()},
    "no formula": {"loss": Parabola()},
    "weights of zero": {"loss": Quantile(), "sample_weight": np.zeros(8)},
    "too few weights": {"sample_weight": np.ones(7)},
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    X, y = sample(1, 8, 3, Squared())
    given = {"y": y, "kernel": Linear(), "penalty": Lasso(), "tau": TAU, "nu": NU} | REFUSED[case]
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        reference.solve(X, **given)
