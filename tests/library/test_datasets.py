"""Synthetic problems against their formulas in plain loops, and the loaders of the real ones."""

from __future__ import annotations

import itertools
import math
import os
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

from nvsd.datasets import (
    SOURCES,
    load_real,
    make_e1,
    make_e2,
    make_e3,
    make_logarithm,
    make_quadratic,
    make_sine,
)

MAKERS = [make_e1, make_e2, make_e3]
RELEVANT = [0, 1, 2, 6, 7, 8]


@pytest.mark.parametrize("make", MAKERS)
def test_samples_are_complete_and_seeded(make):
    sample = make(30, 7)
    assert sample.X.shape == (30, 18)
    assert sample.y.shape == (30,)
    assert np.flatnonzero(sample.support).tolist() == RELEVANT
    assert sample.names == [f"x{a}" for a in range(1, 19)]
    for seed in (7, np.random.default_rng(7), np.random.SeedSequence(7)):
        again = make(30, seed)
        assert (again.X == sample.X).all()
        assert (again.y == sample.y).all()
    assert (make(30, 8).X != sample.X).all()


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("n", [0, -3, 2.5, True, "30"])
def test_samples_need_rows(make, n):
    with pytest.raises(ValueError, match=r"n = .* is not allowed; give an integer >= 1\."):
        make(n, 0)


def test_groups():
    triples = [g for g in ("g1", "g2", "g3", "g4", "g5", "g6") for _ in range(3)]
    assert make_e1(5, 0).groups == triples
    assert make_e2(5, 0).groups is None
    assert make_e3(5, 0).groups == triples


def assert_noise(residual):
    """Standard normal times 0.1: four standard errors of the mean and of the deviation."""
    n = len(residual)
    assert abs(residual.mean()) < 4 * 0.1 / math.sqrt(n)
    assert abs(residual.std() - 0.1) < 4 * 0.1 / math.sqrt(2 * n)


def test_e1_is_the_ordered_cubic():
    sample = make_e1(2000, 0)
    signal = [
        sum(
            x[i] * x[j] * x[k]
            for block in (range(3), range(6, 9))
            for i, j, k in itertools.combinations_with_replacement(block, 3)
        )
        for x in sample.X
    ]
    assert_noise(sample.y - signal)
    correlation = np.corrcoef(sample.X, rowvar=False)
    assert abs(correlation - np.eye(18)).max() < 5 / math.sqrt(2000)
    assert np.allclose(sample.X.std(axis=0), 1, atol=5 / math.sqrt(4000))


def test_e2_is_the_full_cubic_of_correlated_pairs():
    n = 4000
    sample = make_e2(n, 0)
    signal = [
        sum(
            x[i] * x[j] * x[k]
            for block in (range(3), range(6, 9))
            for i, j, k in itertools.product(block, repeat=3)
        )
        for x in sample.X
    ]
    assert_noise(sample.y - signal)
    expected = np.eye(18)
    for a, b in [(1, 7), (2, 8), (3, 9), (4, 10), (5, 11), (6, 12), (13, 16), (14, 17), (15, 18)]:
        expected[a - 1, b - 1] = expected[b - 1, a - 1] = 0.95
    assert abs(np.corrcoef(sample.X, rowvar=False) - expected).max() < 5 / math.sqrt(n)
    assert np.allclose(sample.X.std(axis=0), 1, atol=5 / math.sqrt(2 * n))


def test_e3_measures_each_phenomenon_three_times():
    n = 4000
    X, y, *_ = make_e3(n, 0)
    measured = X.reshape(n, 6, 3)
    assert np.allclose(measured.std(axis=2, ddof=1).mean(axis=0), 0.0886, atol=0.003)
    centre = measured.mean(axis=2)
    assert abs(np.corrcoef(centre, rowvar=False) - np.eye(6)).max() < 5 / math.sqrt(n)
    # The mean of three measurements is off by 0.058, which leaves the signal nearly intact.
    s = centre[:, 0] ** 2 + centre[:, 2] ** 2
    residual = y - 10 * s * np.exp(-2 * s)
    assert 0.1 < residual.std() < 0.3 < y.std()
    flat = s > 5  # the signal vanishes here: pure noise is left
    assert_noise(y[flat])


# Real data: a folder of few rows in the published layout, and a stand-in for OpenML.

CODES = list(SOURCES)


def tiny_frame(code: str) -> pd.DataFrame:
    source = SOURCES[code]
    free = source.n_inputs - len(source.dropped)
    names = [*(f"u{a}" for a in range(free)), *source.dropped, "target"]
    values = np.random.default_rng(len(code)).normal(size=(12, len(names)))
    return pd.DataFrame(values, columns=names)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv("NVSD_DATA", raising=False)
    for code, source in SOURCES.items():
        tiny_frame(code).to_csv(tmp_path / source.file, index=False)
    return tmp_path


@pytest.mark.parametrize("code", CODES)
def test_published_data_are_returned_untouched(code, folder):
    X, y, names, target = load_real(code, folder, as_published=True)
    frame = tiny_frame(code)
    assert np.allclose(X, frame.iloc[:, :-1], rtol=1e-15)
    assert np.allclose(y, frame["target"], rtol=1e-15)
    assert names == list(frame.columns[:-1])
    assert target == "target"
    assert X.dtype == y.dtype == np.float64


