"""`selection` at large sizes; one call each."""

from __future__ import annotations

from . import common, selection


class DefaultSelection(common.Single, selection.DefaultSelection):
    params = (["default"], [20, 200], [1000])
    tiny = (["default"], [6], [30])
