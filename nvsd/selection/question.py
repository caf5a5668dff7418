"""What `select` is asked, if the engine answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from nvsd.losses import Loss
from nvsd.selection.inputs import JudgedRows
from nvsd.selection.result import METHOD

RULES = ("smallest", "min")


class Question(NamedTuple):
    """What to select from, and how.

    Attributes
    ----------
    data : JudgedRows
    groups : tuple of str or None
        The group of each input.
    keep : sequence
        Inputs that are always selected.
    k : int or None
        The number of units to select.
    rule : {"smallest", "min"}
    fdr : float or None
        The false discovery rate at which units are selected, instead of by the rule.
    p_values : bool
        Whether to test the units now, not only when p-values are used.
    """

    data: JudgedRows
    groups: tuple[str, ...] | None = None
    keep: Sequence[Any] = ()
    k: int | None = None
    rule: str = "smallest"
    fdr: float | None = None
    p_values: bool = False
    seed: int = 0
    n_jobs: int | None = None
    progress: bool | None = None

    @property
    def features(self) -> tuple[str, ...]:
        """Names of all inputs."""
        return self.data.columns.names

    @property
    def decides(self) -> str:
        """What decides on the set: "fdr", "k", or the rule."""
        if self.fdr is not None:
            return "fdr"
        return self.rule if self.k is None else "k"

    @property
    def tests(self) -> bool:
        """Whether units are tested now."""
        return self.p_values or self.fdr is not None


def refuse_given(given: dict[str, Any]) -> None:
    """Refuse arguments that the engine does not use: it has its own kernels."""
    names = [name for name, value in given.items() if value is not None]
    if names:
        raise ValueError(
            f"method = {METHOD!r} does not take {', '.join(names)}; leave that out, or give "
            "method='pool'."
        )


def refuse_of_engine(method: str, given: bool, loss: Loss | None, missing: str) -> None:
    """Refuse arguments that only the engine uses."""
    if missing == "impute":
        raise ValueError(
            f"method = {method!r} cannot impute inside the folds; give method={METHOD!r}, or "
            "missing='drop'."
        )
    if given:
        raise ValueError(
            f"method = {method!r} does not take keep, k, fdr or p_values; give method={METHOD!r}."
        )
    if loss is not None:
        raise ValueError(
            f"method = {method!r} knows squares only, and the loss is {loss!r}; give "
            f"method={METHOD!r}, or numbers as y and loss='squared'."
        )
