"""Maps from the coefficients θ of explicit features to the derivatives of f."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nvsd.linalg import gram, product
from nvsd.representations.monomials import Monomials

Array = NDArray[np.float64]


class DerivativeMap(Protocol):
    """Z, scaled by 1/√n: from θ to the derivatives."""

    shape: tuple[int, int]

    @property
    def picked(self) -> tuple[NDArray[np.intp], Array] | None:
        """The feature and the factor of each input, if every derivative is one feature."""
        ...

    def forward(self, theta: Array) -> Array:
        """Zθ for each row θ."""
        ...

    def adjoint(self, V: Array) -> Array:
        """Zᵀv for each v."""
        ...

    def gram(self, balance: Array | None = None) -> Array:
        """B = ZᵀZ, or Σ_a m_a Z_aᵀZ_a with numbers m (d,)."""
        ...

    def sandwiches(self, M: Array) -> Iterator[Array]:
        """Z_a M Z_aᵀ for each input a; M is (r, r)."""
        ...

    def against(self, Phi: Array) -> Iterator[tuple[Array, Array]]:
        """Z_aZ_aᵀ and Z_aΦᵀ for each input a; Phi is (n, r)."""
        ...


class DenseMap:
    """Z as an array (d*rows, r)."""

    def __init__(self, Z: Array, d: int) -> None:
        self._Z, self.shape = Z, (d, len(Z) // d)

    picked = None  # dense rows mix the features

    def forward(self, theta: Array) -> Array:
        """Zθ for each row θ."""
        return product(theta, self._Z.T).reshape(-1, *self.shape)

    def adjoint(self, V: Array) -> Array:
        """Zᵀv for each v."""
        return product(V.reshape(len(V), -1), self._Z)

    def gram(self, balance: Array | None = None) -> Array:
        """B = ZᵀZ, or Σ_a m_a Z_aᵀZ_a with numbers m (d,)."""
        Z = self._Z
        if balance is not None:
            Z = np.repeat(np.sqrt(balance), self.shape[1])[:, None] * Z
        return np.asarray(Z.T @ Z)

    def sandwiches(self, M: Array) -> Iterator[Array]:
        """Z_a M Z_aᵀ for each input a."""
        for Z in self._Z.reshape(*self.shape, -1):
            yield product(product(Z, M), Z.T)

    def against(self, Phi: Array) -> Iterator[tuple[Array, Array]]:
        """Z_aZ_aᵀ and Z_aΦᵀ for each input a."""
        for Z in self._Z.reshape(*self.shape, -1):
            yield gram(Z), product(Z, Phi.T)


class MonomialMap:
    """Z_a = Ψ T_a: one small dense matrix for all inputs, and sparse maps, one entry per row."""

    def __init__(self, Psi: Array, monomials: Monomials) -> None:
        self._Psi, self._T = Psi, monomials.T
        self.shape = (monomials.d, len(Psi))

    @cached_property
    def _T_transposed(self) -> csr_array:
        return self._T.T.tocsr()

    @cached_property
    def picked(self) -> tuple[NDArray[np.intp], Array] | None:
        """The feature and the factor of each input, if every derivative is one feature."""
        if self._Psi.shape != (1, 1) or len(np.unique(self._T.indices)) < self.shape[0]:
            return None
        factors = self._Psi[0, 0] * self._T.data
        return (self._T.indices.astype(np.intp), factors) if factors.all() else None

    def forward(self, theta: Array) -> Array:
        """Zθ for each row θ."""
        if self.picked is not None:
            columns, factors = self.picked
            return np.asarray((theta[:, columns] * factors)[:, :, None])
        lower = (self._T @ theta.T).T
        blocks = np.ascontiguousarray(lower).reshape(len(theta) * self.shape[0], -1)
        return product(blocks, self._Psi.T).reshape(-1, *self.shape)

    def adjoint(self, V: Array) -> Array:
        """Zᵀv for each v."""
        if self.picked is not None:
            columns, factors = self.picked
            theta = np.zeros((len(V), self._T.shape[1]))
            theta[:, columns] = V[:, :, 0] * factors
            return theta
        lower = product(V.reshape(-1, self.shape[1]), self._Psi).reshape(len(V), -1)
        return np.ascontiguousarray((self._T_transposed @ lower.T).T)

    def gram(self, balance: Array | None = None) -> Array:
        """B = Σ_a m_a T_aᵀ ΨᵀΨ T_a, each summand on the few columns that ∂_a reaches."""
        (d, _), q = self.shape, self._Psi.shape[1]
        B = np.zeros((self._T.shape[1],) * 2)
        inner = self._Psi.T @ self._Psi
        columns = self._T.indices.reshape(d, q)
        values = self._T.data.reshape(d, q)
        if balance is not None:
            values = np.sqrt(balance)[:, None] * values
        for column, value in zip(columns, values, strict=True):
            B[np.ix_(column, column)] += np.outer(value, value) * inner
        return B

    def sandwiches(self, M: Array) -> Iterator[Array]:
        """Ψ T_a M T_aᵀ Ψᵀ for each input a, of which T_a M T_aᵀ picks entries of M."""
        (d, _), q = self.shape, self._Psi.shape[1]
        columns = self._T.indices.reshape(d, q)
        values = self._T.data.reshape(d, q)
        for column, value in zip(columns, values, strict=True):
            picked = np.outer(value, value) * M[np.ix_(column, column)]
            yield product(product(self._Psi, picked), self._Psi.T)

    def against(self, Phi: Array) -> Iterator[tuple[Array, Array]]:
        """ΨT_aT_aᵀΨᵀ and ΨT_aΦᵀ for each input a; T_a only picks features and scales them."""
        (d, _), q = self.shape, self._Psi.shape[1]
        columns = self._T.indices.reshape(d, q)
        values = self._T.data.reshape(d, q)
        for column, value in zip(columns, values, strict=True):
            Z = self._Psi * value
            yield gram(Z), product(Z, np.ascontiguousarray(Phi[:, column].T))
