"""`NVSDRegressor`: the certified path at one τ."""

from __future__ import annotations

from typing import Self

from numpy.typing import ArrayLike

from nvsd.estimators.base import PathRegressor
from nvsd.estimators.one_tau import OneTau
from nvsd.kernels import Kernel
from nvsd.losses import Loss
from nvsd.penalties import Groups, Penalty


class NVSDRegressor(PathRegressor, OneTau):
    """The certified path of the paper, at one τ, as a regressor and selector.

    To find out which inputs y depends on, use `SelectiveRegressor` or `nvsd.select`. This class is
    for the penalised problem itself, solved to a duality gap that is stored.

    Finds the f in the RKHS of the kernel that minimises

        (1/n) Σ_i (y_i − f(x_i))² + τ J(f) + ν ‖f‖²,

    where J is a penalty on the norms ‖∂_a f‖ of the partial derivatives over the samples. Then
    selects the inputs whose norm is not zero, and refits kernel ridge on these alone.

    Parameters
    ----------
    tau : float, optional
        τ; by default `tau_fraction` times the smallest τ that switches all inputs off.
    tau_fraction : float
        In (0, 1]; used when tau is None.
    kernel : {"gaussian", "matern", "polynomial", "linear"} or Kernel
        A width that is not given, as in "gaussian" or `Gaussian()`, is the median distance to the
        20 nearest neighbours; "polynomial" has degree 3 and offset 1.
    penalty : {"lasso", "group", "elastic-net", "sparse-group"} or Penalty
        A penalty of `nvsd.penalties` brings its own groups and mu.
    groups : sequence or mapping, optional
        For "group" and "sparse-group": one label per input, or {group: inputs}.
    mu : float
        For "elastic-net" and "sparse-group": the share of the lasso, in [0, 1].
    loss : {"squared", "huber", "quantile"} or Loss
        In place of the squares: see `nvsd.losses`.
    nu : float
        ν, the weight of the squared norm.
    debias : bool
        Whether `predict` uses the refit on the selected inputs. This is recommended: only the refit
        ignores the other inputs. If False, no refit is made and `predict` is `predict_penalized`.
    refit_nu : float, optional
        Weight of the squared norm in the refit; nu by default.
    standardize : bool
        Whether to centre the inputs and scale them to unit variance; y is always centred.
    tol : float
        Stop when the duality gap is at most tol times the variance of y.
    max_iter : int
        Largest number of iterations.

    Attributes
    ----------
    path_ : Dataset
        The penalised f, as `nvsd.nvsd_path` returns it, for the one τ.
    refit_ : Dataset or None
        The refit, with the same accessor.
    support_ : (d,) bool array
        The inputs selected.
    derivative_norms_ : (d,) array
        ‖∂_a f‖ of the penalised f over the samples, per standard deviation of the input if
        standardised.
    tau_ : float
    kernel_ : Kernel
    penalty_ : Penalty
    n_iter_ : int
    gap_ : float
        Bound on how far the objective is from its minimum.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if the columns of X have names.

    Examples
    --------
    >>> import nvsd
    >>> from nvsd.estimators import NVSDRegressor
    >>> data = nvsd.datasets.make_e1(30, seed=0)
    >>> model = NVSDRegressor(kernel="polynomial", tau_fraction=0.5).fit(data.X, data.y)
    >>> model.transform(data.X).shape == (30, model.support_.sum())
    True
    """

    def __init__(
        self,
        tau: float | None = None,
        *,
        tau_fraction: float = 0.1,
        kernel: str | Kernel = "gaussian",
        penalty: str | Penalty = "lasso",
        groups: Groups | None = None,
        mu: float = 0.5,
        loss: str | Loss = "squared",
        nu: float = 1e-3,
        debias: bool = True,
        refit_nu: float | None = None,
        standardize: bool = True,
        tol: float = 1e-6,
        max_iter: int = 5000,
    ) -> None:
        self.tau = tau
        self.tau_fraction = tau_fraction
        self.kernel = kernel
        self.penalty = penalty
        self.groups = groups
        self.mu = mu
        self.loss = loss
        self.nu = nu
        self.debias = debias
        self.refit_nu = refit_nu
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to the samples.

        Parameters
        ----------
        X : (n, d) array or DataFrame
        y : (n,) array
        sample_weight : (n,) array, optional
            Weights w ≥ 0 of the samples in the loss, (1/Σw) Σ_i w_i ℓ_i, of path and refit.

        Returns
        -------
        NVSDRegressor
            Itself.
        """
        self._fit(self._data(X, y, sample_weight=sample_weight))
        return self
