"""What a report says, against the path and the data it was made from."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import nvsd
from nvsd.kernels import Gaussian, Linear, Polynomial
from nvsd.penalties import ElasticNet, GroupLasso
from nvsd.report import report_html
from nvsd.report.content import report_content


def content(text: str) -> dict[str, Any]:
    """The data inside a report, found as a browser finds it."""
    element = re.search(r'<script type="application/json" id="data">(.*?)</script', text, re.S)
    assert element is not None
    result: dict[str, Any] = json.loads(element[1])
    return result


@pytest.fixture(scope="module")
def sample() -> nvsd.datasets.Sample:
    return nvsd.datasets.make_e1(30, seed=0)


@pytest.fixture(scope="module")
def path(sample: nvsd.datasets.Sample) -> xr.Dataset:
    X = pd.DataFrame(sample.X, columns=sample.names)
    return nvsd.nvsd_path(
        X, sample.y, kernel=Gaussian(4.0), penalty=GroupLasso(sample.groups), n_taus=8
    )


@pytest.fixture(scope="module")
def mixed(sample: nvsd.datasets.Sample) -> xr.Dataset:
    """A path with several μ, without samples inside."""
    penalty = ElasticNet(mu=[0.3, 0.9])
    return nvsd.nvsd_path(sample.X, sample.y, kernel=Polynomial(2), penalty=penalty, n_taus=6)


def test_norms_support_and_certificates_are_those_of_the_path(path: xr.Dataset) -> None:
    data = content(report_html(path))
    np.testing.assert_allclose(data["norms"], path["derivative_norm"], rtol=5e-4)
    assert data["support"] == ["".join(map(str, row.astype(int))) for row in path["support"].values]
    np.testing.assert_allclose(data["taus"], path["tau"], rtol=1e-5)
    assert data["features"] == list(path["feature"].values)
    assert [data["groups"][g] for g in data["groupOf"]] == list(path["group"].values)
    good = (path["gap"] <= path.attrs["tol"] * path.attrs["scale"]).values
    assert data["certificate"]["certified"] == "".join(map(str, good.astype(int)))
    assert data["certificate"]["iterations"] == path["n_iter"].values.tolist()


def test_a_point_that_ran_out_of_iterations_is_not_certified(path: xr.Dataset) -> None:
    worse = path.copy(deep=True)
    worse["gap"][5] = 2 * path.attrs["tol"] * path.attrs["scale"]
    worse["status"][6] = 2
    certified = content(report_html(worse))["certificate"]["certified"]
    assert certified == "11111001"


def test_several_mu_are_numbered_one_after_the_other(mixed: xr.Dataset) -> None:
    turned = mixed.transpose("tau", "mu", ...).sortby("tau")
    for each in (mixed, turned):
        data = content(report_html(each))
        assert data["mus"] == [0.3, 0.9]
        expected = mixed["derivative_norm"].transpose("mu", "tau", "feature").values
        np.testing.assert_allclose(data["norms"], expected.reshape(-1, 18), rtol=5e-4)


def test_effects_are_predictions_along_one_input(
    path: xr.Dataset, sample: nvsd.datasets.Sample
) -> None:
    effects = content(report_html(path))["effects"]
    t, k = 6, 3
    a = effects["inputs"][k]
    grid = np.linspace(*np.quantile(sample.X[:, a], [0.01, 0.99]), len(effects["values"][t][k]))
    points = np.array([np.median(sample.X, axis=0)] * len(grid))
    points[:, a] = grid
    low, high = effects["ranges"][t]
    drawn = low + np.array(effects["values"][t][k]) / 999 * (high - low)
    expected = path.isel(tau=t).nvsd.predict(points)
    np.testing.assert_allclose(drawn, expected, atol=2e-3 * (high - low))


def test_fit_shows_fitted_values_and_held_out_predictions(
    path: xr.Dataset, sample: nvsd.datasets.Sample
) -> None:
    fresh = nvsd.datasets.make_e1(20, seed=1)
    y = pd.Series(sample.y, name="strength")
    data = content(report_html(path, y=y, validation=(fresh.X, fresh.y)))
    assert data["target"] == "strength"
    low, high = data["fit"]["range"]
    inside, held_out = data["fit"]["sets"]
    step = 2e-3 * (high - low)
    at = lambda levels: low + np.array(levels) / 999 * (high - low)  # noqa: E731
    np.testing.assert_allclose(at(inside["observed"]), sample.y, atol=step)
    expected = np.clip(path["fitted"].values, low, high)
    np.testing.assert_allclose(at(inside["predicted"]), expected, atol=step)
    predicted = path.nvsd.predict(fresh.X).values
    np.testing.assert_allclose(at(held_out["predicted"]), np.clip(predicted, low, high), atol=step)
    outside = ((predicted < low) | (predicted > high)).sum(axis=1)
    assert np.abs(np.array(held_out["outside"]) - outside).max() <= 1
    norms = path.nvsd.derivative_norm(fresh.X).values
    np.testing.assert_allclose(data["heldOutNorms"], norms, rtol=5e-4, atol=1e-12)


def test_one_standard_error_rule_against_a_loop(
    path: xr.Dataset, sample: nvsd.datasets.Sample
) -> None:
    fresh = nvsd.datasets.make_e1(40, seed=2)
    errors = content(report_html(path, validation=(fresh.X, fresh.y)))["errors"]
    mean, se = [], []
    for t in range(path.sizes["tau"]):
        f = path.isel(tau=t).nvsd.predict(fresh.X).values
        squares = [(u - v) ** 2 for u, v in zip(f, fresh.y, strict=True)]
        mean.append(float(np.mean(squares)))
        se.append(float(np.std(squares, ddof=1)) / 40**0.5)
    best = min(range(len(mean)), key=mean.__getitem__)
    simple = next(t for t in range(len(mean)) if mean[t] <= mean[best] + se[best])
    np.testing.assert_allclose(errors["error"][0], mean, rtol=1e-3)
    np.testing.assert_allclose(errors["se"][0], se, rtol=1e-2)
    assert errors["least"]["tau"] == best
    assert errors["simple"]["tau"] == simple
    assert content(report_html(path, validation=(fresh.X, fresh.y)))["start"] == {
        "mu": 0,
        "tau": simple,
        "why": "simple",
    }


def test_errors_of_a_cross_validation(mixed: xr.Dataset) -> None:
    error = np.array([[5.0, 4, 3, 2, 3, 4], [6.0, 5, 4, 3, 3, 3]])
    results = xr.Dataset(
        {"error": (("mu", "tau"), error), "error_se": (("mu", "tau"), np.full((2, 6), 1.1))},
        coords={"mu": mixed["mu"], "tau": mixed["tau"].values},
    )
    data = content(report_html(mixed, validation=results))
    assert data["errors"]["error"] == error.tolist()
    assert data["errors"]["least"] == {"curve": 0, "point": 3, "tau": 3}
    assert data["errors"]["simple"] == {"curve": 0, "point": 2, "tau": 2}
    assert data["fit"] is None
    assert data["heldOutNorms"] is None


def test_errors_on_another_grid_as_the_estimator_gives_them(path: xr.Dataset) -> None:
    taus = path["tau"].values[[1, 3, 5]] * 1.01
    results = xr.Dataset(
        {
            "error": (("nu", "tau", "fold"), np.ones((2, 3, 4))),
            "mean_error": (("nu", "tau"), np.array([[3.0, 2, 1], [9, 7, 8]])),
            "error_se": (("nu", "tau"), np.full((2, 3), 0.1)),
            "tau_value": (("nu", "tau"), np.array([taus, taus])),
        },
        attrs={"chosen_nu": 1, "chosen_tau": 1},
    )
    data = content(report_html(path, validation=SimpleNamespace(cv_results_=results)))
    assert data["errors"]["error"] == [[9, 7, 8]]
    assert data["errors"]["chosen"] == {"curve": 0, "point": 1, "tau": 3}
    assert data["start"]["tau"] == 3


def test_history_of_a_selection(path: xr.Dataset, sample: nvsd.datasets.Sample) -> None:
    support = np.tril(np.ones((18, 18), dtype=bool))[::-1]
    history = xr.Dataset(
        {
            "support": (("step", "feature"), support),
            "error": ("step", np.arange(18.0)),
            "n_selected": ("step", support.sum(axis=1)),
            "method": ("step", ["eliminate"] * 9 + ["rank"] * 9),
        },
        coords={"feature": sample.names},
        attrs={"chosen": 12},
    )
    for given_history in (history, SimpleNamespace(history=history)):
        data = content(report_html(path, history=given_history))["history"]
        assert data["selected"] == sample.names[:6]
        assert data["methods"] == ["eliminate", "rank"]
        assert data["chosen"] == {"size": 6, "error": 12.0}
        assert data["reason"] is None


def said(text: str, function: str) -> str:
    """What a function of the page's script returns, run by node without a browser."""
    data = re.search(r'id="data">(.*?)</script>', text, re.S)[1]
    script = re.search(r"<script>(.*?)</script>", text, re.S)[1]
    element = f"({{ textContent: {json.dumps(data)} }})"
    start = f"const document = {{ getElementById: () => {element} }};\n"
    call = script.replace("start();\n})();", f"console.log({function}());\n}})();")
    assert call != script
    done = subprocess.run(
        ["node", "-"], input=start + call, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("noise", [False, True], ids=["some", "none"])
def test_the_page_opens_with_what_the_selection_says(path: xr.Dataset, noise: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3))
    y = rng.standard_normal(120)
    y = y if noise else X[:, 0] ** 2 + X[:, 2] + 0.3 * y
    selection = nvsd.select(pd.DataFrame(X, columns=["a", "<b>", "c"]), y, cv=3)
    text = report_html(path, history=selection)
    assert text.index('id="verdict"') < text.index('id="answer"')
    reason = selection.history.attrs["reason"]
    assert content(text)["history"]["reason"] == reason
    head = "Judged by refits on held-out rows, on "
    assert said(text, "verdict") == head + (
        "none of 3 inputs: no set of them predicts y clearly better than its mean."
        if noise
        else f"2 of 3 inputs: a and c. {reason[0].upper()}{reason[1:]}."
    )


