"""`DerivativeElimination`: `SelectiveRegressor("eliminate")` by its former name."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

from numpy.typing import ArrayLike

from nvsd.estimators.selective import SelectiveRegressor
from nvsd.kernels import Kernel
from nvsd.penalties import Groups, Penalty

# Arguments of `nvsd.select` that `SelectiveRegressor` takes as options.
OPTIONS = ("penalty", "nu", "nus", "widths", "width_per_input", "value_points")


class DerivativeElimination(SelectiveRegressor):
    """Deprecated: use `SelectiveRegressor` with ``method="eliminate"``, which gives the same.

    Fits kernel ridge to a set S of inputs,

        f_S = argmin (1/n) Σ_i (y_i − f(x_i))² + ν ‖f‖²   over the f that depend on S only,

    drops from S the input, or group, whose derivative norm ‖∂_a f_S‖ is smallest, and repeats. Of
    all these S it takes the one with the least error on held-out data.

    Parameters
    ----------
    method : str
        Where the candidates S come from: any method of `nvsd.select` except "anova".
    kernel, groups, cv, rule, standardize, random_state, n_jobs, options
        As for `SelectiveRegressor`.
    penalty, nu, nus, widths, width_per_input, value_points
        As for `nvsd.select`; `SelectiveRegressor` takes them as ``options={"nus": ..., ...}``.

    Attributes
    ----------
    selection_, support_, ranking_, derivative_norms_, n_features_in_, feature_names_in_
        As for `SelectiveRegressor`.
    history_ : Dataset
        ``selection_.history``.
    kernel_ : Kernel
        ``selection_.refit.kernel``.
    n_iter_ : int
        Number of candidates.
    gap_ : float
        Always 0: kernel ridge is solved in closed form.

    Examples
    --------
    >>> import nvsd
    >>> data = nvsd.datasets.make_e2(60, seed=0)
    >>> model = nvsd.SelectiveRegressor("eliminate", kernel="polynomial")  # in its place
    >>> model.fit(data.X, data.y).get_feature_names_out().tolist()
    ['x0', 'x1', 'x2', 'x6', 'x7', 'x8']
    """

    def __init__(
        self,
        method: str = "eliminate",
        *,
        kernel: str | Kernel = "gaussian",
        groups: Groups | None = None,
        penalty: Penalty | None = None,
        nu: float = 1e-3,
        nus: Sequence[float] | None = None,
        widths: Sequence[float] | None = None,
        width_per_input: bool = False,
        cv: Any = 5,
        rule: str = "clear",
        standardize: bool = True,
        value_points: int | None = None,
        random_state: int = 0,
        n_jobs: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            method, kernel=kernel, groups=groups, cv=cv, rule=rule, standardize=standardize,
            random_state=random_state, n_jobs=n_jobs, options=options,
        )  # fmt: skip
        self.penalty = penalty
        self.nu = nu
        self.nus = nus
        self.widths = widths
        self.width_per_input = width_per_input
        self.value_points = value_points

    def fit(  # type: ignore[override]
        self,
        X: ArrayLike,
        y: ArrayLike,
        validation: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Self:
        """Fit to the samples, as `SelectiveRegressor.fit` does, with a FutureWarning."""
        warnings.warn(
            "DerivativeElimination is deprecated and will be removed in the next release; use "
            f"nvsd.SelectiveRegressor(method={self.method!r}), which takes {', '.join(OPTIONS)} "
            "as options={...}.",
            FutureWarning,
            stacklevel=2,
        )
        super().fit(X, y, validation)
        self.history_, self.kernel_ = self.selection_.history, self.selection_.refit.kernel
        self.n_iter_, self.gap_ = self.history_.sizes["step"], 0.0
        return self

    def _options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in OPTIONS} | super()._options()
