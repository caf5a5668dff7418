"""Structured-sparsity penalties on the derivatives of f.

Every penalty depends on the derivatives z = (z_1, ..., z_d), scaled by 1/sqrt(n), only through the
block norms r_a = |z_a| = ||d_a f||_{2,n}. The user writes a description (`Lasso`, `GroupLasso`,
`ElasticNet`, `SparseGroupLasso`); `Penalty.bind` checks it against the features and returns the
`BoundPenalty` that the solver works with.
"""

from __future__ import annotations

from nvsd.penalties.base import Penalty
from nvsd.penalties.bound import BoundPenalty, block_norms
from nvsd.penalties.elastic_net import ElasticNet
from nvsd.penalties.group_lasso import GroupLasso
from nvsd.penalties.lasso import Lasso
from nvsd.penalties.parsing import Groups, Weights
from nvsd.penalties.sparse_group_lasso import SparseGroupLasso

__all__ = [
    "BoundPenalty",
    "ElasticNet",
    "GroupLasso",
    "Groups",
    "Lasso",
    "Penalty",
    "SparseGroupLasso",
    "Weights",
    "block_norms",
]
