"""What others have printed for the public problems, beside what was measured here."""

from __future__ import annotations

from pathlib import Path

from peers import PEERS
from peers_bench import Cell
from peers_scores import OURS, Scores, load, mean_of, present, shown, table

# Passemiers et al., Scientific Reports 2024, n = 1000 and m = 32, 128, 512.
PUBLISHED_SIZES = (32, 128, 512)
PUBLISHED = {
    "ring": {"RF": (1, 1, 1), "TreeSHAP": (1, 1, 1), "LassoNet": (0.08, 0, 0), "mRMR": (1, 1, 1)},
    "xor": {
        "RF": (1, 0.17, 0.17),
        "TreeSHAP": (0.42, 0, 0),
        "LassoNet": (1, 1, 1),
        "mRMR": (0, 0, 0),
    },
    "ringxor": {
        "RF": (1, 1, 0.75),
        "TreeSHAP": (1, 1, 0.58),
        "LassoNet": (0.54, 0.50, 0.33),
        "mRMR": (0.92, 0.79, 0.71),
    },
    "ringxorsum": {
        "RF": (0.97, 0.97, 0.64),
        "TreeSHAP": (0.89, 0.94, 0.50),
        "LassoNet": (0.67, 0.56, 0.47),
        "mRMR": (0.86, 0.72, 0.56),
    },
}
# Yamada et al., HSIC Lasso: share of the true inputs among the first k.
YAMADA = {
    ("yamada1", 100): 0.675,
    ("yamada1", 1000): 1.0,
    ("yamada2", 100): 0.67,
    ("yamada2", 1000): 1.0,
}
RFFNET = {"jse2": 1.36, "jse3": 0.012}  # mean squared error

PASSEMIERS = """\
### Published values

Passemiers et al. (2024), n = 1000, share of the true inputs; the last columns are theirs. Their
random forest and LassoNet classify, and their settings may differ from the defaults here.
"""


def published(path: Path) -> str:
    """What others have printed, beside what was measured here."""
    shares, errors = load(path, "public", "share"), load(path, "public", "mse")
    here = [method for method in ("ours", "rf", "lassonet") if method in present(shares)]
    rows = []
    for kind, values in PUBLISHED.items():
        for j, m in enumerate(PUBLISHED_SIZES):
            runs = shares.get(Cell("public", kind, 1000, m), {})
            own = [shown(runs[key], False) if key in runs else "–" for key in here]
            rows.append([kind, str(m), *own, *(f"{value[j]:.2f}" for value in values.values())])
    theirs = [f"{name}, published" for name in PUBLISHED["ring"]]
    parts = [
        PASSEMIERS,
        table(["problem", "inputs", *(PEERS[k].label for k in here), *theirs], rows),
    ]
    return "\n".join([*parts, *_yamada(shares), *_rffnet(errors)])


def _yamada(shares: Scores) -> list[str]:
    here = [method for method in ("ours", "hsic") if method in present(shares)]
    rows = []
    for (kind, n), value in YAMADA.items():
        runs = shares.get(Cell("public", kind, n, 1000), {})
        own = [shown(runs[key], False) if key in runs else "–" for key in here]
        rows.append([kind, str(n), *own, f"{value:.3g}"])
    head = ["problem", "rows", *(PEERS[key].label for key in here), "HSIC Lasso, published"]
    return ["Yamada et al. (2014), 1000 inputs, share of the true inputs:\n", table(head, rows)]


def _rffnet(errors: Scores) -> list[str]:
    """Mean squared errors of predictions, those of RFFNet beside."""
    rows = []
    for cell, runs in errors.items():
        if cell.kind in RFFNET and OURS in runs:
            ours = f"{mean_of(runs[OURS]):.3g}"
            rows.append([cell.kind, str(cell.n), ours, f"{RFFNET[cell.kind]:.3g}"])
    if not rows:
        return []
    head = ["problem", "rows", PEERS[OURS].label, "RFFNet, published"]
    text = "Mean squared error without the noise's own, .01, which the published ones contain:\n"
    return [text, table(head, rows)]
