from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from file_problems import refusal, table
from hypothesis import given
from hypothesis import strategies as st

import nvsd
from nvsd.files import (
    check_output,
    read_path,
    write_bytes,
    write_dataset,
    write_text,
)
from nvsd.kernels import Gaussian, Polynomial
from nvsd.results.refits import refit_dataset
from nvsd.ridge.dense import fit_ridge


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module")
def path() -> xr.Dataset:
    data = nvsd.datasets.make_e1(12, 0)
    X = pd.DataFrame(data.X[:, :4], columns=["x $1", "x,2", "x\n3", 'x"4'])
    return nvsd.nvsd_path(X, data.y, kernel=Gaussian(4.0), n_taus=4, tol=1e-3)


# --- writing -----------------------------------------------------------------------------------


def test_a_file_is_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move = os.replace
    place = tmp_path / "result.txt"
    write_text(place, "first")
    place.chmod(0o640)
    seen = []
    monkeypatch.setattr(
        os, "replace", lambda a, b: (seen.append((a, place.read_text())), move(a, b))
    )
    write_bytes(place, b"second")
    (temporary, before), *_ = seen
    assert before == "first"
    assert temporary.parent == place.parent
    assert temporary.suffix == place.suffix
    assert place.read_text() == "second"
    assert stat.S_IMODE(place.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["result.txt"]


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    write_text(tmp_path / "new", "text")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file(
    tmp_path: Path, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "result.txt"
    place.write_text("old")

    def fail(_: int) -> None:
        raise error

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(type(error)):
        write_bytes(place, b"half")
    assert place.read_text() == "old"
    assert os.listdir(tmp_path) == ["result.txt"]


def test_a_failing_rename_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "result.txt"
    place.write_text("old")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError):
        write_text(place, "new")
    assert place.read_text() == "old"
    assert os.listdir(tmp_path) == ["result.txt"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    place, link = tmp_path / "result.txt", tmp_path / "link.txt"
    place.write_text("old")
    link.symlink_to(place)
    write_text(link, "new")
    assert link.is_symlink()
    assert place.read_text() == "new"


def test_what_cannot_be_written_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "not a regular file" in refusal(check_output, tmp_path)
    assert "not a regular file" in refusal(check_output, "/dev/null")
    assert "does not exist" in refusal(check_output, tmp_path / "none" / "a.nc")
    assert "'.nc'" in refusal(check_output, tmp_path / "a.txt", [".nc"])
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "cannot be written" in refusal(check_output, tmp_path / "a.nc")


def test_a_full_disk_leaves_the_old_path(tmp_path: Path, path: xr.Dataset) -> None:
    """A limit on the size of files makes the real writer fail half-way."""
    place, source = tmp_path / "path.nc", tmp_path / "source.nc"
    write_dataset(source, path)
    place.write_text("old")
    program = (
        "import sys, xarray as xr\n"
        "from nvsd.files import read_path, write_dataset\n"
        "write_dataset(sys.argv[2], read_path(sys.argv[1]))\n"
    )

    def small_files_only() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    done = subprocess.run(
        [sys.executable, "-c", program, str(source), str(place)],
        preexec_fn=small_files_only, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.decode().strip().splitlines()[-1].startswith("OSError")
    assert place.read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["path.nc", "source.nc"]


# --- paths -------------------------------------------------------------------------------------


def test_a_path_comes_back_as_it_was(tmp_path: Path, path: xr.Dataset) -> None:
    write_dataset(tmp_path / "path.nc", path)
    back = read_path(tmp_path / "path.nc")
    xr.testing.assert_identical(back, path)
    X = np.ones((3, 4))
    np.testing.assert_array_equal(back.nvsd.predict(X).values, path.nvsd.predict(X).values)


def test_a_path_of_monomials_comes_back(tmp_path: Path) -> None:
    data = nvsd.datasets.make_e1(40, 0)
    path = nvsd.nvsd_path(
        data.X[:, :3], data.y, kernel=Polynomial(2), n_taus=3, representation="monomial"
    )
    write_dataset(tmp_path / "path.nc", path)
    xr.testing.assert_identical(read_path(tmp_path / "path.nc"), path)


def test_unknown_variables_are_left_out(tmp_path: Path, path: xr.Dataset) -> None:
    write_dataset(tmp_path / "path.nc", path.assign(extra=("other", [1.0, 2.0])))
    assert "extra" not in read_path(tmp_path / "path.nc").variables


@pytest.mark.parametrize("content", [b"", b"\x89HDF\r\n\x1a\n", b"CDF\x01", b"no netCDF" * 50])
def test_what_is_no_netcdf_is_refused(tmp_path: Path, content: bytes) -> None:
    assert "data.nc" in refusal(read_path, table(tmp_path, content, "data.nc"))


@given(st.data())
def test_a_truncated_path_is_refused(folder: Path, path: xr.Dataset, data: st.DataObject) -> None:
    whole = folder / "whole.nc"
    if not whole.exists():
        write_dataset(whole, path)
    content = whole.read_bytes()
    end = data.draw(st.integers(0, len(content) - 1))
    refusal(read_path, table(folder, content[:end], "part.nc"))


def test_other_netcdf_files_are_refused(tmp_path: Path) -> None:
    xr.Dataset({"rain": ("day", [1.0, 2.0])}).to_netcdf(tmp_path / "rain.nc", engine="h5netcdf")
    sentence = refusal(read_path, tmp_path / "rain.nc")
    assert "is not a path" in sentence


def damaged(path: xr.Dataset, how: str) -> xr.Dataset:
    bad = path.copy(deep=True)
    if how == "kernel":
        return bad.assign_coords(kernel='{"Popen": {"args": ["touch", "x"]}}')
    if how == "nan":
        bad["alpha"][0, 0] = np.nan
    elif how == "text":
        bad["alpha"] = bad["alpha"].astype(str)
    elif how == "dims":
        bad["x_mean"] = ("sample", np.zeros(bad.sizes["sample"]))
    elif how == "order":
        return bad.isel(tau=slice(None, None, -1))
    elif how == "numbers":
        return bad.assign_coords(feature=[1, 2, 3, 4])
    elif how == "names":
        return bad.assign_coords(feature=["a", "a", "b", "c"])
    elif how == "scale":
        bad["x_scale"][:] = 0.0
    elif how == "function":
        return bad.drop_vars(["alpha", "beta"])
    return bad


@pytest.mark.parametrize(
    "how", ["kernel", "nan", "text", "dims", "order", "numbers", "names", "scale", "function"]
)
def test_damaged_paths_are_refused(tmp_path: Path, path: xr.Dataset, how: str) -> None:
    damaged(path, how).to_netcdf(tmp_path / "bad.nc", engine="h5netcdf")
    assert "bad.nc" in refusal(read_path, tmp_path / "bad.nc")
    assert os.listdir(tmp_path) == ["bad.nc"]


def test_a_path_that_does_not_fit_into_memory_is_refused(
    tmp_path: Path, path: xr.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_dataset(tmp_path / "path.nc", path)
    monkeypatch.setattr("nvsd.machine.available_memory", lambda: 1000.0)
    with pytest.raises(MemoryError, match="GiB"):
        read_path(tmp_path / "path.nc")


@pytest.mark.parametrize("support", [[True, False, True], [True] * 3, [False] * 3])
def test_a_refit_comes_back_with_its_inputs_only(
    tmp_path: Path, rng: np.random.Generator, support: list[bool]
) -> None:
    """Standardised, with one width per input."""
    X, y = 5 + 2 * rng.standard_normal((9, 3)), rng.standard_normal(9)
    mask, mean, scale = np.array(support), X.mean(axis=0), X.std(axis=0)
    fit = fit_ridge((X - mean) / scale, y, Gaussian((1.0, 2.0, 3.0)), [1e-2], mask)
    features, norms = ("a $", "b,", "c\n"), np.where(mask, [3.0, 2.0, 1.0], 0.0)
    attrs = {"method": "rank", "score": 0.5}
    dataset = refit_dataset(fit, features, None, mean, scale, norms, attrs)
    write_dataset(tmp_path / "model.nc", dataset)
    model = read_path(tmp_path / "model.nc")
    used = mask if any(support) else np.ones(3, dtype=bool)
    assert model.feature.values.tolist() == np.array(features)[used].tolist()
    new = 5 + rng.standard_normal((4, 3))
    scaled = (new - mean) / scale
    np.testing.assert_allclose(model.nvsd.predict(new[:, used]).values, fit.predict(scaled)[0])
    gradient = fit.gradient(scaled)[0][used] / scale[used, None]
    np.testing.assert_allclose(model.nvsd.gradient(new[:, used]).values, gradient)
    assert int(model.n_selected) == sum(support)
    assert (model.attrs["method"], model.attrs["score"]) == ("rank", 0.5)
