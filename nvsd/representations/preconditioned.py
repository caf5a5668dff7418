"""Many rows: the derivative space without its matrix, and S1 by conjugate gradients.

H has the order nd, and its small eigenvalues keep gradient methods from converging. A low rank of
it is cheap, though, and the preconditioner of S1: see `nvsd.linalg.preconditioned`. Every S1 starts
from the solution of the last one. Single precision is used there, never for a certificate.

What it does not reach is τ_max: there f is flat at all samples, which decides the parts of u that
belong to the smallest eigenvalues of H. Unless a few products suffice, an automatic grid starts
where f is nearly flat, at the gauge of u = (H + δI)⁻¹h. Larger τ can be given; near τ_max κ is
large, and each S1 takes a hundred products.
"""

from __future__ import annotations

import math
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nvsd.kernels import blocks
from nvsd.linalg import PreconditionedSystem, cholesky_solve
from nvsd.representations.base import Problem, Representation
from nvsd.representations.derivative import DerivativeProblem
from nvsd.representations.matrix_free import MatrixFreeSpace
from nvsd.representations.request import VECTORS, Cost, Request
from nvsd.tolerances import FLAT_RESIDUAL

Array = NDArray[np.float64]

RANK = 1500  # of the preconditioner: 216 MB at n = 2000 and d = 18, which each solution reads twice
FLAT_STEPS = 200  # of conjugate gradients for the flat point
# Upper bound for a path: E3 with n = 500 and 50 τ took 24 600 from τ_max on, with few inputs on.
# From where the automatic grid of this representation starts, it takes a tenth of that.
PRODUCTS = 25_000
PASSES = 60.0  # flops in the time of the elementwise work on a number of an n × n matrix


class PreconditionedSpace(MatrixFreeSpace):
    """H by its products with vectors, and a low rank of it in single precision."""

    kind = "preconditioned"
    solver = "admm"
    system: PreconditionedSystem

    def __init__(self, request: Request) -> None:
        self._set(request, *request.points.shape)
        self._factorise(blocks.K(request.kernel, request.points))
        self._products = request.kernel.products(request.points)
        self._rough_products = self._products.single()
        rank = min(RANK, self.size())
        system = PreconditionedSystem(self.curve, self.curve_roughly, self.size(), rank)
        self.system, self.step = system, 1.0 / system.norm

    @classmethod
    def cost(cls, request: Request) -> Cost:
        """Products in O(n²d), as many as hard paths take; infinite where "matrix-free" suits."""
        n, d = float(request.n or 0), request.d
        p = n * d
        rank = min(RANK, p)
        flops = PRODUCTS * (6.0 * n * p + PASSES * n**2 + 4.0 * rank * p) + 3.0 * rank**2 * p
        memory = 8.0 * (10.0 * n**2 + VECTORS * p + 6.0 * rank**2) + 4.0 * rank * p
        return Cost(math.inf if 4 * d >= n else flops, memory)

    @classmethod
    def make(cls, request: Request) -> Representation:
        """The representation of all samples."""
        return cls(request)

    def problem(self, y: Array) -> Problem:
        """The problem for this y."""
        return PreconditionedProblem(self, y)

    def curve_roughly(self, U: NDArray[Any]) -> NDArray[Any]:
        """Hu for each row u, in single precision."""
        U = U.astype(np.float32)
        f, of_u = self._rough_products.values(U.reshape(-1, *self.shape))
        alpha: NDArray[Any] = -cholesky_solve(self.P, f.astype(float)).astype(np.float32)
        slopes = self._rough_products.gradient(alpha, of_u).reshape(U.shape)
        return (slopes / (2.0 * self.nu * self.n)).astype(np.float32)


class PreconditionedProblem(DerivativeProblem):
    """C is u, and the z of S1 is h − Hu with the products that conjugate gradients made."""

    representation: PreconditionedSpace
    _near: tuple[Array, Array] | None = None

    @property
    def step(self) -> float:
        """1/‖H‖, the step of a gradient method on the dual problem."""
        return self.representation.step

    def near(self, C: Array, Z: Array) -> PreconditionedProblem:
        """The same problem; S1 starts from C, with z = Z."""
        other = copy(self)
        other._near = C, Z.reshape(C.shape)
        return other

    def s1(self, V: Array, kappa: Array) -> tuple[Array, Array]:
        """Exact up to rounding; from a solution nearby, a hundredth of the change is left."""
        if self._near is None:
            return super().s1(V, kappa)
        C = self._near[0]
        return self._reduced(C, self.derivatives(C).reshape(C.shape), V, kappa, False)

    def s1_roughly(self, V: Array, kappa: Array) -> tuple[Array, Array]:
        """The same in single precision, if κ is not too large."""
        zero = np.zeros((len(V), self.h.size))
        C, z = (zero, self.h - zero) if self._near is None else self._near
        return self._reduced(C, z, V, kappa, True)

    def _reduced(
        self, C: Array, z: Array, V: Array, kappa: Array, rough: bool
    ) -> tuple[Array, Array]:
        """From x = C/κ and Hu = h − z the residual h − v − (I + κH)x is z − v − x."""
        k = kappa[:, None]
        x, Hx = self.system.reduce(kappa, z - V.reshape(C.shape) - C / k, rough)
        return C + k * x, (z - k * Hx).reshape(V.shape)

    def flat(self) -> tuple[Array, Array, Array]:
        """By conjugate gradients; if they do not get there, a function that is nearly flat.

        That one is (H + δI)⁻¹h, with δ the least eigenvalue that the preconditioner knows.
        """
        rep, h = self.representation, self.h[None]
        small = np.array([1.0 / rep.system.resolved])
        u, Hu = rep.system.invert(h, FLAT_RESIDUAL, FLAT_STEPS)
        if not self.flat_is_known(h - Hu):
            u, z = self.s1(np.zeros((1, *self.shape)), small)
            return u, z, u.reshape(z.shape)
        z = (h - Hu).reshape(1, *self.shape)
        return u, z, u.reshape(z.shape)

    def flat_is_known(self, Z: Array) -> bool:
        """Whether conjugate gradients got there."""
        return bool(np.linalg.norm(Z) <= FLAT_RESIDUAL * np.linalg.norm(self.h))

    @property
    def system(self) -> PreconditionedSystem:
        """That of the representation."""
        return self.representation.system
