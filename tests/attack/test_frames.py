"""Random frames into every estimator: a fit that can be used, or one sentence.

ATTACK_CASES sets how many; 30 is the short part.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from file_problems import check_sentence
from reliability_record import recorder
from sklearn.base import is_classifier

import nvsd

CASES = max(3, int(os.environ.get("ATTACK_CASES", "30")) // 10)
QUICK = {"n_taus": 3, "tau_ratio": 0.1, "cv": 2}
ESTIMATORS: dict[str, Callable[[], Any]] = {
    "NVSDRegressor": nvsd.NVSDRegressor,
    "NVSDRegressor, huber": lambda: nvsd.NVSDRegressor(loss="huber"),
    "NVSDRegressorCV": lambda: nvsd.NVSDRegressorCV(**QUICK),
    "NVSDClassifier": nvsd.NVSDClassifier,
    "NVSDClassifierCV": lambda: nvsd.NVSDClassifierCV(**QUICK),
    "SelectiveRegressor": lambda: nvsd.SelectiveRegressor("eliminate", cv=2),
    "SelectiveRegressor, quantile": lambda: nvsd.SelectiveRegressor(loss="quantile", cv=2),
    "SelectiveClassifier": lambda: nvsd.SelectiveClassifier(cv=2),
    "DerivativeElimination": nvsd.DerivativeElimination,
}
# On y scikit-learn speaks for all estimators, and its own checks want these words.
OF_SKLEARN = ("Input y contains", "Found input variables", "Unknown label type")
COLUMNS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "far": lambda rng, n: 1e6 + rng.standard_normal(n),
    "large": lambda rng, n: 1e150 * rng.standard_normal(n),
    "tiny": lambda rng, n: 1e-150 * rng.standard_normal(n),
    "heavy": lambda rng, n: rng.standard_cauchy(n),
    "constant": lambda rng, n: np.full(n, 3.0),
    "whole": lambda rng, n: rng.integers(0, 4, n),
    "bool": lambda rng, n: rng.integers(0, 2, n).astype(bool),
    "single": lambda rng, n: rng.standard_normal(n).astype(np.float32),
    "text": lambda rng, n: rng.choice(["p", "q", "r"], n),
    "category": lambda rng, n: pd.Categorical(rng.choice(["u", "v"], n)),
    "dates": lambda rng, n: pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(n), "D"),
    "missing": lambda rng, n: np.where(rng.random(n) < 0.2, np.nan, rng.standard_normal(n)),
    "infinite": lambda rng, n: np.where(np.arange(n) == 1, np.inf, rng.standard_normal(n)),
    "nullable": lambda rng, n: pd.array([None, *range(n - 1)], dtype="Int64"),
    "complex": lambda rng, n: rng.standard_normal(n) + 1j,
    "objects": lambda rng, n: [object() for _ in range(n)],
}
LIKELY = np.array([6.0 if name in ("normal", "whole", "bool") else 1.0 for name in COLUMNS])


def random_frame(rng: np.random.Generator) -> pd.DataFrame:
    n, d = int(rng.choice([2, 3, 12, 25])), int(rng.integers(1, 6))
    kinds = rng.choice(list(COLUMNS), d, p=LIKELY / LIKELY.sum())
    frame = pd.DataFrame({f"{kind} {a}": COLUMNS[kind](rng, n) for a, kind in enumerate(kinds)})
    if rng.random() < 0.1:
        frame.columns = ["same"] * d
    if rng.random() < 0.1:
        frame.index = rng.permutation(n) + 100
    return frame


def random_target(rng: np.random.Generator, n: int, classes: bool) -> Any:
    kinds = {
        "normal": rng.standard_normal(n),
        "constant": np.ones(n),
        "huge": 1e160 * rng.standard_normal(n),
        "missing": np.where(np.arange(n) == 0, np.nan, 1.0),
        "short": rng.standard_normal(n - 1),
    }
    if classes:
        kinds |= {
            "text": rng.choice(["yes", "no"], n),
            "three": rng.integers(0, 3, n),
            "one": np.array(["only"] * n),
        }
    likely = ("text", "three") if classes else ("normal",)
    weights = np.array([6.0 if kind in likely else 1.0 for kind in kinds])
    return kinds[str(rng.choice(list(kinds), p=weights / weights.sum()))]


def outcome(estimator: Any, frame: pd.DataFrame, y: Any, weights: Any) -> str:
    """ "certified", "warned" or "refused"; anything else fails."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            options = {} if weights is None else {"sample_weight": weights}
            fitted = estimator.fit(frame, y, **options)
        except (ValueError, TypeError) as error:
            if not str(error).startswith(OF_SKLEARN):
                check_sentence(error)  # type: ignore[arg-type]
            return "refused"
        predicted = fitted.predict(frame) if hasattr(fitted, "predict") else fitted.support_
    assert len(predicted) == (len(frame) if hasattr(fitted, "predict") else frame.shape[1])
    if is_classifier(estimator):
        assert set(np.unique(predicted)) <= set(np.unique(y))
    else:
        assert np.isfinite(np.asarray(predicted, dtype=float)).all()
    return "warned" if any(w.category is nvsd.ConvergenceWarning for w in caught) else "certified"


@pytest.mark.parametrize("name", ESTIMATORS)
def test_random_frames(name: str, record_property: Callable) -> None:
    counts = dict.fromkeys(("certified", "warned", "refused"), 0)
    for case in range(CASES):
        rng = np.random.default_rng([case, *name.encode()])
        frame = random_frame(rng)
        estimator = ESTIMATORS[name]()
        y = random_target(rng, len(frame), is_classifier(estimator))
        takes = name != "DerivativeElimination" and rng.random() < 0.3
        weights = rng.integers(0, 3, len(frame)).astype(float) if takes else None
        try:
            counts[outcome(estimator, frame, y, weights)] += 1
        except Exception as error:
            error.add_note(
                f"{name}, case {case}: {dict(frame.dtypes)}, {len(frame)} rows, {y!r:.200}"
            )
            raise
    recorder(record_property, "random frames")(cases=CASES, **counts)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["select", "significance of some"])
def test_a_hundred_thousand_columns(how: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 100_000))
    y = 3 * X[:, 7] + 0.1 * rng.standard_normal(60)
    if how == "select":
        assert list(nvsd.select(X, y).selected)[:1] == ["x7"]
    else:
        found = nvsd.significance(X, y, inputs=["x7", "x8"], random_state=0)
        assert found.sizes["feature"] == 2
