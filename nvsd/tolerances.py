"""All numerical tolerances, each with its reason; constants of methods stay with the methods."""

from __future__ import annotations

import numpy as np

EPS = float(np.finfo(float).eps)
TINY = float(np.finfo(float).tiny)

# --- data -----------------------------------------------------------------------------------------

# Beyond this the squares of samples, and products of them, leave the range of numbers.
LARGEST_SAMPLE = 1e100
# Rounding of a mean, relative to the largest of its terms: what is left of a constant y is zero.
MEAN_ROUNDING = 8 * EPS
# Standard deviation over the largest value below which an input is constant but for rounding.
CONSTANT_INPUT = 1e-12
# The mean square of y must stay this far from the ends of the range: gaps are parts of it.
SMALLEST_SCALE, LARGEST_SCALE = 1e-150, 1e150

# --- linear algebra -------------------------------------------------------------------------------

# Multiples of the largest diagonal entry that repair a matrix which rounding has made indefinite.
JITTERS = (0.0, 1e-15, 1e-13, 1e-11)
# What is left of a pivot of a singular matrix after rounding, relative to its diagonal entry.
SINGULAR = 1e-11
# Rounding errors of a sum of n terms, or of a factorisation of order n, over n eps times its size.
ROUNDED_SUMS = 4.0
# Relative rounding errors of A beside its least eigenvalue, above which H is not surely regular.
LARGEST_ROUNDING = 0.1
# Relative residual at which conjugate gradients stop: the flat point must be exact to 1e-12.
CONJUGATE_GRADIENTS = 1e-12

# --- penalties ------------------------------------------------------------------------------------

# A smaller sum of squares has lost digits to subnormal terms.
SUBNORMAL_SQUARES = 1e-280
# Relative excess over the dual ball that is rounding: the projection itself is off by a few eps.
DUAL_BALL = 1e-12

# --- solvers and their certificates ---------------------------------------------------------------

# Of the flat point: Zθ relative to that of kernel ridge, ½‖θ − θ(u)‖²_A relative to the scale.
FLAT_POINT = 1e-12
# ν over the rounding errors of the kernel's largest value: from here on, gaps were exact to 1e-9
# of the scale wherever the truth was computed with 300 digits.
SAFE_NU = 1e9
# Part of the scale that a gap may be off by before it is measured again and corrected.
GAP_ROUNDING = 1e-10
# Derivative norms below this part of the largest are zero: within a selected group, the zero
# derivative of a constant input is left as a rounding error.
ZERO_NORM = 1e-9
# κ in units of the system: beyond, one of the two terms of S1 is lost to rounding.
SMALLEST_KAPPA, LARGEST_KAPPA = 1e-10, 1e10

# --- coefficients of polynomial kernels on the samples --------------------------------------------

# Of the largest coefficient: what α and β may miss of θ.
MISSED_THETA = 1e-6
# Of the largest value of f: rounding errors that sums with α and β may have.
ROUNDED_VALUES = 1e-3

# --- selection ------------------------------------------------------------------------------------

# Relative differences of errors that are rounding.
TIE = 1e-9
