"""`nvsd select` and `nvsd predict` on classes, and other losses."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_problems import complaint, run

import nvsd

NAMES = ["light", "water", "wind", "dust"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables with a target of text, of true and false, of 0 and 1, and with outliers."""
    place = tmp_path_factory.mktemp("classes")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(150, len(NAMES))), columns=NAMES)
    alive = X["light"] ** 2 + X["water"] + 0.5 * rng.normal(size=150) > 0.8
    kind = np.where(alive, np.where(X["light"] > 0, "fern", "moss"), "none")
    size = X["light"] + X["water"] ** 2 + 0.2 * rng.normal(size=150)
    size[::30] = 1e3
    X.assign(kind=kind).to_csv(place / "kind.csv", index=False)
    X.assign(alive=alive).to_csv(place / "alive.csv", index=False)
    X.assign(alive=alive.astype(int)).to_csv(place / "numbers.csv", index=False)
    X.assign(size=size).to_csv(place / "size.csv", index=False)
    return place


def test_text_is_taken_as_classes_and_that_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, model = str(folder / "kind.csv"), str(folder / "kind.nc")
    code, out, _ = run(capsys, "select", data, "--target", "kind", "--cv", "3", "--out", model)
    said = " ".join(out[: out.index("\ninput")].split())
    assert code == 0
    assert said.startswith("Selected 2 of 4 inputs by anova: ")
    assert "kind was taken as 3 classes: fern, moss, none." in said
    frame = pd.read_csv(folder / "kind.csv")
    direct = nvsd.select(frame[NAMES], frame["kind"], cv=3, progress=False)
    assert f"Expected log-loss {direct.score:.4g} (held-out rows)" in said
    assert f"AUC {direct.quality['auc']:.3f}" in said
    assert "their effect on the probability of a class" in said
    assert max(map(len, out.splitlines())) <= 80

    code, out, _ = run(capsys, "predict", model, data)
    table = pd.read_csv(io.StringIO(out))
    P = table[[f"probability of {name}" for name in direct.classes]].to_numpy()
    np.testing.assert_allclose(P, direct.refit.predict_proba(frame[NAMES]), atol=1e-9)
    assert (table["prediction"] == direct.refit.predict(frame[NAMES])).all()
    code, out, _ = run(capsys, "show", model)
    assert "Kernel logistic regression" in out
    assert "fern, moss, none" in " ".join(out.split())
    complaint(capsys, 2, "predict", model, data, "--gradient")


def test_true_and_false_are_classes_and_0_and_1_are_when_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def content(file: str, *more: str) -> tuple[dict, str]:
        given = (str(folder / file), "--target", "alive", "--cv", "3", "--no-tests", *more)
        code, out, err = run(capsys, "select", *given, "--format", "json")
        assert code == 0
        return json.loads(out), err

    told, _ = content("numbers.csv", "--loss", "logistic")
    found, _ = content("alive.csv")
    assert found["classes"] == [False, True]
    assert told["classes"] == [0, 1]
    assert found["score"] == told["score"]
    assert 0 < found["brier"] < 0.25
    plain, err = content("numbers.csv")
    assert "classes" not in plain
    assert "mean_squared_error" in plain
    assert "0 or 1 and taken as a number" in err


def test_two_classes_have_a_model_with_log_odds(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, model = str(folder / "alive.csv"), str(folder / "alive.nc")
    given = ("--target", "alive", "--cv", "3", "--no-tests", "--out", model)
    assert run(capsys, "select", data, *given)[0] == 0
    _, out, _ = run(capsys, "predict", model, data, "--gradient")
    table = pd.read_csv(io.StringIO(out))
    assert "d/d light" in table
    assert table["prediction"].dtype == bool
    np.testing.assert_allclose(
        table["probability of False"] + table["probability of True"], 1.0, atol=1e-9
    )


def test_a_robust_loss_by_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = (str(folder / "size.csv"), "--target", "size", "--cv", "3", "--no-tests")
    code, out, _ = run(capsys, "select", *given, "--loss", "huber")
    assert code == 0
    assert "light" in out.splitlines()[0]
    assert "water" in out.splitlines()[0]
    assert "Expected mean Huber loss" in " ".join(out.split())
    assert "less than the loss of a constant" in " ".join(out.split())


def test_validation_rows_have_labels_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = str(folder / "kind.csv")
    given = ("--target", "kind", "--validation", data, "--no-tests", "--format", "json")
    code, out, _ = run(capsys, "select", data, *given)
    assert code == 0
    assert json.loads(out)["classes"] == ["fern", "moss", "none"]


def test_what_does_not_fit_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = str(folder / "kind.csv")
    pooled = complaint(capsys, 1, "select", data, "--target", "kind", "--method", "pool")
    assert "knows squares only" in pooled
    path = ("path", data, "--target", "kind")
    assert "not a number" in complaint(capsys, 1, *path, "--loss", "squared")
    squares = complaint(capsys, 1, "select", data, "--target", "kind", "--loss", "squared")
    assert "not a number" in squares


def test_a_path_of_two_classes_says_what_f_is(tmp_path, capsys) -> None:
    table = tmp_path / "data.csv"
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    labels = np.where(X[:, 0] > 0, "yes", "no")
    rows = [f"{a},{b},{label}" for (a, b), label in zip(X, labels, strict=True)]
    table.write_text("a,b,state\n" + "\n".join(rows))
    out = tmp_path / "path.nc"
    path = ["path", str(table), "--target", "state", "--n-taus", "4"]
    code, shown, notes = run(capsys, *path, "--out", str(out))
    assert code == 0
    assert "f is the log-odds of yes against no" in notes
    assert "explained" in shown
    assert "R2" not in shown
    table.write_text(table.read_text().replace("yes", "maybe", 3))
    assert "3 classes, and nvsd path takes two" in complaint(capsys, 2, *path)
