from __future__ import annotations

import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
import pytest

from nvsd.cli import main

NAMES = ["x1", "x 2", 'say "x3"', "x4"]


def fill(place: Path) -> Path:
    """Put tables, groups and a path into a folder."""
    frame = made_up(30, 0)
    frame.to_csv(place / "data.csv", index=False)
    made_up(100, 1).to_csv(place / "validation.csv", index=False)
    frame.assign(note="text").to_csv(place / "text.csv", index=False)
    groups = {"g": ["x1", "x4"], "h": NAMES[1:3]}
    (place / "groups.json").write_text(json.dumps(groups))
    assert main(quick(place, "--out", str(place / "path.nc"))) == 0
    return place


def made_up(n: int, seed: int) -> pd.DataFrame:
    """Inputs, two of which matter, and the target."""
    X = pd.DataFrame(np.random.default_rng(seed).standard_normal((n, 4)), columns=NAMES)
    return X.assign(y=np.sin(2 * X["x1"]) + X["x4"] ** 2)


def quick(folder: Path, *more: str) -> list[str]:
    """A path that takes no time."""
    data = str(folder / "data.csv")
    return ["path", data, "--target", "y", "--n-taus", "5", "--tol", "1e-3", *more]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    capsys.readouterr()
    code = main(arguments)
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return code, out, err


def complaint(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> str:
    """The one sentence of a command that fails with this exit code and prints nothing."""
    got, out, err = run(capsys, *arguments)
    assert (got, out) == (code, "")
    assert err.startswith("nvsd: error: ")
    assert err.count("\n") == 1
    assert err.rstrip()[-1] in ".?"
    return err
