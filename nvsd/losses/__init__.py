"""Losses: the term of the objective that compares f with y."""

from __future__ import annotations

from nvsd.losses.base import Loss, Parabola, QuadraticLoss
from nvsd.losses.huber import Huber
from nvsd.losses.logistic import Logistic
from nvsd.losses.quantile import Quantile
from nvsd.losses.squared import SQUARED, Squared
from nvsd.losses.term import LossTerm, class_weights, loss_term, weights_of_classes

__all__ = [
    "SQUARED",
    "Huber",
    "Logistic",
    "Loss",
    "LossTerm",
    "Parabola",
    "QuadraticLoss",
    "Quantile",
    "Squared",
    "class_weights",
    "loss_term",
    "weights_of_classes",
]
