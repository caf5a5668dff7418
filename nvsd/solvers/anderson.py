"""Anderson's acceleration of a fixed-point iteration, for many independent rows at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Anderson:
    """Anderson's acceleration (type II) of w → w⁺, for each row separately.

    It takes the combination of the last m differences of w and of the residual f = w⁺ − w that
    minimises the next residual. Plain steps never increase ‖f‖. If an extrapolation does, the row
    returns to the plain step before it and starts a new history.
    """

    # Of the small normal equations, relative to their trace: about the root of the rounding unit,
    # below which differences of nearly parallel steps are noise.
    REGULARISATION = 3e-8
    # Allowed growth of ‖f‖ in one step. Plain steps never increase it. Slight growth after an
    # extrapolation is common even when convergence is faster, and on E1 to E3 restarting the
    # history for it did not pay.
    GROWTH = 1.5

    def __init__(self, shape: tuple[int, ...], memory: int) -> None:
        self.memory, self.count = memory, 0
        k, p = shape[0], int(np.prod(shape[1:]))
        self.changes = np.zeros((k, memory, p))  # F, differences of the residual
        self.moves = np.zeros((k, memory, p))  # W + F, differences of the plain step
        self.gram = np.zeros((k, memory, memory))  # of the changes
        self.w = self.f = np.zeros((k, p))  # of the previous step
        self.size = np.full(k, np.inf)  # ‖f‖² of the previous step; inf if there is none

    def extrapolate(self, w: Array, w_next: Array) -> Array:
        """The accelerated point, or w⁺ for rows with no usable history."""
        if not self.memory:
            return w_next
        flat, target = w.reshape(len(w), -1), w_next.reshape(len(w), -1)
        f = target - flat
        size = np.einsum("kp,kp->k", f, f)
        failed = size > self.GROWTH**2 * self.size
        slot = self.count % self.memory
        known = np.isfinite(self.size)[:, None]
        self.changes[:, slot] = np.where(known, f - self.f, 0.0)
        self.moves[:, slot] = np.where(known, flat - self.w, 0.0) + self.changes[:, slot]
        products = np.einsum("kmp,kp->km", self.changes, self.changes[:, slot])
        self.gram[:, slot], self.gram[:, :, slot] = products, products
        self.count += 1
        moved = target - self._correction(f)
        moved[failed] = (self.w + self.f)[failed]
        self.w, self.f, self.size = flat, f, size
        self.forget(failed)
        return np.asarray(moved.reshape(w.shape))

    def _correction(self, f: Array) -> Array:
        """(W + F)γ with the γ that minimises ‖f − Fγ‖; zero where the history is empty."""
        used = min(self.count, self.memory)
        F = self.changes[:, :used]
        gram = self.gram[:, :used, :used].copy()
        trace = np.einsum("kii->k", gram)
        gram[:, range(used), range(used)] += (self.REGULARISATION * trace + (trace == 0))[:, None]
        weights = np.linalg.solve(gram, np.einsum("kmp,kp->km", F, f)[:, :, None])[:, :, 0]
        return np.asarray(np.einsum("km,kmp->kp", weights, self.moves[:, :used]))

    def forget(self, rows: NDArray[np.bool_]) -> None:
        """Empty the history of these rows: their next step is a plain one."""
        self.changes[rows] = 0.0
        self.moves[rows] = 0.0
        self.gram[rows] = 0.0
        self.size[rows] = np.inf

    def keep(self, stay: NDArray[np.bool_]) -> None:
        """Drop the rows that left the batch."""
        for name in ("changes", "moves", "gram", "w", "f", "size"):
            setattr(self, name, getattr(self, name)[stay])
