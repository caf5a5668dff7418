"""Selections from files: what `Selection.save` wrote."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from nvsd.data.columns import Columns
from nvsd.files import read_selection
from nvsd.results.selections import StoredFit, StoredSelection, stored_selection
from nvsd.ridge.newton import SeveralFits
from nvsd.selection.classes import ClassSelection
from nvsd.selection.quality import quality
from nvsd.selection.refits import ClassRefit, Refit
from nvsd.selection.result import Selection
from nvsd.selection.seen import Inputs


def load_selection(file: str | os.PathLike[str]) -> Selection:
    """Read a selection that `Selection.save` wrote.

    It predicts the same numbers, and has all that the selection had. Tests are there if they were
    made before it was saved. Reading runs nothing that is in the file.

    Parameters
    ----------
    file : path

    Returns
    -------
    Selection or, for classes, ClassSelection

    Examples
    --------
    >>> import numpy as np, nvsd
    >>> X = np.random.default_rng(0).uniform(-2, 2, (80, 4))
    >>> selection = nvsd.select(X, np.sin(2 * X[:, 0]))
    >>> selection.save("selection.nc")
    >>> again = nvsd.load_selection("selection.nc")
    >>> again.selected
    ['x0']
    >>> bool((again.predict(X) == selection.predict(X)).all())
    True
    """
    tree = read_selection(file)
    try:
        return _selection(stored_selection(tree))
    except Exception as error:  # what is damaged, or was written by others, may raise anything
        raise ValueError(f"{Path(file).name} is a damaged selection; save it again.") from error


def _selection(stored: StoredSelection) -> Selection:
    """The selection of these parts, checked."""
    d, history = len(stored.features), stored.history
    text = history.attrs.get("columns")
    columns = None if text is None else Columns.from_json(text)
    refit = _refit(stored.refit, stored.classes, columns)
    parts: dict[str, Any] = {
        name: getattr(stored, name)
        for name in ("support", "features", "groups", "method", "history", "score", "strength")
    }
    parts |= {name: getattr(stored, name) for name in ("order", "predicts_with", "measure")}
    same = stored.predictor is stored.refit
    parts |= {
        "refit": refit,
        "predictor": refit if same else _refit(stored.predictor, stored.classes, columns),
        "evidence": stored.tests,
    }
    chosen = history.isel(step=int(history.attrs["chosen"]))
    whole = sorted(stored.order.tolist()) == list(range(d)) and len(stored.strength) == d
    if not whole or not np.array_equal(chosen["support"].values.astype(bool), stored.support):
        raise ValueError("the parts of the file do not fit each other")
    if stored.classes is None:
        return Selection(**parts)
    P, codes = stored.probabilities, stored.codes
    assert P is not None
    assert codes is not None
    return ClassSelection(
        **parts,
        classes=stored.classes,
        held_out=quality(P, codes),
        held_out_probability=P,
        held_out_class=codes,
    )


def _refit(stored: StoredFit, classes: Any, columns: Columns | None) -> Refit:
    fit, d, points = stored.fit, len(stored.features), int(stored.fit.features.sum())
    inputs = Inputs(stored.features, stored.mean, stored.scale, columns)
    numbers = (fit.X, fit.alpha, fit.nus, inputs.mean, inputs.scale)
    fits = fit.X.shape == (fit.alpha.shape[1], points) and len(inputs.scale) == d
    fits = fits and (columns is None or columns.inputs == stored.features)
    if (
        not fits
        or not all(np.isfinite(each).all() for each in numbers)
        or (inputs.scale <= 0).any()
    ):
        raise ValueError("the numbers of a fit are not valid")
    if classes is None:
        return Refit(fit, inputs)
    assert isinstance(fit, SeveralFits)
    assert stored.origin is not None
    return ClassRefit(fit, inputs, classes, stored.origin, stored.n)
