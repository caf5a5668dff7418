"""What `select` returns."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from nvsd.data.columns import Columns
from nvsd.files import write_dataset
from nvsd.report import write_selection_report
from nvsd.results.facts import target_name, tested
from nvsd.results.refits import refit_dataset
from nvsd.results.schema import FALSE_SELECTIONS
from nvsd.results.selections import StoredSelection
from nvsd.selection.evidence import Evidence
from nvsd.selection.refits import Refit
from nvsd.selection.shown import Shown
from nvsd.selection.task import Array, Mask

if TYPE_CHECKING:
    import pandas as pd

METHOD = "anova"  # the default: the only one that makes tests


@dataclass(frozen=True, eq=False, repr=False)
class Selection(Shown):
    """Which inputs were selected, how, and the refit on them.

    Attributes
    ----------
    support : (d,) bool array
    features : tuple of str
        Names of all inputs.
    groups : tuple of str or None
        The group of each input, if groups were given.
    method : str
    history : Dataset
        Every candidate (dimension step): `support(step, feature)`, `derivative_norm(step, feature)`
        of its refit, `strength(step, feature)` by which the method ranked the inputs, `n_selected`,
        `error`, `error_se`, `clearness`, `ridge_nu`, `kernel`, `method` and `origin` (which
        sequence of which method it belongs to), `tau`; attrs `method`, `chosen` (the step that
        won), `rule`, and with "stability" those of `nvsd.results.schema.STABILITY`.
    refit : Refit
        On the selected inputs alone.
    predictor : Refit
        What `predict` uses: the fit of least error, which may use more inputs than were selected.
    predicts_with : str
        Which inputs `predict` uses.
    strength : (d,) array
        The numbers by which inputs were ranked. With "anova" they are the standard deviations of
        their total effects on f, in the units of y.
    order : (d,) int array
        All inputs, best first.
    evidence : Evidence or Dataset, optional
        What the tests of `significance` need, or their results.
    measure : str
        What `score` is: the mean squared error, or the mean of another loss.
    score : float
        Mean squared error of the chosen candidate on the data that judged it. It is optimistic, as
        the least of many. With folds, a width for each input changes the refit but not the score:
        folds judge how sets are proposed, before the refit gets other widths.

    Examples
    --------
    >>> import numpy as np, nvsd
    >>> X = np.random.default_rng(0).uniform(-2, 2, (80, 4))
    >>> selection = nvsd.select(X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2])
    >>> selection.selected
    ['x0', 'x1', 'x2']
    >>> selection.table(p_values=False)[["feature", "selected"]]
      feature  selected
    0      x0      True
    1      x1      True
    2      x2      True
    3      x3     False
    >>> selection.predict(X).shape
    (80,)
    """

    support: Mask
    features: tuple[str, ...]
    groups: tuple[str, ...] | None
    method: str
    history: xr.Dataset
    refit: Refit
    score: float
    strength: Array
    order: NDArray[np.intp]
    predictor: Refit
    predicts_with: str
    evidence: Evidence | xr.Dataset | None = None
    measure: str = "mean squared error"

    def named(self, target: str) -> Self:
        """The same selection, which calls y so in what it shows and writes.

        A y that was computed from an input may still have its name, which would mislead.
        """
        if target != target_name(self) and target not in self.features:
            self.history.attrs["target"] = target
        return self

    @cached_property
    def significance(self) -> xr.Dataset:
        """Tests for every input, or group, of whether y depends on it given the others.

        They are made when first used, with the folds of the selection.
        """
        if self.evidence is None and self.method == METHOD:
            raise ValueError(
                "the selection was saved without tests; save it with p_values=True, or call "
                "nvsd.significance(X, y)."
            )
        if self.evidence is None:
            raise ValueError(
                f"method = {self.method!r} makes no tests; give method='anova', or call "
                "nvsd.significance(X, y)."
            )
        if isinstance(self.evidence, xr.Dataset):
            return self.evidence
        return self.evidence.dataset()

    @property
    def tests(self) -> xr.Dataset | None:
        """The tests of `significance`, if they have been made; it never starts them."""
        made = isinstance(self.evidence, xr.Dataset) or "significance" in vars(self)
        return self.significance if made else None

    @property
    def p_values(self) -> pd.Series:
        """The p-value of every input, or group, in the order of the ranking.

        A small one is evidence that y depends on the input, given the others. Inputs that are near
        copies of each other have the p-value of all of them together.
        """
        import pandas as pd

        tests = self.significance
        unit = "feature" if self.groups is None else "group"
        name = "p_value_together" if "p_value_together" in tests else "p_value"
        found = pd.Series(tests[name].values, index=list(tests[unit].values), name="p_value")
        labels = self.features if self.groups is None else self.groups
        return found.reindex(list(dict.fromkeys(labels[a] for a in self.order)))

    @property
    def ranking(self) -> pd.Series:
        """The strength of every input, best first."""
        import pandas as pd

        names = [self.features[a] for a in self.order]
        return pd.Series(self.strength[self.order], index=names, name="strength")

    @property
    def false_selections(self) -> pd.Series:
        """Bounds on the expected number of false selections, only for stability selection.

        One number for each theorem that applies here, see `nvsd.selection.bounds`:
        "exchangeable" (Meinshausen and Bühlmann 2010), "unimodal" and "r-concave" (Shah and
        Samworth 2013). Empty for other methods, and without a threshold.
        """
        import pandas as pd

        attrs = self.history.attrs
        found = {
            short: float(attrs[name]) for short, name in FALSE_SELECTIONS.items() if name in attrs
        }
        return pd.Series(found, name="false_selections", dtype=float)

    def predict(self, X_new: ArrayLike) -> Array:
        """Predictions of the fit of least error; `predicts_with` says which inputs it uses."""
        return self.predictor.predict(X_new)

    def dataset(self) -> xr.Dataset:
        """The refit as a Dataset that predicts: ``selection.dataset().nvsd.predict(X_new)``.

        It has only the selected inputs, so that new tables need no others.
        """
        refit = self.refit
        return refit_dataset(
            refit.fit,
            *self._of_inputs(),
            {"method": str(self.method), "score": float(self.score), **self._loss()},
        )

    def report(
        self,
        file: str | os.PathLike[str],
        *,
        p_values: bool = True,
        target: str | None = None,
        title: str | None = None,
    ) -> Path:
        """Write one self-contained HTML page about the selection, and return its path.

        What was selected and how sure, error against size, effects and pairs, what was nearly
        selected, which fit predicts; for classes also calibration, ROC curves and confusion matrix.

        Parameters
        ----------
        file : path
        p_values : bool
            Whether to make the tests of `significance` first, where the method allows it.
        target : str, optional
            The name of y; by default that of the Series that was given.
        title : str, optional
            Shown above the report and as the title of the window.
        """
        if p_values and self.evidence is not None:
            self.significance  # noqa: B018
        return write_selection_report(self, file, target=target, title=title)

    def save(self, file: str | os.PathLike[str], *, p_values: bool = False) -> None:
        """Write the whole selection as netCDF, for `nvsd.load_selection`.

        The file appears complete or not at all. It holds numbers and text only.

        Parameters
        ----------
        file : path
        p_values : bool
            Whether to make the tests of `significance` first; if they were made before, the file
            has them in any case.
        """
        tests = self.significance if p_values else self.tests
        write_dataset(file, replace(self._stored(), tests=tests).tree())

    def _stored(self) -> StoredSelection:
        """What a file needs to hold."""
        names = {field.name for field in fields(StoredSelection)} & {f.name for f in fields(self)}
        same: dict[str, Any] = {name: getattr(self, name) for name in names}
        refit = self.refit.stored()
        other = refit if self.predictor is self.refit else self.predictor.stored()
        return StoredSelection(**same | {"refit": refit, "predictor": other})

    def _of_inputs(self) -> tuple[Any, Any, Array, Array, Array]:
        """Names, groups, scaling and derivative norms of what the kernel sees."""
        columns, refit = self.columns, self.refit
        groups = self.groups if columns.one_to_one else columns.labels(self.groups or self.features)
        chosen = self.history.isel(step=int(self.history.attrs["chosen"]))
        norms = chosen["derivative_norm"].values[columns.owner]
        return refit.inputs.features, groups, refit.x_mean, refit.x_scale, norms

    def _loss(self) -> dict[str, str]:
        """The loss and the columns as attributes, where they are not squares and numbers."""
        used = self.refit.columns.used(self.refit.fit.features)
        found = {name: self.history.attrs[name] for name in ("loss",) if name in self.history.attrs}
        return found | ({} if used.simple else {"columns": used.to_json()})

    @property
    def columns(self) -> Columns:
        """What was made of each column of X, such as a category with its levels.

        ``selection.columns.treatment`` says it in words.
        """
        stored = self.history.attrs.get("columns")
        return Columns.of_numbers(self.features) if stored is None else Columns.from_json(stored)

    @property
    def selected(self) -> list[str]:
        """Names of the selected inputs."""
        return [name for name, used in zip(self.features, self.support, strict=True) if used]

    def table(self, p_values: bool = True) -> pd.DataFrame:
        """One row per input, with its p-value and q-value.

        The columns are feature, group if there are any, selected, strength, derivative_norm, rank,
        p_value and q_value.

        The rank of an input is the number of inputs in the smallest set that has it, in the
        sequence of sets that the chosen one belongs to. So the inputs that were dropped last have
        the smallest ranks. An input that is in none of these sets has no rank.

        Parameters
        ----------
        p_values : bool
            Whether to make the tests. Without them there is no p_value and q_value.
        """
        import pandas as pd

        with_tests = p_values and self.evidence is not None
        chosen = self.history.isel(step=self.history.attrs["chosen"])
        same = (self.history["method"] == chosen["method"]) & (
            self.history["origin"] == chosen["origin"]
        )
        sequence = self.history.isel(step=np.flatnonzero(same))
        rank = sequence["n_selected"].where(sequence["support"]).min("step")
        columns = {
            "feature": list(self.features),
            "group": self.groups,
            "selected": self.support,
            "strength": self.strength,
            "derivative_norm": chosen["derivative_norm"].values,
            "rank": pd.array(rank.values, dtype="Int64"),
            **(self._tested() if with_tests else {}),
        }
        return pd.DataFrame({name: c for name, c in columns.items() if c is not None})

    def _tested(self) -> dict[str, Array]:
        """The p-value and q-value of each input, or of its group."""
        labels = self.features if self.groups is None else self.groups
        found = tested(self.significance)
        return {name: np.array([each[a] for a in labels]) for name, each in found.items()}