def test_a_history_without_methods_and_choice(path: xr.Dataset) -> None:
    support = np.eye(3, dtype=bool)
    history = xr.Dataset(
        {
            "support": (("step", "feature"), support),
            "error": ("step", [3.0, np.nan, 1.0]),
            "n_selected": ("step", [1, 1, 1]),
        },
        coords={"feature": ["a", "b", "c"]},
        attrs={"method": "rank"},
    )
    data = content(report_html(path, history=history))["history"]
    assert (data["methods"], data["error"], data["selected"]) == (["rank"], [3.0, 1.0], ["c"])
    with pytest.raises(ValueError, match="no errors of candidates"):
        report_html(path, history=history.assign(error=history["error"] * np.nan))


def test_errors_without_a_standard_error_have_no_simpler_choice(
    path: xr.Dataset, sample: nvsd.datasets.Sample
) -> None:
    one = content(report_html(path, validation=(sample.X[:1], sample.y[:1])))
    plain = xr.Dataset({"error": ("tau", np.arange(8.0))}, coords={"tau": path["tau"].values})
    other = content(report_html(path, validation=plain))
    for data in (one, other):
        assert data["errors"]["simple"] is data["errors"]["se"] is None
        assert data["start"]["why"] == "least"
    with pytest.raises(ValueError, match="finite errors"):
        report_html(path, validation=plain.assign(error=plain["error"] * np.nan))


