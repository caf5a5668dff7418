"""Losses: the term of the objective that compares f with y."""

from __future__ import annotations

from nvsd.losses.base import Loss, QuadraticLoss
from nvsd.losses.squared import SQUARED, Squared

__all__ = ["SQUARED", "Loss", "QuadraticLoss", "Squared"]
