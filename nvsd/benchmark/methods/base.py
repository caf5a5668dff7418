"""What a method of the benchmark is: one interface for numbers and for classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Target = NDArray[Any]  # numbers, or classes 0, 1, …
Order = NDArray[np.intp]
Predict = Callable[[Array], Array]

TREES = 500
HELD_OUT = 0.25  # share of the rows on which importance is measured, scikit-learn's default

# What the module of a package is called, where its name is another.
MODULES = {"scikit-learn": "sklearn", "Boruta": "boruta", "interpret-core": "interpret"}


class Fit(NamedTuple):
    """What a method has found; None for what it does not have.

    Attributes
    ----------
    ranking : (d,) int array, optional
        All inputs, best first.
    selected : (d,) bool array, optional
    predict : callable, optional
        From (m, d) points to (m,) predictions, or to (m, c) probabilities of classes.
    """

    ranking: Order | None = None
    selected: Mask | None = None
    predict: Predict | None = None


def always(n: int, d: int) -> bool:
    """No cell is too large."""
    return True


def up_to(numbers: float, rows: float = np.inf) -> Callable[[int, int], bool]:
    """Cells with at most that many numbers n·d, and rows."""
    return lambda n, d: n * d <= numbers and n <= rows


@dataclass(frozen=True)
class Method:
    """A method with its authors' defaults.

    Attributes
    ----------
    label : str
        Name in tables.
    about : str
        What of it is measured.
    fit : callable
        From X, y, whether y are classes, and a seed to a `Fit`.
    packages : tuple of str
        What it needs besides the library's own requirements, and whose versions are recorded.
    affordable : callable
        Whether it runs in a cell of n rows and d inputs.
    numbers, classes : bool
        Which kinds of y it takes.
    version : int
        Raise it when a change of the code invalidates the stored results of the method.
    """

    label: str
    about: str
    fit: Callable[[Array, Target, bool, int], Fit]
    packages: tuple[str, ...] = ()
    affordable: Callable[[int, int], bool] = always
    numbers: bool = True
    classes: bool = True
    version: int = 1

    @property
    def missing(self) -> tuple[str, ...]:
        """Packages that it needs and that are not installed."""
        return tuple(name for name in self.packages if find_spec(MODULES.get(name, name)) is None)

    def takes(self, n: int, d: int, classes: bool) -> bool:
        """Whether it runs in a cell."""
        return (self.classes if classes else self.numbers) and self.affordable(n, d)


def strongest(strength: Any) -> Order:
    """All inputs, the strongest first; of equals the first comes first."""
    return np.argsort(-np.asarray(strength, dtype=float), kind="stable")


def spread(X: Array) -> Array:
    """Standard deviations of the columns, 1 for a constant one."""
    scale = X.std(axis=0)
    return np.where(scale > 0, scale, 1.0)


def outcome(model: Any, classes: bool) -> Predict:
    """The predictions of a scikit-learn model: numbers, or probabilities."""
    return model.predict_proba if classes else model.predict  # type: ignore[no-any-return]


def constant(y: Target, classes: bool) -> Predict:
    """What can be said without any input: the mean, or the shares of the classes."""
    if not classes:
        return lambda Z: np.full(len(Z), y.mean())
    shares = np.bincount(y) / len(y)
    return lambda Z: np.tile(shares, (len(Z), 1))


def held_out(
    X: Array, y: Target, classes: bool, seed: int, share: float = HELD_OUT
) -> tuple[Array, Array, Target, Target]:
    """Training rows and held-out rows; classes keep their shares."""
    from sklearn.model_selection import train_test_split

    stratified = y if classes else None
    parts = train_test_split(X, y, test_size=share, random_state=seed, stratify=stratified)
    return tuple(parts)