@pytest.mark.parametrize(
    ("code", "n_inputs", "factor"),
    [
        ("AI", 5, 1),
        ("BH", 10, 1),
        ("CC", 8, 1),
        ("EN", 8, 1),
        ("CP", 21, 1),
        ("EL", 17, 1000),
        ("KN", 8, 10),
    ],
)
def test_the_paper_s_inputs_and_units(code, n_inputs, factor, folder):
    X, y, names, _ = load_real(code, folder)
    frame = tiny_frame(code)
    assert X.shape == (12, n_inputs)
    assert np.allclose(X, frame[names])
    assert not set(names) & {"ZN", "CHAS", "RAD", "diffSaTime4"}
    assert np.allclose(y, factor * frame["target"])


def test_elevators_stop_where_the_first_file_ended(folder, monkeypatch):
    assert SOURCES["EL"].rows == 8752
    monkeypatch.setitem(SOURCES, "EL", SOURCES["EL"]._replace(rows=5))
    assert len(load_real("EL", folder).X) == len(load_real("EL", folder).y) == 5
    assert len(load_real("EL", folder, as_published=True).y) == 12


def test_the_environment_names_the_folder(folder, monkeypatch):
    monkeypatch.setenv("NVSD_DATA", str(folder))
    assert (load_real("KN").X == load_real("KN", folder).X).all()


@pytest.mark.parametrize("code", CODES)
def test_openml_is_the_last_resort(code, folder, monkeypatch):
    frame = tiny_frame(code)
    as_text = frame.iloc[:, :-1].astype(str).astype("category")
    asked = []

    def fetch(*, data_id, **_):
        asked.append(data_id)
        return Bunch(data=as_text, target=frame["target"])

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    fetched, read = load_real(code), load_real(code, folder)
    assert asked == [SOURCES[code].openml]
    assert np.allclose(fetched.X, read.X)
    assert np.allclose(fetched.y, read.y)
    assert fetched[2:] == read[2:]


def test_what_cannot_be_loaded_is_said_in_one_sentence(folder, monkeypatch):
    with pytest.raises(ValueError, match=r"^there is no data set 'XX'; give one of AI, .*\.$"):
        load_real("XX", folder)
    with pytest.raises(ValueError, match=r"^there is no file .*; give the folder .*\.$"):
        load_real("AI", folder / "nowhere")
    tiny_frame("CC").to_csv(folder / SOURCES["AI"].file, index=False)
    with pytest.raises(ValueError, match=r"^AI has 8 inputs; give the published file with 5\.$"):
        load_real("AI", folder)

    def offline(**_):
        raise URLError("no route")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", offline)
    with pytest.raises(OSError, match=r"^AI could not be fetched .*NVSD_DATA\.$"):
        load_real("AI")


MACHINE_FOLDER = os.environ.get("NVSD_DATA")


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("source", ["few rows", "NVSD_DATA"] if MACHINE_FOLDER else ["few rows"])
def test_inputs_vary_and_have_names(code, source, folder):
    if source == "NVSD_DATA":
        folder = MACHINE_FOLDER
    X, y, names, target = load_real(code, folder)
    assert X.shape == (len(y), len(names))
    assert np.isfinite(X).all()
    assert (X.std(axis=0) > 0).all()  # what never varies cannot be standardised
    assert target not in names


# --- larger problems --------------------------------------------------------------------------


def test_e1_with_more_inputs_is_e1_and_noise():
    small, large = make_e1(40, 3), make_e1(40, 3, 60)
    assert (large.X[:, :18] == small.X).all()
    assert (large.y == small.y).all()
    assert large.X.shape == (40, 60)
    assert np.flatnonzero(large.support).tolist() == RELEVANT
    assert large.names[-1] == "x60"
    assert large.groups[-3:] == ["g20"] * 3
    with pytest.raises(ValueError, match="d = 17 is not allowed; give an integer >= 18"):
        make_e1(5, 0, 17)


@pytest.mark.parametrize(
    ("make", "signal", "relevant", "d"),
    [
        (
            make_sine,
            lambda x: math.sin((x[0] + x[2]) ** 2) * math.sin(x[6] * x[7] * x[8]),
            [0, 2, 6, 7, 8],
            18,
        ),
        (make_logarithm, lambda x: math.log(sum(x[10:15]) ** 2), [10, 11, 12, 13, 14], 100),
        (
            make_quadratic,
            lambda x: x[0] * x[1] + x[2] ** 2 + x[3] + x[3] * x[4],
            [0, 1, 2, 3, 4],
            100,
        ),
    ],
)
def test_larger_problems_by_their_formulas(make, signal, relevant, d):
    sample = make(2000, 0)
    assert sample.X.shape == (2000, d)
    assert np.flatnonzero(sample.support).tolist() == relevant
    assert sample.names == [f"x{a}" for a in range(1, d + 1)]
    assert sample.groups is None
    assert_noise(sample.y - [signal(x) for x in sample.X])
