"""What is published: the wheel and the sdist are valid, and the wheel works with nothing else."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
USED = """
import numpy as np, nvsd
X = np.random.default_rng(0).standard_normal((60, 4))
found = nvsd.select(X, X[:, 1] ** 2, progress=False)
path = nvsd.nvsd_path(X, X[:, 1] ** 2, n_taus=3)
assert found.selected == ["x1"], found.selected
assert float(path.gap.max()) < 1e-6 * path.attrs["scale"]
print(nvsd.__file__)
"""


def run(*command: str | Path, cwd: Path) -> str:
    found = subprocess.run([str(each) for each in command], cwd=cwd, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel made from it."""
    pytest.importorskip("build")
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return folder


@pytest.mark.slow
def test_twine_accepts_both(published: Path) -> None:
    pytest.importorskip("twine")
    files = sorted(published.iterdir())
    assert [file.suffix for file in files] == [".whl", ".gz"]
    run(sys.executable, "-m", "twine", "check", "--strict", *files, cwd=published)


@pytest.mark.slow
def test_the_wheel_works_in_a_bare_environment(published: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", with_pip=True)
    python = tmp_path / "bare" / "bin" / "python"
    (wheel,) = published.glob("*.whl")
    install = ["install", "-qq", "--no-compile", "-c", ROOT / "constraints.txt", wheel]
    run(python, "-m", "pip", *install, cwd=tmp_path)
    assert str(tmp_path) in run(python, "-c", USED, cwd=tmp_path)
    assert "select" in run(tmp_path / "bare" / "bin" / "nvsd", "--help", cwd=tmp_path)
