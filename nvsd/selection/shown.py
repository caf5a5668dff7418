"""What a selection shows of itself: text, HTML, and tables of effects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvsd.selection.effects import effects_of, interactions_of
from nvsd.selection.html import notebook_html
from nvsd.selection.refits import Refit
from nvsd.selection.summary import brief, summary

if TYPE_CHECKING:
    import pandas as pd


class Shown:
    """The part of `Selection` that only shows what is there; nothing here starts tests."""

    refit: Refit

    def __repr__(self) -> str:
        return brief(self)

    def _repr_html_(self) -> str:
        return notebook_html(self)

    def summary(self) -> str:
        """What was selected and why, as plain text of at most 80 columns.

        It has p-values if they were made before, by `p_values` or ``select(p_values=True)``.
        """
        return summary(self)

    def effects(self) -> pd.DataFrame:
        """What each selected input does alone, and together with others, in the refit.

        The refit is split into main effects, pairs and more, under the law in which inputs are
        independent, each with the distribution of the samples; see `nvsd.ridge.decomposition`.

        Returns
        -------
        DataFrame
            The largest first: `feature`; `share` of the variance of f that its main effect has;
            `interactions`, the shares of all pairs with it; and `strength`, the standard deviation
            of its main effect, in units of y or, for classes, of log-odds.
        """
        return effects_of(self.refit)

    def interactions(self) -> pd.DataFrame:
        """What pairs of selected inputs do together in the refit, beyond their main effects.

        Returns
        -------
        DataFrame
            The largest first: `pair`, two names; `share` of the variance of f; and `strength`, the
            norm of the mixed derivative ∂²f/∂x_a∂x_b, per unit of the inputs as the kernel sees
            them.
        """
        return interactions_of(self.refit)