def test_a_constant_target_selects_nothing(sample: nvsd.datasets.Sample) -> None:
    y = np.full(30, 2.5)
    path = nvsd.nvsd_path(sample.X, y, kernel=Gaussian(4.0), taus=[0.1, 1.0])
    data = content(report_html(path, y=y, validation=(sample.X, y)))
    assert data["support"] == ["0" * 18] * 2
    assert data["errors"]["r2"] is None


def test_equal_input_gives_equal_bytes(path: xr.Dataset, sample: nvsd.datasets.Sample) -> None:
    assert report_html(path, y=sample.y) == report_html(path.copy(deep=True), y=sample.y)


def test_two_hundred_inputs_and_many_samples_stay_small(rng: np.random.Generator) -> None:
    X = rng.standard_normal((5000, 200))
    y = X[:, :5].sum(axis=1) + rng.standard_normal(5000)
    path = nvsd.nvsd_path(X, y, kernel=Linear(), n_taus=50)
    assert "alpha" not in path
    text = report_html(path, X=X, y=y)
    data = content(text)
    assert len(text) < 1_500_000
    (drawn,) = data["fit"]["sets"]
    assert (len(drawn["observed"]), drawn["count"]) == (2000, 5000)
    assert len(report_html(path, X=X, y=y, validation=(X[:900], y[:900]))) < 2_000_000
    bare = content(report_html(path))
    assert bare["effects"] is bare["fit"] is bare["errors"] is None


