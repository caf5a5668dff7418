"""Progress bars where people see them; versions for reports of bugs; how to cite."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

import nvsd
from nvsd import progress
from nvsd.progress import in_notebook, progress_bar

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY", 0)


def shown(given: bool | None, total: int | None, capsys: pytest.CaptureFixture[str]) -> str:
    with progress_bar(given, total, "fits", "fold") as tick:
        for _ in range(3):
            tick(1)
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_it_says_how_many_of_how_many_and_the_time_left(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = shown(True, 3, capsys)
    assert "fits: 0 of 3 folds" in text
    assert re.search(r"fits: 3 of 3 folds \|.*\| 00:00 left", text)
    assert "fits: 3 folds, 00:00" in shown(True, None, capsys)
    assert shown(False, 3, capsys) == ""


def test_by_default_at_a_terminal_and_in_notebooks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert shown(None, 3, capsys) == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert "of 3 folds" in shown(None, 3, capsys)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    assert not in_notebook()
    for config, there in (({"IPKernelApp": {}}, True), ({"TerminalIPythonApp": {}}, False)):
        shell = SimpleNamespace(config=config)
        monkeypatch.setitem(
            sys.modules, "IPython", SimpleNamespace(get_ipython=lambda shell=shell: shell)
        )
        assert in_notebook() == there
        assert ("of 3 folds" in shown(None, 3, capsys)) == there


def test_versions(capsys: pytest.CaptureFixture[str]) -> None:
    nvsd.show_versions()
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["nvsd"] == nvsd.__version__
    assert lines["python"] == ".".join(map(str, sys.version_info[:3]))
    for name in ("numpy", "scipy", "scikit-learn", "xarray"):
        assert re.match(r"\d+\.\d+", lines[name])
    assert "blas" in lines


def test_the_citation_is_of_this_version() -> None:
    text = (ROOT / "CITATION.cff").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"version: {project['version']}\n" in text
    assert f"license: {project['license']}\n" in text
    assert text.startswith("cff-version: 1.2.0\n")


SCRIPT = """
import numpy as np
import nvsd
nvsd.progress.DELAY = 0
rng = np.random.default_rng(0)
X = rng.standard_normal((30, 3))
y = X[:, 0] + 0.1 * rng.standard_normal(30)
selection = nvsd.select(X, y, cv=2)
selection.p_values
nvsd.nvsd_path(X, y, n_taus=4)
nvsd.select(X, y, cv=2, progress=False).p_values
print("done")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are of Unix")
def test_a_script_shows_bars_at_a_terminal_and_nothing_elsewhere() -> None:
    import os
    import pty

    main, terminal = pty.openpty()  # of a size that is not known
    command = [sys.executable, "-c", SCRIPT]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=terminal, cwd=ROOT, env=env
    ) as process:
        os.close(terminal)
        shown = b""
        while True:
            try:
                part = os.read(main, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
        assert process.stdout is not None
        assert process.stdout.read() == b"done\n"
    os.close(main)
    text = shown.decode()
    for bar in ("select: 4 of 4 steps |", "tests: 3 of 3 tests |", "path: 4 of 4 taus |"):
        # Once it is complete; progress=False is silent.
        assert re.search(re.escape(bar) + r".*\| 00:00 left", text), text
    assert text.count("tests: 0 of 3") == text.count("select: 0 of 4") == 1
    piped = subprocess.run(command, capture_output=True, cwd=ROOT, env=env, check=True)
    assert piped.stderr == b""
