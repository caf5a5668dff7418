"""Kernels as users give them: objects, or short names in estimators and on the command line."""

from __future__ import annotations

from typing import Any

from nvsd.descriptions import by_name, short_names
from nvsd.kernels.base import Kernel
from nvsd.kernels.blocks import Array
from nvsd.kernels.isotropic import Gaussian
from nvsd.kernels.widths import with_width


def kernel_names() -> dict[str, type[Kernel]]:
    """The kernels that have a short name."""
    return short_names(Kernel)  # type: ignore[type-abstract]


def kernel_for(X: Array, given: str | Kernel | None, **fields: Any) -> Kernel:
    """The kernel, or that of this name, or Gaussian; X tells a width that is not given."""
    kernel = Gaussian() if given is None else given
    if not isinstance(kernel, Kernel):
        own = "a kernel of nvsd.kernels, or "
        kernel = by_name("kernel", kernel, kernel_names(), own)(**fields)
    return with_width(kernel, X)
