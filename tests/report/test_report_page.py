"""The report as a file: what it may load and run, how it is written, its colours."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import example, given, settings
from hypothesis import strategies as st
from report_problems import HOSTILE, Parsed, content

from nvsd.report import report_html, write_report

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def path() -> xr.Dataset:
    return two_points(["a", "b", "c"])


def two_points(names: list[str]) -> xr.Dataset:
    """The least that is a path, with these names of inputs."""
    norms = np.eye(2, len(names))
    coords = {"tau": [1.0, 0.5], "feature": np.array(names, dtype=object)}
    path = xr.Dataset(
        {
            "derivative_norm": (("tau", "feature"), norms),
            "support": (("tau", "feature"), norms > 0),
            "n_selected": ("tau", [1, 1]),
        },
        coords=coords,
    )
    return path.assign_coords(group=("feature", coords["feature"]))


def test_nothing_is_loaded_and_only_our_script_may_run(path: xr.Dataset) -> None:
    text = report_html(path)
    parsed = Parsed(text)
    for _, attributes in parsed.tags:
        for name in ("src", "href", "action", "data", "srcset"):
            link = attributes.get(name) or "#"
            assert link.startswith(("#", "data:"))
        assert not [name for name in attributes if name.startswith("on")]
    outside = set(re.findall(r"https?://[^\s\"'`]+|@import|url\(", text))
    assert outside == {"http://www.w3.org/2000/svg"}
    policy = next(a["content"] for _, a in parsed.tags if a.get("http-equiv")) or ""
    assert "default-src 'none'" in policy
    for tag in ("style", "script"):
        body = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.S)
        assert body is not None
        digest = base64.b64encode(hashlib.sha256(body[1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_the_script_never_makes_markup_from_text() -> None:
    script = "".join(file.read_text() for file in (ROOT / "nvsd" / "report").glob("*.js"))
    for dangerous in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                      "new Function", "fetch(", "XMLHttpRequest", "import("):  # fmt: skip
        assert dangerous not in script


@settings(max_examples=40)
@given(st.lists(st.text(max_size=20), min_size=1, max_size=5, unique=True), st.text(max_size=20))
@example(HOSTILE, "</title><script>alert(1)</script>{{data}}\ud800")
@example(["a"], "{{script}}")
def test_names_are_data_and_never_markup(names: list[str], title: str) -> None:
    if find_spec("pyarrow"):  # then pandas, and so a Dataset, cannot hold a lone surrogate
        names = [name.encode(errors="replace").decode() for name in names]
    plain = report_html(two_points([f"x{a}" for a in range(len(names))]), title="title")
    text = report_html(two_points(names), title=title)
    text.encode("utf-8")
    assert content(text)["features"] == names
    assert Parsed(text).tags == Parsed(plain).tags
    assert plain.count("<script") == text.count("<script") == 2


def test_written_as_a_whole_or_not_at_all(
    path: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "report.html"
    assert write_report(path, str(out)) == out
    assert out.read_text(encoding="utf-8") == report_html(path)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]

    def refuse(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("os.replace", refuse)
    before = out.read_bytes()
    with pytest.raises(OSError, match="no space"):
        write_report(path, out, title="another")
    assert out.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(ValueError, match="does not exist"):
        write_report(path, tmp_path / "missing" / "report.html")


# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
BLINDNESS = {
    "none": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
         [-0.01182, 0.04294, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
         [0.004733, 0.691367, 0.3039]]
    ),
}  # fmt: skip


def linear_rgb(colour: str) -> np.ndarray:
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    xyz = to_xyz @ np.clip(rgb, 0, 1) / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(first: str, second: str) -> float:
    luminance = [float(linear_rgb(c) @ [0.2126, 0.7152, 0.0722]) for c in (first, second)]
    return (max(luminance) + 0.05) / (min(luminance) + 0.05)


@pytest.mark.parametrize("theme", [0, 1])
def test_colours_can_be_told_apart(theme: int) -> None:
    style = (ROOT / "nvsd" / "report" / "style.css").read_text()
    pairs = dict(re.findall(r"--(\w+): light-dark\((#\w+, #\w+)\)", style))
    paper, ink, muted, good, bad, accent = (
        pairs[name].split(", ")[theme]
        for name in ("paper", "ink", "muted", "good", "bad", "accent")
    )
    for text in (ink, muted, good, bad, accent):
        assert contrast(text, paper) >= 4.5
    found = re.findall(r"\.c\d \{ --series: light-dark\((#\w+), (#\w+)\)", style)
    series = [pair[theme] for pair in found]
    assert len(series) == 7
    for colour in series:
        assert contrast(colour, paper) >= 3.0
    for matrix in BLINDNESS.values():
        seen = [lab(matrix @ linear_rgb(colour)) for colour in series]
        distance = [np.linalg.norm(u - v) for u, v in itertools.combinations(seen, 2)]
        # Ten is a difference at a glance; lines are thin.
        assert min(distance) >= 14


def test_the_wheel_holds_the_page(tmp_path: Path) -> None:
    wheel = pytest.importorskip("hatchling.builders.wheel")
    (built,) = wheel.WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(built) as archive:
        inside = set(archive.namelist())
    needed = {
        f"nvsd/report/{file.name}"
        for kind in ("*.js", "*.css", "*.html")
        for file in (ROOT / "nvsd" / "report").glob(kind)
    }
    assert len(needed) >= 7
    assert needed <= inside
