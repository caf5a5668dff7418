"""The Dataset of a path: what is in it, that it is true, and that it survives being saved."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from path_problems import Case, dense_parts, kernels, penalties, representations, sample

import nvsd
from nvsd.kernels import Gaussian, Kernel, Linear, Polynomial
from nvsd.losses import Loss, Squared
from nvsd.penalties import ElasticNet, GroupLasso, Lasso, Penalty
from nvsd.solvers.status import Status

N, D = 8, 3
NU = 1e-2

# design.md, section 6.
DIMS = {
    "derivative_norm": ("tau", "feature"),
    "derivative_norm_lower": ("tau", "feature"),
    "derivative_norm_upper": ("tau", "feature"),
    "certified_on": ("tau", "feature"),
    "certified_off": ("tau", "feature"),
    "support": ("tau", "feature"),
    "n_selected": ("tau",),
    "objective": ("tau",),
    "loss": ("tau",),
    "penalty": ("tau",),
    "rkhs_norm": ("tau",),
    "gap": ("tau",),
    "primal_residual": ("tau",),
    "dual_residual": ("tau",),
    "kappa": ("tau",),
    "n_iter": ("tau",),
    "status": ("tau",),
}
ON_SAMPLES = {
    "alpha": ("tau", "sample"),
    "beta": ("tau", "feature", "sample"),
    "fitted": ("tau", "sample"),
}

every_kernel = pytest.mark.parametrize("kernel", kernels(D), ids=str)
every_penalty = pytest.mark.parametrize("penalty", penalties(D), ids=str)


@cache
def path_of(kernel: Kernel, penalty: Penalty, kind: str, special: str = "plain", **options):
    X, y = sample(5, N, D, special)
    return nvsd.nvsd_path(
        X, y, kernel=kernel, penalty=penalty, nu=NU, n_taus=5, representation=kind, **options
    )


# It is what it says.


@every_kernel
@every_penalty
def test_objective_and_parts_are_those_of_the_function_returned(kernel, penalty) -> None:
    """Recomputed from alpha and beta, and from theta where there is one, with dense matrices."""
    for special in ("plain", "both"):
        case = Case(*sample(5, N, D, special), kernel, penalty, NU)
        slope = sum(w * np.sqrt(len(index)) for w, index in case.objective.terms.norms)
        for kind in representations(kernel):
            path = path_of(kernel, penalty, kind, special)
            for i in range(path.sizes["tau"]):
                row = path.isel(tau=i)
                for names in ({"alpha", "beta"}, {"theta"}):
                    if names <= set(row):
                        found = dense_parts(case, {name: row[name].values for name in names})
                        check_parts(row, found, case.unit, slope)


def check_parts(row: xr.Dataset, found: dict[str, float], unit: float, slope: float) -> None:
    tau, nu = float(row.tau), float(row.nu)
    exact = 1e-9 * unit + 10 * found["rounding"]
    # The penalty has a kink at 0: derivatives that are rounding errors enter it as they are.
    kink = 10 * slope * found["error"] + 1e-12 * np.sqrt(unit)
    assert float(row.loss) == pytest.approx(found["loss"], abs=exact)
    assert nu * float(row.rkhs_norm) == pytest.approx(nu * found["rkhs_norm"], abs=exact)
    assert float(row.penalty) == pytest.approx(found["penalty"], rel=1e-6, abs=kink)
    total = found["loss"] + tau * found["penalty"] + nu * found["rkhs_norm"]
    assert float(row.objective) == pytest.approx(total, abs=3 * exact + tau * kink, rel=1e-7)


@every_penalty
@every_kernel
def test_the_objective_is_the_sum_of_its_parts(kernel: Kernel, penalty: Penalty) -> None:
    for kind in representations(kernel):
        path = path_of(kernel, penalty, kind)
        total = path.loss + path.tau * path.penalty + path.nu * path.rkhs_norm
        np.testing.assert_allclose(path.objective, total, rtol=1e-14)
        assert (path.gap >= 0).all()
        assert (path.gap <= 1e-6 * path.attrs["scale"]).all()
        # φ is zero off the support, and Zθ differs from it by the primal residual.
        off = path.derivative_norm.where(~path.support, 0.0).max("feature")
        assert (off <= path.primal_residual + 1e-9 * path.derivative_norm.max()).all()
        np.testing.assert_array_equal(path.n_selected, path.support.sum("feature"))


@every_kernel
def test_fitted_values_are_predictions_at_the_samples(kernel: Kernel) -> None:
    X, y = sample(5, N, D)
    for kind in representations(kernel):
        path = path_of(kernel, Lasso(), kind)
        np.testing.assert_allclose(path.nvsd.predict(X), path.fitted, atol=1e-6 * abs(y).max())
        loss = ((path.fitted - y) ** 2).mean("sample")
        np.testing.assert_allclose(loss, path.loss, rtol=1e-8, atol=1e-12 * y.var())


@every_kernel
def test_derivative_norms_are_those_of_the_function(kernel: Kernel) -> None:
    X, _ = sample(5, N, D)
    for kind in representations(kernel):
        path = path_of(kernel, Lasso(), kind)
        norms = np.sqrt((path.nvsd.gradient(X) ** 2).mean("sample"))
        np.testing.assert_allclose(path.derivative_norm, norms, atol=1e-7 * float(norms.max()))


# Schema.


@every_penalty
@pytest.mark.parametrize("kernel", [Gaussian(1.5), Polynomial(3), Linear()], ids=str)
def test_schema(kernel: Kernel, penalty: Penalty) -> None:
    for kind in representations(kernel):
        path = path_of(kernel, penalty, kind)
        check_schema(path)
        assert path.attrs["representation"] == kind
        for name, dims in DIMS.items():
            assert path[name].dims == dims, name
        if "theta" not in path:
            for name, dims in ON_SAMPLES.items():
                assert path[name].dims == dims, name
        else:
            assert path.theta.dims == ("tau", "component")
        assert path.feature.values.tolist() == ["x0", "x1", "x2"]
        assert path.group.values.tolist() == penalty.group_labels(3)
        assert path.nu.dims == ()
        assert float(path.nu) == NU
        if isinstance(penalty, ElasticNet):
            assert float(path.mu) == penalty.mu
        assert Kernel.from_json(path.kernel.item()) == kernel
        assert Penalty.from_json(path.attrs["penalty"]) == penalty


def check_schema(path: xr.Dataset) -> None:
    for name, variable in path.variables.items():
        assert variable.attrs.get("long_name"), name
        assert all(type(value) in (str, int, float) for value in variable.attrs.values()), name
    assert path.attrs
    for name, value in path.attrs.items():
        assert type(value) in (str, int, float), name
        assert not any(word in name for word in ("date", "time", "second", "duration")), name
    assert (np.diff(path.tau) < 0).all()
    assert path.support.dtype == bool
    for name in ("n_selected", "n_iter", "status"):
        assert np.issubdtype(path[name].dtype, np.integer)
    meanings = path.status.attrs["flag_meanings"].split()
    assert meanings == [status.name.lower() for status in Status]
    assert path.status.attrs["flag_values"].split() == [str(int(status)) for status in Status]
    assert Loss.from_json(path.attrs["loss"]) == Squared()
    for name, units in (("objective", "y^2"), ("gap", "y^2"), ("derivative_norm", "y/x")):
        assert path[name].attrs["units"] == units


def test_schema_with_several_mu() -> None:
    X, y = sample(5, N, D)
    path = nvsd.nvsd_path(X, y, kernel=Gaussian(1.5), penalty=ElasticNet([0.3, 0.8]), n_taus=3)
    check_schema(path)
    for name, dims in (DIMS | ON_SAMPLES).items():
        assert path[name].dims == ("mu", *dims), name
    for name in ("points", "x_mean", "x_scale", "y_mean"):
        assert "mu" not in path[name].dims
    assert Penalty.from_json(path.attrs["penalty"]) == ElasticNet([0.3, 0.8])


def test_many_samples_leave_theta_and_no_samples(rng) -> None:
    X = rng.standard_normal((12_000, 2))
    y = X[:, 0] ** 2 + 0.1 * rng.standard_normal(len(X))
    path = nvsd.nvsd_path(X, y, kernel=Polynomial(2), n_taus=3)
    check_schema(path)
    assert "sample" not in path.dims
    assert path.theta.sizes == {"tau": 3, "component": 6}
    assert path.nbytes < 10_000
    residual = path.nvsd.predict(X).values - y
    np.testing.assert_allclose(np.mean(residual**2, axis=1), path.loss, rtol=1e-9)
    assert path.support.values[-1].tolist() == [True, False]


def test_columns_of_a_data_frame_name_the_inputs() -> None:
    X, y = sample(5, N, D)
    frame = pd.DataFrame(X, columns=["age", "size", "mass"])
    penalty = GroupLasso({"body": ["size", "mass"], "time": ["age"]})
    path = nvsd.nvsd_path(frame, pd.Series(y), kernel=Linear(), penalty=penalty, n_taus=3)
    assert path.feature.values.tolist() == ["age", "size", "mass"]
    assert path.group.values.tolist() == ["time", "body", "body"]
    assert "age" in path.sel(tau=path.tau[-1]).where(lambda d: d.support, drop=True).feature


def test_a_constant_input_is_not_selected_with_its_group() -> None:
    """Its derivative is zero on paper; what rounding leaves of it is no support."""
    X, y = sample(8, N, D, "column")
    for kind in ("derivative", "factor"):
        path = nvsd.nvsd_path(
            X, y, kernel=Gaussian(1.5), penalty=GroupLasso(["a", "b", "a"]), representation=kind
        )
        assert path.support.sel(feature="x0").any()
        assert not path.support.sel(feature="x2").any()


# Repeatable, and complete in itself.

SCRIPT = """
import sys, json
import numpy as np, xarray as xr
import nvsd
from nvsd.kernels import Kernel
from nvsd.penalties import Penalty
job = json.load(sys.stdin)
path = xr.load_dataset(job["file"], engine="h5netcdf")
X_new = np.array(job["X_new"])
prediction = {
    "predict": path.nvsd.predict(X_new).values.tolist(),
    "gradient": path.nvsd.gradient(X_new).values.tolist(),
}
again = nvsd.nvsd_path(
    np.array(job["X"]), np.array(job["y"]), kernel=Kernel.from_json(job["kernel"]),
    penalty=Penalty.from_json(job["penalty"]), n_taus=4, representation=job["kind"],
)
again.to_netcdf(job["again"], engine="h5netcdf")
json.dump(prediction, sys.stdout)
"""


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [(k, kind) for k in (Gaussian(1.5), Polynomial(3), Linear()) for kind in representations(k)],
    ids=str,
)
def test_two_runs_are_identical_and_survive_a_file(kernel, kind, tmp_path) -> None:
    X, y = sample(6, N, D)
    for penalty in (ElasticNet([0.3, 1.0]), GroupLasso(["a", "b", "a"])):
        options = {"kernel": kernel, "penalty": penalty, "n_taus": 4, "representation": kind}
        path = nvsd.nvsd_path(X, y, **options)
        xr.testing.assert_identical(path, nvsd.nvsd_path(X.copy(), y.copy(), **options))
        path.to_netcdf(tmp_path / "path.nc", engine="h5netcdf")
        xr.testing.assert_identical(xr.load_dataset(tmp_path / "path.nc", engine="h5netcdf"), path)


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [(Gaussian((1.0, 2.0, 1.5)), "derivative"), (Polynomial(2), "monomial")],
    ids=str,
)
def test_another_process_reads_predicts_and_repeats(kernel, kind, tmp_path, rng) -> None:
    X, y = sample(6, N, D)
    X_new, penalty = rng.standard_normal((4, D)), ElasticNet([0.3, 1.0])
    path = nvsd.nvsd_path(X, y, kernel=kernel, penalty=penalty, n_taus=4, representation=kind)
    file, again = tmp_path / "path.nc", tmp_path / "again.nc"
    path.to_netcdf(file, engine="h5netcdf")
    job = {
        "file": str(file),
        "again": str(again),
        "X": X.tolist(),
        "y": y.tolist(),
        "X_new": X_new.tolist(),
        "kernel": kernel.to_json(),
        "penalty": penalty.to_json(),
        "kind": kind,
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        check=True,
    )
    elsewhere = json.loads(done.stdout)
    np.testing.assert_array_equal(elsewhere["predict"], path.nvsd.predict(X_new))
    np.testing.assert_array_equal(elsewhere["gradient"], path.nvsd.gradient(X_new))
    xr.testing.assert_identical(xr.load_dataset(again, engine="h5netcdf"), path)
