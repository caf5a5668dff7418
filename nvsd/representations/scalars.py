"""Where every derivative is one number: the problem in these numbers alone.

With a kernel of degree 1, Zθ picks features, z_a = t_a θ_{c(a)}. Then z determines its features,
and the problem is a lasso with a ridge in d unknowns,

    minimise ½ zᵀMz − gᵀz + τJ(z).

Features that Z leaves out (the constant of an affine kernel) are eliminated: M is T⁻¹ S T⁻¹ with
the Schur complement S of these features in A, and M⁻¹ = H.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nvsd.linalg import cholesky, cholesky_solve, product
from nvsd.tolerances import EPS, ROUNDED_SUMS

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


class Scalars:
    """M, and the way back from z to θ.

    Parameters
    ----------
    A : (r, r) array
        Of the least-squares part.
    columns, factors : (d,) arrays
        The feature c(a) and the factor t_a of each input, no feature twice and no factor 0.
    """

    def __init__(self, A: Array, columns: Indices, factors: Array) -> None:
        self._columns, self._factors = columns, factors
        self._rest = np.setdiff1d(np.arange(len(A)), columns)
        scales = np.outer(factors, factors)
        self.M: Array = A[np.ix_(columns, columns)] / scales
        # Rounding errors of M, of which the Schur complement is a part.
        largest = self.M.diagonal() * (ROUNDED_SUMS * EPS * len(A))
        if len(self._rest):
            self._cross = A[np.ix_(columns, self._rest)]
            self._factor = cholesky(A[np.ix_(self._rest, self._rest)])
            self.M -= product(self._cross, self._solved(self._cross).T) / scales
        self.inverse_norms: Array = self.M.diagonal() + largest

    def _solved(self, R: Array) -> Array:
        """A⁻¹ of the other features, for each row."""
        return cholesky_solve(self._factor, R)

    def slope(self, b: Array) -> Array:
        """Return g, for one b."""
        g = b[self._columns]
        if len(self._rest):
            g = g - product(self._solved(b[None, self._rest]), self._cross.T)[0]
        return np.asarray(g / self._factors)

    def theta(self, z: Array, b: Array) -> Array:
        """The θ of each row z."""
        theta = np.empty((len(z), len(self._columns) + len(self._rest)))
        theta[:, self._columns] = z / self._factors
        if len(self._rest):
            right = b[self._rest] - product(theta[:, self._columns], self._cross)
            theta[:, self._rest] = self._solved(right)
        return theta
