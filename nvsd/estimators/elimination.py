"""`DerivativeElimination`: selection by refits on ever fewer inputs, or any other method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from nvsd.estimators.base import Array, DerivativeSelector
from nvsd.kernels import Kernel
from nvsd.penalties import Groups, Penalty
from nvsd.selection import select


class DerivativeElimination(DerivativeSelector):
    """Kernel ridge with selection of inputs, by recursive elimination or another method.

    Fits kernel ridge to a set S of inputs,

        f_S = argmin (1/n) Σ_i (y_i − f(x_i))² + ν ‖f‖²   over the f that depend on S only,

    drops from S the input, or group, whose derivative norm ‖∂_a f_S‖ is smallest, and repeats. Of
    all S on the way the one with the least error on held-out data is taken.

    Parameters
    ----------
    method : str
        Where the candidates S come from: "eliminate" as above, or any other method of
        `nvsd.select`: "reweight", "support", "rank", "adaptive", "stability", "pool".
    kernel : {"gaussian", "matern", "polynomial", "linear"} or Kernel
        "gaussian" and "matern" have as width the median distance to the 20 nearest neighbours;
        "polynomial" is of degree 3 with offset 1.
    groups : sequence or mapping, optional
        One label per input, or {group: inputs}; groups are kept or dropped as a whole.
    penalty : Penalty, optional
        Of the methods that use a regularisation path; `Lasso()`, or `GroupLasso(groups)` with
        groups.
    nu : float
        ν of that path.
    nus : sequence of float, optional
        Grid for ν of kernel ridge; `nvsd.ridge.default_nus`, a wide one, by default.
    widths : sequence of float, optional
        Multiples of the kernel's width to choose from for each candidate.
    width_per_input : bool
        Whether the refit may have a width for each selected input, as with `nvsd.select`; the set
        stays the same.
    cv : int, splitter, or sequence of (train, test)
        Folds; an integer means shuffled ones, by random_state.
    rule : {"clear", "min", "1se"}
        Among the candidates with all but the least error the one whose derivative norms stand out
        most clearly, the one of least error, or the smallest within a standard error of it; see
        `nvsd.select`.
    standardize : bool
        Whether to centre the inputs and scale them to unit variance; y is always centred.
    value_points : int, optional
        For many rows: how many kernel sections f_S is made of; all rows by default.
    random_state : int
        Seed of folds, subsamples and points.
    n_jobs : int, optional
        Fits done at once, through joblib.
    options : mapping, optional
        Further arguments of the method, by name.

    Attributes
    ----------
    selection_ : Selection
        All that `nvsd.select` returned.
    history_ : Dataset
        Every candidate: dimensions step and feature.
    support_ : (d,) bool array
        The inputs selected.
    derivative_norms_ : (d,) array
        ‖∂_a f‖ of the refit over the samples, per standard deviation of the input if standardised;
        0 for inputs that were dropped.
    kernel_ : Kernel
        Of the refit, on the selected inputs.
    n_iter_ : int
        Number of candidates.
    gap_ : float
        Always 0: kernel ridge is solved in closed form.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if the columns of X have names.

    Examples
    --------
    >>> import nvsd
    >>> from nvsd.estimators import DerivativeElimination
    >>> data = nvsd.datasets.make_e2(70, seed=0)
    >>> model = DerivativeElimination(kernel="polynomial").fit(data.X, data.y)
    >>> [data.names[a] for a in model.get_support(indices=True)]
    ['x1', 'x2', 'x3', 'x7', 'x8', 'x9']
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
        self.method = method
        self.kernel = kernel
        self.groups = groups
        self.penalty = penalty
        self.nu = nu
        self.nus = nus
        self.widths = widths
        self.width_per_input = width_per_input
        self.cv = cv
        self.rule = rule
        self.standardize = standardize
        self.value_points = value_points
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.options = options

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        validation: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Self:
        """Fit to the samples.

        Parameters
        ----------
        X : (n, d) array or DataFrame
        y : (n,) array
        validation : (X_val, y_val), optional
            Held-out data that judge instead of cross-validation; the fits use X alone.

        Returns
        -------
        DerivativeElimination
            Itself.
        """
        data = self._data(X, y)
        held_out = self._held_out(validation)
        self.selection_ = select(
            data.rows,
            None,
            method=self.method,
            kernel=self._kernel(data.X),
            groups=self.groups,
            penalty=self.penalty,
            nu=self.nu,
            validation=None if held_out is None else (held_out.X, held_out.y),
            cv=self.cv,
            nus=self.nus,
            widths=self.widths,
            width_per_input=self.width_per_input,
            rule=self.rule,
            standardize=self.standardize,
            value_points=self.value_points,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            **(self.options or {}),
        )
        self.history_ = self.selection_.history
        self.support_ = self.selection_.support
        chosen = self.history_.isel(step=self.history_.attrs["chosen"])
        self.derivative_norms_ = chosen["derivative_norm"].values
        self.kernel_ = self.selection_.refit.kernel
        self.n_iter_, self.gap_ = self.history_.sizes["step"], 0.0
        return self

    def _predict(self, X: Array) -> Array:
        return self.selection_.refit.predict(X)

    def _gradient(self, X: Array) -> Array:
        return np.asarray(self.selection_.refit.gradient(X).T)