def test_many_mu_thin_out_the_effects(rng: np.random.Generator) -> None:
    X = rng.standard_normal((40, 30))
    penalty = ElasticNet(mu=np.linspace(0.1, 1, 5).tolist())
    path = nvsd.nvsd_path(X, X[:, 0], kernel=Linear(), penalty=penalty, n_taus=30)
    effects = content(report_html(path, X=X))["effects"]
    assert len(effects["inputs"]) == 24
    assert effects["every"] == 2
    assert len(effects["values"]) == 75


@pytest.mark.parametrize("taus", [[0.1], [0.0], [0.0, 0.01, 1.0]])
def test_short_grids_and_one_input(taus: list[float]) -> None:
    x = np.linspace(-1, 1, 12)[:, None]
    path = nvsd.nvsd_path(x, np.sin(3 * x[:, 0]), taus=taus)
    assert content(report_html(path, y=x[:, 0]))["taus"] == sorted(taus, reverse=True)


def test_a_path_that_was_saved_gives_the_same_report(
    path: xr.Dataset, sample: nvsd.datasets.Sample, tmp_path: Path
) -> None:
    path.to_netcdf(tmp_path / "path.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "path.nc", engine="h5netcdf") as loaded:
        assert report_html(loaded, y=sample.y) == report_html(path, y=sample.y)


def test_lost_attributes_are_no_obstacle(path: xr.Dataset) -> None:
    bare = path.drop_attrs()
    data = content(report_html(bare))
    assert data["certificate"]["certified"] == "1" * 8
    assert data["about"]["penalty"] is data["r2"] is None
    damaged = path.assign_attrs(penalty="{", scale="many", n_samples=np.int64(30))
    assert content(report_html(damaged))["about"]["samples"] == 30


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"validation": (1, 2, 3)}, "3 parts"),
        ({"validation": xr.Dataset()}, "no error over tau"),
        ({"history": xr.Dataset()}, "not the history"),
        ({"y": [1.0, 2.0]}, "shape"),
        ({"X": np.ones((4, 3))}, "3 columns"),
    ],
)
def test_what_cannot_be_used_is_refused(
    path: xr.Dataset, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        report_html(path, **arguments)


def test_what_is_no_path_is_refused(path: xr.Dataset, mixed: xr.Dataset) -> None:
    with pytest.raises(ValueError, match="not a path"):
        report_html(xr.Dataset())
    with pytest.raises(ValueError, match="one path"):
        report_html(path.isel(tau=2))
    with pytest.raises(ValueError, match="one path"):
        report_html(path.expand_dims(run=2))
    with pytest.raises(ValueError, match="NaN"):
        report_html(path.assign(derivative_norm=path["derivative_norm"] * np.nan))
    with pytest.raises(ValueError, match="give X"):
        report_html(mixed.drop_vars("fitted", errors="ignore"), y=np.ones(30))
    other = xr.Dataset({"error": (("mu", "tau"), np.ones((1, 2)))}, coords={"mu": [0.7]})
    with pytest.raises(ValueError, match="different mu"):
        report_html(mixed, validation=other)


def test_the_order_of_the_inputs_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((20, 3)), columns=["x10", "x9", "a"])
    y = X["a"] ** 2 + X["x10"]
    path = nvsd.nvsd_path(X, y, kernel=nvsd.kernels.Gaussian((1.0, 2.0, 3.0)), n_taus=4)
    one, other = (
        report_content(each, X=X, y=y, validation=(X, y)) for each in (path, path.sortby("feature"))
    )
    norms = [np.array(each.pop("heldOutNorms"), dtype=float) for each in (one, other)]
    np.testing.assert_allclose(*norms, atol=1e-9)
    assert one == other
