"""Files that have changed since they were written."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr

import nvsd
from nvsd.files import read_path, write_dataset


def test_a_flipped_bit_changes_nothing_that_is_read(tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((20, 2))
    path = nvsd.nvsd_path(X, X[:, 0], n_taus=3)
    place = tmp_path / "path.nc"
    write_dataset(place, path)
    content, refused = place.read_bytes(), 0
    for bit in range(0, 8 * len(content), 8 * len(content) // 200):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        place.write_bytes(changed)
        try:
            found = read_path(place)
        except ValueError as error:
            refused += "path.nc" in str(error)
        else:
            for name in ("alpha", "beta", "points", "x_scale", "kernel", "gap", "tau"):
                assert found[name].equals(path[name])
    assert refused > 20
    place.write_bytes(content)
    assert read_path(place).identical(path)


def test_parts_of_a_path_that_users_write_can_be_read(tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((20, 2))
    write_dataset(tmp_path / "path.nc", nvsd.nvsd_path(X, X[:, 0], n_taus=3))
    half = xr.load_dataset(tmp_path / "path.nc", engine="h5netcdf").isel(tau=[0, 1])
    half.to_netcdf(tmp_path / "half.nc", engine="h5netcdf")
    assert read_path(tmp_path / "half.nc").sizes["tau"] == 2
    turned = half.isel(feature=[1, 0])
    turned.to_netcdf(tmp_path / "turned.nc", engine="h5netcdf")
    assert read_path(tmp_path / "turned.nc").identical(
        turned.drop_attrs(deep=False).assign_attrs(
            {name: value for name, value in turned.attrs.items() if name != "checksum"}
        )
    )


@pytest.mark.parametrize("name", ["alpha", "n_samples"])
def test_edited_numbers_are_refused(tmp_path: Path, name: str) -> None:
    X = np.random.default_rng(0).standard_normal((20, 2))
    place = tmp_path / "path.nc"
    write_dataset(place, nvsd.nvsd_path(X, X[:, 0], n_taus=3))
    with h5py.File(place, "r+") as file:
        if name == "alpha":
            file[name][0, 0] = 1e308
        else:
            file.attrs[name] = 7
    with pytest.raises(ValueError, match=r"path.nc is a damaged path"):
        read_path(place)
