"""The ground truth: the paper's problem and algorithm, stated plainly.

Kernel matrices in plain loops, the learning problem in CVXPY, and the paper's own ADMM. Nothing
here is fast, and no numerics are shared with ``nvsd``.
"""

from reference import anova  # noqa: F401  # registers its kernels
from reference.kernels import gram
from reference.objective import Solution
from reference.paper_admm import paper_admm
from reference.path import path
from reference.problems import FORMS, Problem, solve

__all__ = ["FORMS", "Problem", "Solution", "gram", "paper_admm", "path", "solve"]
