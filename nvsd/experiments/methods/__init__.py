"""The methods that are compared; each has fit, whose result has predict and support."""

from __future__ import annotations

from nvsd.experiments.methods.base import Method, Model
from nvsd.experiments.methods.competitors import XRFM, LassoNet, XRFMAlone
from nvsd.experiments.methods.denovas import Denovas
from nvsd.experiments.methods.early import EarlyNVSD
from nvsd.experiments.methods.kernel import HSICLasso, Krls, Oracle
from nvsd.experiments.methods.linear import LinearElasticNet, LinearGroupLasso, LinearRidge, Mean
from nvsd.experiments.methods.ours import Engine, FoldsAlone, LeastError, Selected, WidthPerInput
from nvsd.experiments.methods.paper import MU, PaperNVSD
from nvsd.experiments.methods.spam import SpAM

__all__ = [
    "METHODS",
    "OURS",
    "OURS_GROUPS",
    "OURS_REAL",
    "OURS_REAL_GROUPS",
    "OURS_TUNED",
    "Method",
    "Model",
]

# In the order of the tables.
METHODS: dict[str, Method] = {
    method.key: method
    for method in (
        Mean("mean", "mean"),
        LinearRidge("ridge", "linear ridge"),
        LinearElasticNet("lasso", "lasso"),
        LinearElasticNet("elastic-net", "elastic net", MU),
        LinearGroupLasso("group-lasso", "group lasso"),
        Krls("krls", "Krls"),
        SpAM("spam", "SpAM"),
        HSICLasso("hsic", "HSIC"),
        Denovas("denovas", "Denovas"),
        LassoNet("lassonet", "LassoNet"),
        XRFM("xrfm", "xRFM"),
        XRFMAlone("xrfm-alone", "xRFM, its own predictions"),
        PaperNVSD("nvsd-l", "NVSD(L)", "L"),
        PaperNVSD("nvsd-gl", "NVSD(GL)", "GL"),
        PaperNVSD("nvsd-en", "NVSD(EN)", "EN"),
        EarlyNVSD("nvsd-l-early", "NVSD(L), stopped early", "L"),
        EarlyNVSD("nvsd-gl-early", "NVSD(GL), stopped early", "GL"),
        Selected("rank-l", "rank (L)", "rank", "L"),
        Selected("rank-en", "rank (EN)", "rank", "EN"),
        Selected("rank-gl", "rank (GL), groups", "rank", "GL", groups=True),
        Selected("adaptive-l", "adaptive (L)", "adaptive", "L"),
        Selected("adaptive-en", "adaptive (EN)", "adaptive", "EN"),
        Selected("adaptive-gl", "adaptive (GL), groups", "adaptive", "GL", groups=True),
        Selected("eliminate", "eliminate", "eliminate"),
        Selected("eliminate-groups", "eliminate, groups", "eliminate", groups=True),
        Selected("pool", "pool"),
        Selected("pool-groups", "pool, groups", groups=True),
        LeastError("pool-min", "pool, least error"),
        LeastError("pool-min-groups", "pool, least error, inputs or groups", groups=True),
        WidthPerInput("pool-widths", "pool, least error, a width per input"),
        FoldsAlone("pool-cv", "pool, folds alone"),
        Engine("engine", "engine, no kernel told"),
        Engine("engine-cv", "engine, no kernel told, folds alone", folds=True),
        Oracle("oracle", "true inputs"),
    )
}

# The methods that represent this library, and those with groups where the paper gives groups to
# NVSD(GL). On real data only the error of the predictions is judged, so validation error alone
# chooses the set. If a width may be chosen, so may a width for each input.
OURS, OURS_GROUPS = "pool", "pool-groups"
OURS_REAL, OURS_REAL_GROUPS, OURS_TUNED = "pool-min", "pool-min-groups", "pool-widths"
