"""All numerical tolerances, each with its reason; constants of methods stay with the methods."""

from __future__ import annotations

import numpy as np

EPS = float(np.finfo(float).eps)
TINY = float(np.finfo(float).tiny)

# --- data -----------------------------------------------------------------------------------------

# Above this, squares of samples and their products leave the range of floating-point numbers.
LARGEST_SAMPLE = 1e100
# Rounding of a mean, relative to its largest term: a constant y minus its mean counts as zero.
MEAN_ROUNDING = 8 * EPS
# Below this ratio of standard deviation to largest value an input is constant, up to rounding.
CONSTANT_INPUT = 1e-12
# Limits of the mean square of y: gaps are small parts of it and must stay in range.
SMALLEST_SCALE, LARGEST_SCALE = 1e-150, 1e150

# --- linear algebra -------------------------------------------------------------------------------

# Multiples of the largest diagonal entry that repair a matrix made indefinite by rounding.
JITTERS = (0.0, 1e-15, 1e-13, 1e-11)
# Size that rounding leaves of a zero pivot of a singular matrix, relative to its diagonal entry.
SINGULAR = 1e-11
# Rounding errors of a sum of n terms, or of a factorisation of order n, over n eps times its size.
ROUNDED_SUMS = 4.0
# Relative rounding errors of A beside its least eigenvalue, above which H is not surely regular.
LARGEST_ROUNDING = 0.1
# Relative residual at which conjugate gradients stop: the flat point must be exact to 1e-12.
CONJUGATE_GRADIENTS = 1e-12
# Derivatives of the flat point that conjugate gradients leave, relative to those of kernel ridge:
# they change a gap at τ_max by about as much, relative to the scale.
FLAT_RESIDUAL = 1e-10

# --- penalties ------------------------------------------------------------------------------------

# A smaller sum of squares has lost digits to subnormal terms.
SUBNORMAL_SQUARES = 1e-280
# Relative excess over the dual ball that counts as rounding: the projection errs by a few eps.
DUAL_BALL = 1e-12

# --- solvers and their certificates ---------------------------------------------------------------

# For the flat point: Zθ relative to that of kernel ridge, ½‖θ − θ(u)‖²_A relative to the scale.
FLAT_POINT = 1e-12
# Ratio of ν to the rounding errors of the kernel's largest value. Above it, gaps were exact to 1e-9
# of the scale in all cases computed with 300 digits.
SAFE_NU = 1e9
# Error of a gap, relative to the scale, above which the gap is computed again and corrected.
GAP_ROUNDING = 1e-10
# Error of a gap or an objective, relative to the scale, that a certificate does not count.
ROUNDED_GAP = 1e-9
# Fitted values that differ by no more than this share of the largest count as the same.
SAME_VALUES = 1e-9
# Derivative norms below this share of the largest count as zero: in a selected group, the zero
# derivative of a constant input comes out as a rounding error.
ZERO_NORM = 1e-9
# Limits of κ in units of the system: outside, one of the two terms of S1 is lost to rounding.
SMALLEST_KAPPA, LARGEST_KAPPA = 1e-10, 1e10

# --- coefficients of polynomial kernels on the samples --------------------------------------------

# Relative to the largest coefficient: the part of θ that α and β may miss.
MISSED_THETA = 1e-6
# Relative to the largest value of f: rounding errors that sums with α and β may have.
ROUNDED_VALUES = 1e-3

# --- selection ------------------------------------------------------------------------------------

# Relative differences of errors that count as rounding.
TIE = 1e-9
