"""Linear algebra: systems for many κ, factors, and how long calls are cut into pieces."""

from nvsd.linalg.factors import (
    COLUMN_BY_COLUMN,
    LARGEST_THREADED,
    cholesky,
    cholesky_solve,
    gram,
    half_solve,
    mirror,
    pivoted_cholesky,
    product,
    safe_threads,
    symmetric_product,
    triangular_inverse,
)
from nvsd.linalg.in_pieces import eigen, eigenvalues, panels, pieces
from nvsd.linalg.preconditioned import PreconditionedSystem
from nvsd.linalg.systems import (
    KEPT_BYTES,
    CholeskySystem,
    DiagonalSystem,
    ShiftedSystem,
    check_method,
    packed_diagonal,
    shifted_system,
)

__all__ = [
    "COLUMN_BY_COLUMN",
    "KEPT_BYTES",
    "LARGEST_THREADED",
    "CholeskySystem",
    "DiagonalSystem",
    "PreconditionedSystem",
    "ShiftedSystem",
    "check_method",
    "cholesky",
    "cholesky_solve",
    "eigen",
    "eigenvalues",
    "gram",
    "half_solve",
    "mirror",
    "packed_diagonal",
    "panels",
    "pieces",
    "pivoted_cholesky",
    "product",
    "safe_threads",
    "shifted_system",
    "symmetric_product",
    "triangular_inverse",
]
