"""What `nvsd select` prints: which inputs, why, how good, and with which fit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_problems import run

import nvsd
from nvsd.cli._answer import NAMED, Answer
from nvsd.selection import Selection

NAMES = ["light", "water", "temperature", "wind", "dust", "pressure", "staff hours", "soil"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Growth depends on three columns of one table and on none of the other."""
    place = tmp_path_factory.mktemp("select")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(150, len(NAMES))), columns=NAMES)
    noise = rng.normal(size=150)
    growth = X["light"] ** 2 + 2 * np.sin(X["water"] + X["temperature"]) + 0.3 * noise
    X.assign(growth=growth).to_csv(place / "data.csv", index=False)
    X.assign(growth=noise).to_csv(place / "noise.csv", index=False)
    return place


def select(capsys: pytest.CaptureFixture[str], file: Path, *more: str) -> str:
    code, out, _ = run(capsys, "select", str(file), "--target", "growth", *more)
    assert code == 0
    return out


def sentences(out: str) -> str:
    """What stands above the table, on one line."""
    return " ".join(out[: out.index("\ninput")].split())


def test_the_screen_says_which_why_and_how_good(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = select(capsys, folder / "data.csv")
    frame = pd.read_csv(folder / "data.csv")
    direct = nvsd.select(frame[NAMES], frame["growth"])
    assert set(direct.selected) == {"light", "water", "temperature"}
    reason = direct.history.attrs["reason"]
    explained = 1 - direct.score / frame["growth"].var(ddof=0)
    named = ", ".join(direct.ranking.index[:3])
    passed = int((direct.significance.q_value <= 0.1).sum())
    assert sentences(out) == (
        f"Selected 3 of 8 inputs by anova: {named}. {reason[0].upper()}{reason[1:]}. "
        f"Expected mean squared error {direct.score:.4g} (held-out rows): {explained:.0%} of "
        "variance explained. p_value tests whether growth depends on the input given the others; "
        f"{passed} pass at a false discovery rate of 10%. Predictions use the selected inputs. "
        "Inputs by strength, the standard deviation of their effect in units of growth:"
    )
    assert max(map(len, out.splitlines())) <= 80
    head, _, *rows = out[out.index("\ninput") + 1 :].splitlines()
    assert head.split() == ["input", "selected", "strength", "p", "value"]
    for row, (name, strength) in zip(rows, direct.ranking.items(), strict=True):
        assert row.startswith(name)
        assert float(row.split()[-2]) == pytest.approx(strength, rel=1e-3)
        assert float(row.split()[-1]) == pytest.approx(direct.p_values[name], rel=1e-3)


def test_outliers_do_not_inflate_what_is_explained(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.read_csv(folder / "data.csv")
    frame.loc[:2, "growth"] += 60.0
    frame["light again"] = frame["light"] + 1e-3 * frame["soil"]
    frame.to_csv(folder / "outliers.csv", index=False)
    out = sentences(select(capsys, folder / "outliers.csv"))
    direct = nvsd.select(frame.drop(columns="growth"), frame["growth"])
    shown = [line for line in direct.summary().splitlines() if "Explained" in line]
    assert f"{shown[0].split()[-1]} of variance explained" in out
    assert "Near copies, tested together: light, light again." in out


def test_tests_may_be_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = select(capsys, folder / "data.csv", "--no-tests")
    assert "p_value" not in out
    assert "p value" not in out


def test_a_rate_decides(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = json.loads(select(capsys, folder / "data.csv", "--fdr", "0.001", "--format", "json"))
    assert set(content["selected"]) == {"light", "water", "temperature"}
    assert "false discovery rate of 0.001" in content["reason"]
    p = {row["input"]: row["p_value"] for row in content["inputs"]}
    assert max(p["light"], p["water"], p["temperature"]) < 1e-6


def test_nothing_selected_is_an_answer(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(tmp_path / "model.nc")
    out = select(capsys, folder / "noise.csv", "--out", model)
    said = sentences(out)
    assert said.startswith(
        "Selected none of 8 inputs by anova. As far as 150 rows can tell, growth depends on none "
        "of them: no set of inputs predicts it clearly better than its mean does."
    )
    assert "set of 0" not in said
    assert "(held-out rows): the error of the mean. p_value tests whether" in said
    assert "0 pass at a false discovery rate of 10%. Predictions are the mean of growth." in said
    assert said.endswith("here not distinguishable from chance:")
    mean = pd.read_csv(folder / "noise.csv")["growth"].mean()
    _, out, _ = run(capsys, "show", model)
    assert " ".join(out.split()).startswith(
        f"No input was selected from 150 rows: predictions are the mean, {mean:.4g}, whatever"
    )
    assert "derivative norm" not in out


def test_json_says_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = json.loads(select(capsys, folder / "data.csv", "--format", "json"))
    assert content["predicts_with"] == "the selected inputs"
    assert "least error" in content["reason"]
    assert 0.8 < content["explained_variance"] < 1
    strengths = [row["strength"] for row in content["inputs"]]
    assert strengths == sorted(strengths, reverse=True)
    assert [row["selected"] for row in content["inputs"]] == [True] * 3 + [False] * 5


def test_a_number_that_was_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = select(capsys, folder / "data.csv", "--number", "2")
    said = sentences(out)
    assert said.startswith("Selected 2 of 8 inputs by anova: ")
    assert "This number was requested; the set of 3 has the least error." in said
    assert "Predictions have the least error with the first 3 of the ranking; the model" in said
    none = sentences(select(capsys, folder / "data.csv", "--number", "0"))
    assert "This number was requested" in none
    assert "depends on none" not in none


def test_other_methods_give_their_reason_and_ranks(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = select(capsys, folder / "data.csv", "--method", "eliminate", "--cv", "3")
    assert "candidate sets, this one has the least error." in sentences(out)
    assert sentences(out).endswith(
        "Inputs by strength, the derivative norm that they were ranked by; rank is the size of the "
        "smallest set that has them:"
    )
    head = next(line for line in out.splitlines() if line.startswith("input"))
    assert head.split() == ["input", "selected", "strength", "rank"]


def answer(selection: Selection, variance: float = 1.0) -> str:
    return " ".join(Answer(selection, "y", 30, variance).text().split())


def test_many_inputs_groups_and_rules() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 16))
    y = X[:, 0] ** 2 + X[:, 1]
    groups = [str(a // 2) for a in range(16)]
    every = nvsd.select(X, y, k=16, cv=2)
    assert answer(every).startswith("Selected 16 of 16 inputs by anova: x")
    assert f" and {16 - NAMED} more." in answer(every)
    grouped = nvsd.select(X, y, k=1, groups=groups, cv=2)
    assert answer(grouped).startswith("Selected 2 of 16 inputs by anova, in 1 of 8 groups: ")
    assert "no less than the error of the mean" in answer(grouped, variance=float(grouped.score))
    reasons = {
        "1se": "this set is the smallest whose error is within a standard error of the least",
        "clear": "of the sets with nearly the least error, this one has the clearest norms",
    }
    told = nvsd.select(X, y, method="eliminate", validation=(X[:20], y[:20]))
    worse = int(np.argmax(told.history["error"].values))
    for rule, reason in reasons.items():
        told.history.attrs |= {"rule": rule, "chosen": worse}
        assert Answer(told, "y", 60, 1.0).reason == reason
    one = told.history.isel(step=[worse])
    one.attrs["chosen"] = 0
    only = Selection(**vars(told) | {"history": one})
    assert Answer(only, "y", 60, 1.0).reason == "this set is the only candidate"
