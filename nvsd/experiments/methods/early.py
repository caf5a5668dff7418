"""NVSD by a plain ADMM that is stopped early, as the paper's tables may have been computed.

The exact minimiser has no zero derivative once nd exceeds the rank of Z. The φ of an ADMM that
starts at zero has zeros: S2 sets whole blocks to zero, and they fill one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from nvsd.experiments.methods.base import Array, Mask, Model, best_refit, lengths
from nvsd.experiments.methods.paper import N_TAUS, PaperNVSD, make_penalty, tau_max
from nvsd.experiments.protocol import Experiment, Split
from nvsd.penalties import BoundPenalty

ITERATIONS = 10


@dataclass(frozen=True)
class EarlyNVSD(PaperNVSD):
    """Ten iterations from zero, with κ = 1 at first and then by the paper's rule."""

    iterations: int = ITERATIONS

    def fit(self, split: Split) -> Model:
        """The supports of φ after a few iterations, then the refits."""
        penalty = make_penalty(self.penalty, split)
        taus = tau_max(split, split.kernel, penalty) * np.geomspace(1.0, 1e-3, N_TAUS)
        bound = penalty.bind(split.names)
        return best_refit(split, early_supports(split, bound, taus, self.iterations))

    def applies(self, experiment: Experiment, groups: bool) -> bool:
        """On the synthetic problems, at the paper's width."""
        plain = experiment.synthetic and experiment.base_widths == (1.0,)
        return plain and super().applies(experiment, groups)


def early_supports(split: Split, bound: BoundPenalty, taus: Array, iterations: int) -> list[Mask]:
    """The blocks φ_a ≠ 0 for each τ, with all τ as columns.

    S1 is exact, in the space of derivatives: z = v + (I + κH)⁻¹(h − v) for v = φ − λ, with
    H = (L − D P Dᵀ)/2ν, h = D P y, P = (K + nνI)⁻¹.
    """
    (n, d), y = split.X.shape, split.y - split.y.mean()
    K, D, L = split.kernel.blocks(split.X)
    P = cho_factor(K + n * split.nu * np.eye(n))
    eigenvalues, V = eigh((L - D @ cho_solve(P, D.T)) / (2 * split.nu), driver="evd")
    eigenvalues = np.maximum(eigenvalues, 0.0)[:, None]
    h = (D @ cho_solve(P, y))[:, None]
    kappa = np.ones(len(taus))
    phi = lam = np.zeros((n * d, len(taus)))
    for _ in range(iterations):
        v = phi - lam
        z = v + V @ ((V.T @ (h - v)) / (1 + kappa * eigenvalues))
        blocks = np.moveaxis((z + lam).reshape(d, n, -1), -1, 0)
        shrunk = bound.prox(blocks, taus / (kappa * np.sqrt(n)))
        new = np.moveaxis(shrunk, 0, -1).reshape(z.shape)
        lam = lam + z - new
        primal, dual = lengths(z - new), kappa * lengths(new - phi)
        factor = np.where(primal > 10 * dual, 2.0, np.where(dual > 10 * primal, 0.5, 1.0))
        phi, kappa, lam = new, kappa * factor, lam / factor
    norms: Array = np.linalg.norm(phi.reshape(d, n, -1), axis=1)
    return list(norms.T > 0)
