"""How a kernel and the samples become the solver's problem, and solutions become f again."""

from __future__ import annotations

from nvsd.representations.base import Problem, Representation
from nvsd.representations.costs import choose, predicted_seconds, refuse_long_path
from nvsd.representations.derivative import DerivativeSpace
from nvsd.representations.factor import FactorSpace
from nvsd.representations.feature_space import FeatureSpace, SummedSpace
from nvsd.representations.landmark import LandmarkSpace
from nvsd.representations.maps import DenseMap
from nvsd.representations.matrix_free import MatrixFreeSpace
from nvsd.representations.monomial import MonomialSpace
from nvsd.representations.preconditioned import PreconditionedSpace
from nvsd.representations.request import Request

__all__ = [
    "DenseMap",
    "DerivativeSpace",
    "FactorSpace",
    "FeatureSpace",
    "LandmarkSpace",
    "MatrixFreeSpace",
    "MonomialSpace",
    "PreconditionedSpace",
    "Problem",
    "Representation",
    "Request",
    "SummedSpace",
    "choose",
    "predicted_seconds",
    "refuse_long_path",
]
