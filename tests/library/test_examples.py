from __future__ import annotations

import os
import runpy
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import nvsd
import nvsd.progress

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # Without a screen matplotlib warns that it cannot show anything.
    monkeypatch.setattr(plt, "show", lambda: None)


def test_the_demo_finds_the_right_inputs_and_groups(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvsd.progress, "DELAY", 0.0)  # the path may take no longer
    demo = runpy.run_path(str(EXAMPLES / "demo.py"), run_name="__main__")
    printed, bar = capsys.readouterr()
    assert "light, water, temperature, soil: found." in printed
    assert "g1 and g3 are on." in printed
    assert max(map(len, printed.splitlines())) <= 80
    assert "select" in bar
    assert "path" in bar
    pictures = ["path.png", "selection.png"]
    files = [*pictures, "path.nc", "selection.html", "selection.nc"]
    assert sorted(os.listdir(tmp_path)) == sorted(files)
    for picture in pictures:
        assert (tmp_path / picture).stat().st_size < 150_000
    path = xr.load_dataset("path.nc", engine="h5netcdf")
    assert (path.gap <= path.attrs["tol"] * path.attrs["scale"]).all()
    assert sorted(nvsd.load_selection("selection.nc").selected) == sorted(demo["TRUTH"])
    plt.close("all")


@pytest.mark.parametrize("picture", ["path.png", "selection.png"])
def test_the_readme_shows_a_small_picture(picture: str) -> None:
    file = ROOT / "docs" / "images" / picture
    assert file.stat().st_size < 150_000
    assert plt.imread(file).shape[1] > 600


def test_from_a_table_to_plots(capsys: pytest.CaptureFixture[str]) -> None:
    found = runpy.run_path(str(EXAMPLES / "which_inputs.py"))
    assert set(found["selection"].selected) == {
        "outside [°C]", "floor area [m²]", "insulation [cm]", "residents",
    }  # fmt: skip
    residual = found["y_new"] - found["predicted"]
    assert np.mean(residual**2) < 0.2 * found["y_new"].var()
    assert len(plt.get_fignums()) == 5
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()
    plt.close("all")
    assert "floor area" in capsys.readouterr().out
