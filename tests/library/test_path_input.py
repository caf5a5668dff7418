"""What `nvsd_path` and `prepare` refuse, and what they warn of."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from path_problems import sample
from scipy.sparse import csr_array

import nvsd
import reference
from nvsd import ConvergenceWarning
from nvsd.kernels import Gaussian, Linear, Polynomial
from nvsd.machine import _left_in_container
from nvsd.penalties import ElasticNet, GroupLasso, Lasso
from nvsd.solvers import Status, is_certified

N, D = 8, 3
X, Y = sample(0, N, D)
MUS = ElasticNet([0.3, 0.8])
GOOD = {"X": X, "y": Y, "kernel": Gaussian(1.5), "penalty": Lasso(), "nu": 1e-2, "n_taus": 2}
# One sentence: what was given, what is allowed or to be done.
SENTENCE = r"\A[^\n]+; [^\n]+\.\Z|\A[^\n]+: [^\n]+\.\Z|\A[^\n]+, but [^\n]+\.\Z"


def with_value(array: np.ndarray, value: float) -> np.ndarray:
    changed = array.copy()
    changed.flat[3] = value
    return changed


BAD_SAMPLES = {
    "X is sparse": {"X": csr_array(X)},
    "X is a dict": {"X": {"a": X[:, 0]}},
    "X is a vector": {"X": X[:, 0]},
    "X has three dimensions": {"X": X[None]},
    "X has no columns": {"X": X[:, :0]},
    "X has no rows": {"X": X[:0], "y": Y[:0]},
    "X has NaN": {"X": with_value(X, np.nan)},
    "X is infinite": {"X": with_value(X, -np.inf)},
    "X is text": {"X": np.full((N, D), "one")},
    "X is mixed": {"X": [[1.0, "b"], [2.0, 3.0]], "y": [1.0, 2.0]},
    "X is ragged": {"X": [[1.0, 2.0], [3.0]], "y": [1.0, 2.0]},
    "X has one row": {"X": X[:1], "y": Y[:1]},
    "X is complex": {"X": X + 1j},
    "two columns have one name": {"X": pd.DataFrame(X, columns=["a", "b", "a"])},
    "nu is negative": {"nu": -1e-3},
    "nu is NaN": {"nu": np.nan},
    "nu is infinite": {"nu": np.inf},
    "nu is text": {"nu": "small"},
    "nu is true": {"nu": True},
    "kernel is no kernel": {"kernel": "round"},
    "kernel is a class": {"kernel": Gaussian},
    "too many widths": {"kernel": Gaussian((1.0, 2.0, 3.0, 4.0))},
    "representation is unknown": {"representation": "fourier"},
    "representation does not fit the kernel": {"representation": "monomial"},
    "s1 is unknown": {"s1": "qr"},
    "s1 is unknown to none": {"s1": "qr", "representation": "matrix-free"},
    "standardize is text": {"standardize": "no"},
    "max_memory is text": {"max_memory": "1GB"},
    "the seed is negative": {"value_points": 3, "random_state": -1},
    "the seed is text": {"value_points": 3, "random_state": "a"},
    "the checkpoint is nowhere": {"kernel": Linear(), "checkpoint": "no/such/folder/sums.npz"},
    "X is masked and complex": {"X": np.ma.masked_array(X + 1j)},
    "X is masked text": {"X": np.ma.masked_array(np.full((N, D), "one"))},
    "X is masked": {"X": np.ma.masked_less(X, 0.0)},
    "X has no value": {"X": pd.DataFrame(X).astype("Float64").mask(X < 0)},
    "nothing is determined without nu": {"nu": 0},
    "nor by a factor": {"nu": 0, "representation": "factor"},
    "nor by the derivatives": {"nu": 0, "representation": "derivative", "kernel": Linear()},
    "fewer samples than monomials and no nu": {"nu": 0, "kernel": Polynomial(3)},
}
BAD_CALLS = {
    "y is too short": {"y": Y[:-1]},
    "y is too long": {"y": np.append(Y, 0.0)},
    "y is a matrix": {"y": np.column_stack([Y, Y])},
    "y is one number": {"y": 3.0},
    "y has NaN": {"y": with_value(Y, np.nan)},
    "y is infinite": {"y": with_value(Y, np.inf)},
    "y is text": {"y": list("abcdefgh")},
    "y is missing": {"y": None},
    "tau is negative": {"taus": [0.1, -0.1]},
    "tau is NaN": {"taus": [0.1, np.nan]},
    "tau is infinite": {"taus": [np.inf]},
    "tau is text": {"taus": ["a"]},
    "no tau": {"taus": []},
    "taus are a matrix": {"taus": [[0.1, 0.2]]},
    "n_taus is 0": {"n_taus": 0},
    "n_taus is negative": {"n_taus": -3},
    "n_taus is a fraction": {"n_taus": 2.5},
    "n_taus is NaN": {"n_taus": np.nan},
    "n_taus is infinite": {"n_taus": np.inf},
    "n_taus is text": {"n_taus": "many"},
    "tau_ratio is 0": {"tau_ratio": 0.0},
    "tau_ratio is 1": {"tau_ratio": 1.0},
    "tau_ratio is NaN": {"tau_ratio": np.nan},
    "tol is 0": {"tol": 0.0},
    "tol is negative": {"tol": -1e-6},
    "tol is 1": {"tol": 1.0},
    "tol is NaN": {"tol": np.nan},
    "tol is text": {"tol": "tight"},
    "max_iter is 0": {"max_iter": 0},
    "max_iter is a fraction": {"max_iter": 10.5},
    "max_iter is infinite": {"max_iter": np.inf},
    "max_iter is NaN": {"max_iter": np.nan},
    "center is text": {"center": "no"},
    "quadratic is unknown": {"quadratic": "S3"},
    "penalty is no penalty": {"penalty": "ridge"},
    "penalty is a class": {"penalty": Lasso},
    "a label is missing": {"penalty": GroupLasso(["a", "b"])},
    "groups overlap": {"penalty": GroupLasso({"a": [0, 1], "b": [1, 2]})},
    "a group has the name of an input without one": {"penalty": GroupLasso({"x2": [0, 1]})},
    "a group names an unknown input": {"penalty": GroupLasso({"a": [0, 1], "b": ["x7"]})},
    "too few weights": {"penalty": Lasso(weights=[1.0, 2.0])},
    "no grid without weight": {"penalty": Lasso(weights=[0.0, 1.0, 1.0])},
    "no grid without norms": {"penalty": ElasticNet(0.0)},
}


@pytest.mark.parametrize("bad", BAD_SAMPLES | BAD_CALLS)
def test_bad_input_is_refused_in_one_sentence(bad: str) -> None:
    arguments = GOOD | (BAD_SAMPLES | BAD_CALLS)[bad]
    with pytest.raises(ValueError, match=SENTENCE):
        nvsd.nvsd_path(arguments.pop("X"), arguments.pop("y"), **arguments)


@pytest.mark.parametrize("bad", BAD_SAMPLES)
def test_bad_samples_are_refused_by_prepare(bad: str) -> None:
    arguments = {name: GOOD[name] for name in ("X", "kernel", "nu")} | BAD_SAMPLES[bad]
    arguments.pop("y", None)
    with pytest.raises(ValueError, match=SENTENCE):
        nvsd.prepare(arguments.pop("X"), **arguments)


@pytest.mark.parametrize("fixed", [{"kernel": Linear()}, {"nu": 0.1}, {"standardize": True}])
def test_what_prepare_fixed_cannot_be_given_again(fixed: dict) -> None:
    prepared = nvsd.prepare(X, kernel=Gaussian(1.5))
    with pytest.raises(ValueError, match=f"{next(iter(fixed))} was set by prepare"):
        nvsd.nvsd_path(prepared, Y, **fixed)


def test_a_prepared_problem_checks_the_target() -> None:
    prepared = nvsd.prepare(X, kernel=Gaussian(1.5))
    for y in (Y[:-1], with_value(Y, np.nan), None):
        with pytest.raises(ValueError, match=SENTENCE):
            nvsd.nvsd_path(prepared, y)


def test_good_input_of_other_types() -> None:
    expected = nvsd.nvsd_path(X, Y, kernel=Linear(), n_taus=3)
    rows = range(5, 5 + N)
    for points, target in [
        (X.tolist(), Y.tolist()),
        (pd.DataFrame(X, rows, ["x0", "x1", "x2"]), pd.Series(Y, rows)),
        (np.asfortranarray(X), Y[:, None]),
    ]:
        path = nvsd.nvsd_path(points, target, kernel=Linear(), n_taus=3)
        assert path.identical(expected)
    integers = nvsd.nvsd_path(
        np.arange(6).reshape(3, 2), [1, 2, 4], kernel=Linear(), n_taus=np.int64(2)
    )
    assert integers.sizes["tau"] == 2


def test_the_input_is_left_alone() -> None:
    points, target = X.copy(), Y.copy()
    for kernel in (Gaussian(1.5), Polynomial(2)):
        nvsd.nvsd_path(points, target, kernel=kernel, n_taus=3, standardize=True)
    np.testing.assert_array_equal(points, X)
    np.testing.assert_array_equal(target, Y)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2)], ids=str)
def test_without_nu_it_works_where_the_samples_determine_f(kernel) -> None:
    points, y = sample(1, 40, 2)
    path = nvsd.nvsd_path(points, y, kernel=kernel, nu=0, taus=[0.3, 0.05], tol=1e-9)
    for i, tau in enumerate(path.tau.values):
        s = reference.solve(points, y, kernel=kernel, penalty=Lasso(), tau=tau, nu=0)
        assert float(path.objective[i]) == pytest.approx(s.objective, abs=1e-6 * y.var())
        np.testing.assert_allclose(
            path.derivative_norm[i], s.derivative_norm, atol=1e-3 * s.derivative_norm.max()
        )
        np.testing.assert_allclose(path.fitted[i], s.fitted, atol=1e-3 * y.std())


def test_without_nu_a_repeated_feature_is_refused() -> None:
    """Forty samples for six monomials, but with a constant input only three of them differ."""
    points, y = sample(1, 40, 2, "column")
    with pytest.raises(ValueError, match=SENTENCE):
        nvsd.nvsd_path(points, y, kernel=Polynomial(2), nu=0)


def test_without_nu_inputs_that_are_all_but_equal_are_refused() -> None:
    points, y = sample(1, 40, 2)
    points[:, 1] = points[:, 0] + 3e-7 * points[:, 1]
    with pytest.raises(ValueError, match="nu = 0 leaves the least-squares part singular"):
        nvsd.nvsd_path(points, y, kernel=Linear(), nu=0)


@pytest.mark.parametrize("kind", ["derivative", "monomial", "factor", "matrix-free"])
def test_a_kernel_beyond_floating_point_numbers_is_refused(kind: str) -> None:
    with pytest.raises(ValueError, match=r"^the values of the kernel are too large .*; standard"):
        nvsd.nvsd_path(1e60 * X, Y, kernel=Polynomial(3), representation=kind)


# Memory.


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((2000, 10), {"kernel": Gaussian(4.0), "max_memory": 1e8}),
        ((2000, 10), {"kernel": Gaussian(4.0), "max_memory": 1e8, "representation": "factor"}),
        ((50, 60), {"kernel": Polynomial(5), "max_memory": 1e8, "representation": "monomial"}),
        ((30_000, 40), {"kernel": Gaussian(4.0)}),  # 34 terabytes
    ],
    ids=str,
)
def test_what_would_not_fit_is_refused_before_it_is_allocated(shape, options, rng) -> None:
    points, y = rng.standard_normal(shape), rng.standard_normal(shape[0])
    tracemalloc.start()
    with pytest.raises(
        ValueError, match=r"would need [\d.]+ GiB but only [\d.]+ GiB are allowed; use "
    ):
        nvsd.nvsd_path(points, y, **options)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 * points.nbytes + 2e6


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": Gaussian(2.0)},
        {"kernel": Polynomial(4), "representation": "monomial"},
        {"kernel": Gaussian(2.0), "representation": "factor"},
    ],
    ids=str,
)
def test_the_estimate_of_memory_is_about_right(options, rng) -> None:
    """What is really used is neither refused at four times as much nor allowed at a third."""
    points, y = rng.standard_normal((80, 10)), rng.standard_normal(80)
    tracemalloc.start()
    nvsd.nvsd_path(points, y, n_taus=2, tol=1e-2, **options)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    nvsd.prepare(points, max_memory=4 * peak, **options)
    with pytest.raises(ValueError, match="would need"):
        nvsd.prepare(points, max_memory=peak / 3, **options)


# Warnings.


def test_running_out_of_iterations_warns_once() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        path = nvsd.nvsd_path(
            X, Y, kernel=Gaussian(1.5), penalty=ElasticNet([0.5, 1.0]), n_taus=9, max_iter=2
        )
    assert len(caught) == 1
    (warning,) = caught
    assert warning.category is ConvergenceWarning
    assert warning.filename == __file__
    unfinished = path.status == Status.MAX_ITER
    message = str(warning.message)
    assert message.startswith(f"{int(unfinished.sum())} tau (")
    assert "2 iterations" in message
    assert "raise max_iter, tol or nu" in message
    listed = message.split("(")[1].split(")")[0].removesuffix(", ...").split(", ")
    taus = {f"{float(tau):.4g}" for tau in path.tau.where(unfinished.any("mu"), drop=True)}
    assert set(listed) <= taus
    assert ((path.gap > 1e-6 * path.attrs["scale"]) == unfinished).all()
    assert (path.n_iter.where(unfinished, 2) == 2).all()


def test_a_converged_path_does_not_warn() -> None:
    path = nvsd.nvsd_path(X, Y, kernel=Gaussian(1.5), n_taus=9)
    assert set(path.status.values.tolist()) <= {Status.CONVERGED, Status.CLOSED_FORM}


def test_a_progress_bar_only_where_it_is_asked_for(capsys) -> None:
    nvsd.nvsd_path(X, Y, kernel=Gaussian(1.5), n_taus=3)
    nvsd.nvsd_path(X, Y, kernel=Gaussian(1.5), n_taus=3, progress=False)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == ""
    nvsd.nvsd_path(X, Y, kernel=Gaussian(1.5), n_taus=3, progress=True)
    assert capsys.readouterr().out == ""  # a bar goes to the error stream


# What is taken besides arrays.


def test_a_data_array_names_its_inputs() -> None:
    labelled = xr.DataArray(X, dims=("row", "sensor"), coords={"sensor": ["a", "b", "c"]})
    path = nvsd.nvsd_path(**GOOD | {"X": labelled})
    assert path.feature.values.tolist() == ["a", "b", "c"]
    plain = nvsd.nvsd_path(**GOOD | {"X": xr.DataArray(X)})
    assert plain.identical(nvsd.nvsd_path(**GOOD))
    np.testing.assert_array_equal(path.beta, plain.beta)
    pytest.importorskip("dask")
    given = {"kernel": Polynomial(2), "penalty": GroupLasso({"one": ["a", "c"], "two": ["b"]})}
    lazy = nvsd.nvsd_path(labelled.chunk(row=3), Y, n_taus=3, **given)
    assert lazy.feature.values.tolist() == ["a", "b", "c"]


def test_blocks_whose_labels_differ_are_refused() -> None:
    labelled = xr.DataArray(X, dims=("row", "sensor"), coords={"sensor": ["a", "b", "c"]})
    turned = labelled.sel(sensor=["c", "b", "a"])
    given = {"kernel": Polynomial(2), "n_taus": 3}
    assert nvsd.nvsd_path([(labelled[:4], Y[:4]), (labelled[4:], Y[4:])], **given).sizes["tau"] == 3
    with pytest.raises(ValueError, match="block 1 has other inputs than block 0"):
        nvsd.nvsd_path([(labelled[:4], Y[:4]), (turned[4:], Y[4:])], **given)
    with pytest.raises(ValueError, match="block 1 has no y; give pairs"):
        nvsd.nvsd_path([(X[:4], Y[:4]), (X[4:], None)], **given)


def test_paths_of_several_kernels_along_tau_predict_nothing() -> None:
    paths = [nvsd.nvsd_path(X, Y, kernel=Gaussian(w), taus=[0.1]) for w in (1.0, 2.0)]
    joined = xr.concat(paths, "tau", data_vars="all", coords="different", compat="equals")
    with pytest.raises(ValueError, match="joins paths of several kernels; take"):
        joined.nvsd.predict(X)


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Polynomial(2)], ids=str)
def test_y_can_be_given_to_prepare(kernel) -> None:
    prepared = nvsd.prepare(X, y=Y, kernel=kernel, nu=1e-2)
    once = nvsd.nvsd_path(prepared, n_taus=3)
    assert once.identical(nvsd.nvsd_path(X, Y, kernel=kernel, nu=1e-2, n_taus=3))
    other = nvsd.nvsd_path(prepared, 2 * Y, n_taus=3)
    np.testing.assert_allclose(other.tau, 2 * once.tau, rtol=1e-6)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2)], ids=str)
def test_without_nu_a_factor_certifies_too(kernel) -> None:
    many, target = sample(1, 20, 2)
    paths = [
        nvsd.nvsd_path(many, target, kernel=kernel, nu=0, representation=kind, taus=[0.3, 0.1])
        for kind in ("factor", "monomial")
    ]
    for path in paths:
        assert (path.gap.values <= 1e-6 * path.attrs["scale"]).all()
        assert is_certified(path.status.values).all()
    apart = abs(paths[0].objective - paths[1].objective)
    assert (apart <= paths[0].gap + paths[1].gap + 1e-12).all()


def test_more_tau_than_fit_in_memory_are_refused() -> None:
    with pytest.raises(ValueError, match=r"a path of 4000 functions would need .* fewer tau"):
        nvsd.nvsd_path(**GOOD | {"n_taus": 4000, "max_memory": 2e6})


def test_memory_in_a_container_is_what_is_left_of_its_limit(tmp_path) -> None:
    assert _left_in_container(str(tmp_path)) == np.inf
    (tmp_path / "memory.current").write_text("700\n")
    (tmp_path / "memory.stat").write_text("anon 600\ninactive_file 50\n")
    for limit, left in (("max\n", np.inf), ("1000\n", 350.0), ("600\n", 0.0)):
        (tmp_path / "memory.max").write_text(limit)
        assert _left_in_container(str(tmp_path)) == left


# --- memory --------------------------------------------------------------------------------------


def test_what_prepare_allows_holds_for_paths_too() -> None:
    """Thousands of τ have vectors of size nd each."""
    allowed = 1e6
    prepared = nvsd.prepare(X, kernel=Gaussian(2.0), max_memory=allowed)
    assert prepared.max_memory == allowed
    message = r"a path of 5000 functions would need .* GiB .* are allowed; give fewer tau or mu"
    with pytest.raises(ValueError, match=message):
        nvsd.nvsd_path(prepared, Y, n_taus=5000)
    with pytest.raises(ValueError, match=message):
        nvsd.nvsd_path(prepared, Y, taus=np.geomspace(1.0, 1e-3, 2500), penalty=MUS)
    with pytest.raises(ValueError, match=message):
        nvsd.nvsd_path(X, Y, kernel=Gaussian(2.0), n_taus=5000, max_memory=allowed)
    assert nvsd.nvsd_path(prepared, Y, n_taus=4).sizes["tau"] == 4
    with pytest.raises(ValueError, match="max_memory was set by prepare"):
        nvsd.nvsd_path(prepared, Y, n_taus=5000, max_memory=1e12)


def test_without_a_limit_the_free_memory_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = nvsd.prepare(X, kernel=Gaussian(2.0))
    generous = nvsd.prepare(X, kernel=Gaussian(2.0), max_memory=np.inf)
    monkeypatch.setattr("nvsd.machine.available_memory", lambda: 1e5)
    with pytest.raises(ValueError, match="a path of 60 functions would need"):
        nvsd.nvsd_path(prepared, Y, n_taus=60)
    assert nvsd.nvsd_path(generous, Y, n_taus=60, tol=1e-2).sizes["tau"] == 60
