"""What `NVSDRegressorCV` should predict with: the refit, or the point of the path; test R².

    python docs/scripts/path_bench.py --seeds 2

Problems of `selection_problems` with at most 300 rows and 50 inputs; `SelectiveRegressor` beside.
An hour on one core, most of it paths.
"""

from __future__ import annotations

import argparse

import numpy as np
import selection_problems as problems

import nvsd

KINDS = (
    "jse2", "jse3", "rodeo1", "rodeo2", "e2", "e3", "sin4x", "product", "linear", "heavy_x",
    "steps", "friedman1", "friedman2", "additive",
)  # fmt: skip
MODELS = {
    "refit": nvsd.NVSDRegressorCV(),
    "path": nvsd.NVSDRegressorCV(debias=False),
    "SelectiveRegressor": nvsd.SelectiveRegressor(),
}


def main() -> None:
    """Print a row for each problem, and the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--kinds", nargs="*", default=KINDS)
    options = parser.parse_args()
    print("problem", "seed", *MODELS)
    rows = []
    for kind in options.kinds:
        for seed in range(options.seeds):
            p = problems.make(kind, seed)
            fitted = [model.fit(p.X, p.y) for model in MODELS.values()]
            rows.append([model.score(p.X_test, p.y_test) for model in fitted])
            print(kind, seed, *np.round(rows[-1], 3), flush=True)
    print("mean", "", *np.round(np.mean(rows, axis=0), 3))


if __name__ == "__main__":
    main()
