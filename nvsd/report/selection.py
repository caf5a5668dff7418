"""What the page of a selection shows, as plain lists and numbers for JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from nvsd.report.curves import curves_content, surfaces_content
from nvsd.report.errors import history_content
from nvsd.report.numbers import bits, digits
from nvsd.report.probabilities import classes_content
from nvsd.results.facts import Facts, Judged, facts_of, strength_words, target_name, treated

MOST_PAIRS = 12  # pairs that are listed
NEAR = 5  # inputs that were nearly selected


def selection_content(selection: Any, target: str | None = None) -> dict[str, Any]:
    """Everything the page needs; sections without data are None."""
    facts, target = facts_of(selection), str(target or target_name(selection))
    features, groups = list(selection.features), selection.groups
    units = None if groups is None else list(dict.fromkeys(groups))
    pairs = selection.interactions()
    return {
        "target": target,
        "features": features,
        "groups": units,
        "groupOf": None if units is None else [units.index(group) for group in groups],
        "support": bits(selection.support),
        "strength": digits(selection.strength),
        "order": selection.order.tolist(),
        "norms": _norms(selection),
        "strengthIs": strength_words(selection, target),
        "method": selection.method,
        "measure": selection.measure,
        "reason": facts.reason,
        "rows": facts.rows,
        "chosen": _judged(facts.chosen),
        "least": _judged(facts.least),
        "empty": None if facts.empty is None else _judged(facts.empty),
        "explained": facts.explained,
        "history": history_content(selection) | {"se": _spread(selection)},
        "tests": _tests(selection),
        "near": _near(selection, facts),
        "curves": curves_content(selection.refit, selection.order),
        "effects": _effects(selection, features),
        "pairs": _pairs(pairs, features),
        "surfaces": surfaces_content(selection.refit, list(pairs["pair"]), list(pairs["share"])),
        "classes": classes_content(selection),
        "predicts": _predicts(selection),
        "about": {
            "treated": treated(selection),
            "kernel": repr(selection.refit.kernel)[:300],
            "nu": float(selection.refit.nu),
            "sections": len(selection.refit.fit.X),
            "rule": str(selection.history.attrs.get("rule", "")),
            "version": str(selection.history.attrs.get("nvsd_version", "")) or None,
        },
    }


def _judged(judged: Judged) -> dict[str, Any]:
    error, se = digits([judged.error, judged.se])
    return {"error": error, "se": se, "size": judged.size}


def _norms(selection: Any) -> list[Any]:
    """The derivative norm of every input in the refit."""
    chosen = selection.history.isel(step=int(selection.history.attrs["chosen"]))
    return digits(chosen["derivative_norm"].values)


def _spread(selection: Any) -> list[Any]:
    """The standard error of every candidate that `history_content` lists."""
    history = selection.history
    return digits(history["error_se"].values[np.isfinite(history["error"].values)], 3)


def _tests(selection: Any) -> dict[str, Any] | None:
    """One row for each input, or group, the surest first."""
    tests = selection.tests
    if tests is None:
        return None
    unit = "feature" if "feature" in tests.dims else "group"
    p = tests["p_value_together" if "p_value_together" in tests else "p_value"].values
    order = np.lexsort((-tests["importance"].values, p))
    copies = tests["near_copies"].values if "near_copies" in tests else np.full(len(p), "")
    columns = {
        name: digits(100 * tests[variable].values[order], 3)
        for name, variable in (
            ("importance", "importance"),
            ("lower", "importance_lower"),
            ("upper", "importance_upper"),
        )
    }
    return columns | {
        "unit": "input" if unit == "feature" else "group",
        "names": [str(name) for name in tests[unit].values[order]],
        "p": digits(p[order], 3),
        "q": digits(tests["q_value"].values[order], 3),
        "copies": [str(each) for each in copies[order]],
        "correction": str(tests.attrs.get("correction", "bh")),
        "copiesDrawn": int(tests.attrs.get("n_copies", 0)),
    }


def _near(selection: Any, facts: Facts) -> list[dict[str, Any]]:
    """The first inputs of the ranking that were left out, and the error of the set with them."""
    history, found = selection.history, []
    support = history["support"].values.astype(bool)
    sizes = support.sum(axis=1)
    left = [row for row in facts.inputs if not row["selected"] and row["strength"] > 0]
    for row in left[:NEAR]:
        a = selection.features.index(row["input"])
        inside = (support >= selection.support).all(axis=1) & support[:, a]
        steps = np.flatnonzero(inside & np.isfinite(history["error"].values))
        step = int(steps[np.argmin(sizes[steps])]) if len(steps) else None
        found.append(
            {
                "input": a,
                "strength": digits([row["strength"]])[0],
                "p": digits([row["p_value"]], 3)[0] if "p_value" in row else None,
                "size": None if step is None else int(sizes[step]),
                "error": None if step is None else digits([history["error"].values[step]])[0],
            }
        )
    return found


def _effects(selection: Any, features: list[str]) -> list[dict[str, Any]]:
    """Shares of the variance of f, the largest first."""
    return [
        {"input": features.index(name), "main": main, "pairs": pairs}
        for name, main, pairs in selection.effects()[["feature", "share", "interactions"]].values
    ]


def _pairs(pairs: Any, features: list[str]) -> list[dict[str, Any]]:
    return [
        {
            "inputs": [features.index(name) for name in pair],
            "share": float(share),
            "strength": digits([strength], 3)[0],
        }
        for pair, share, strength in pairs[["pair", "share", "strength"]].values[:MOST_PAIRS]
    ]


def _predicts(selection: Any) -> dict[str, Any]:
    """Which fit predicts."""
    names = selection.predictor.uses
    return {
        "with": selection.predicts_with,
        "inputs": [selection.features.index(name) for name in names],
        "same": sorted(names) == sorted(selection.selected),
        "kernel": repr(selection.predictor.kernel)[:300],
    }
