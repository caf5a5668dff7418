"""Kernels by their short names, for estimators and the command line."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from nvsd.descriptions import by_name, short_names
from nvsd.kernels.base import Kernel
from nvsd.kernels.blocks import Array
from nvsd.kernels.widths import median_distance


def kernel_names() -> dict[str, type[Kernel]]:
    """The kernels that have a short name."""
    return short_names(Kernel)  # type: ignore[type-abstract]


def kernel_by_name(name: object, X: Array, **given: Any) -> Kernel:
    """The kernel of this name; a width that is not given is the median neighbour distance of X."""
    kind = by_name("kernel", name, kernel_names(), "a kernel of nvsd.kernels, or ")
    known = {field.name for field in fields(kind)}
    if "width" in known and "width" not in given:
        given["width"] = median_distance(X)
    return kind(**given)
