"""Files that have changed since they were written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import nvsd
from nvsd.files import read_path, write_dataset


def test_a_flipped_bit_is_damage_and_a_file_that_xarray_wrote_is_not(tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((20, 2))
    path = nvsd.nvsd_path(X, X[:, 0], n_taus=3)
    place = tmp_path / "path.nc"
    write_dataset(place, path)
    content = place.read_bytes()
    for bit in range(0, 8 * len(content) - 800, 8 * len(content) // 50):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        place.write_bytes(changed)
        with pytest.raises(ValueError, match="path.nc"):
            read_path(place)
    place.write_bytes(content)
    assert read_path(place).identical(path)
    half = xr.load_dataset(place, engine="h5netcdf").isel(tau=[0, 1])
    half.to_netcdf(tmp_path / "half.nc", engine="h5netcdf")
    assert read_path(tmp_path / "half.nc").sizes["tau"] == 2
