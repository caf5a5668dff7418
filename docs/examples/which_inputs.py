"""
Which inputs does y depend on, and how?
=======================================

From a table with named columns to a selection, and to pictures of what was found.
"""

# %%
# The data
# --------
# A made-up study of 150 houses with twelve columns. The energy that a house needs depends on four
# of them: in a curved way on the temperature outside, on floor area and insulation jointly, and on
# the number of residents. The columns have different units; nothing needs to be scaled.

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import nvsd
from nvsd.plots import (
    plot_effect,
    plot_elimination,
    plot_pair,
    plot_path,
    plot_predictions,
    plot_support,
)


def houses(n: int, seed: int) -> tuple[pd.DataFrame, pd.Series]:
    """Twelve columns, and the energy that four of them explain."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "outside [°C]": rng.normal(8, 7, n),
            "floor area [m²]": rng.gamma(9, 15, n),
            "insulation [cm]": rng.uniform(2, 25, n),
            "residents": rng.integers(1, 6, n).astype(float),
            "wind [m/s]": rng.gamma(2, 2, n),
            "year built": rng.integers(1920, 2020, n).astype(float),
            "rooms": rng.integers(2, 9, n).astype(float),
            "distance to town [km]": rng.exponential(10, n),
            "windows": rng.integers(4, 20, n).astype(float),
            "garden [m²]": rng.exponential(300, n),
            "cost of last repair [$]": rng.exponential(900, n),
            "pets": rng.integers(0, 4, n).astype(float),
        }
    )
    cold = np.maximum(0.0, 19 - X["outside [°C]"]) / 10
    losses = X["floor area [m²]"] / (5 + X["insulation [cm]"]) / 10
    y = 4 * cold * losses + 1.5 * X["residents"] + rng.normal(0, 0.4, n)
    return X, y.rename("energy [kWh/day]")


X, y = houses(150, seed=0)
print(X.describe().T[["mean", "std", "min", "max"]].round(1).to_string())

# %%
# The selection
# -------------
# `nvsd.select` proposes sets of inputs in several ways and compares them by cross-validation.

selection = nvsd.select(X, y)
print(f"\n{len(selection.selected)} of {X.shape[1]} inputs: {', '.join(selection.selected)}\n")
print(selection.table().to_string(index=False))

# %%
# How the error changes with the number of inputs.

plot_elimination(selection)

# %%
# How
# ---
# Each grey line is one house. It shows the energy if only this input were different. The lines are
# not parallel, so the effect of the cold depends on the house.

plot_effect(selection, X, "outside [°C]")

# %%
# Large houses lose much energy, unless they are insulated.

plot_pair(selection, X, ("floor area [m²]", "insulation [cm]"))

# %%
# How good are the predictions? These houses were not used above.

X_new, y_new = houses(300, seed=1)
predicted = selection.refit.predict(X_new)
plot_predictions(y_new, predicted, name="energy [kWh/day]")

# %%
# The whole path
# --------------
# The selection can also be read off a regularisation path: the smaller the weight τ of the penalty,
# the more inputs the function may depend on.

path = nvsd.nvsd_path(X, y, standardize=True, n_taus=30, tau_ratio=1e-2)
fig, axes = plt.subplots(1, 2, figsize=(13, 4.8), layout="constrained")
plot_path(path, ax=axes[0])
plot_support(path, ax=axes[1])

# %%
plt.show()
