"""Losses by their short names, for `select`, estimators and the command line."""

from __future__ import annotations

from typing import Any

from nvsd.descriptions import by_name, short_names
from nvsd.losses.base import Loss


def loss_names() -> dict[str, type[Loss]]:
    """The losses that have a short name."""
    return short_names(Loss)  # type: ignore[type-abstract]


def loss_by_name(loss: Any) -> Loss | None:
    """The loss of this name, with its default fields; a loss itself, and None, are returned."""
    if loss is None or isinstance(loss, Loss):
        return loss
    return by_name("loss", loss, loss_names(), "a loss of nvsd.losses, or ")()
