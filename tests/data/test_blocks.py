"""Rows in one pass: sums against dense products, and every source of rows against the array."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nvsd
from nvsd.data.block_rows import IterableRows
from nvsd.data.landmarks import Landmarks
from nvsd.data.rows import ArrayRows
from nvsd.data.scaling import Spread
from nvsd.data.sources import rows_of
from nvsd.data.sums import Moments
from nvsd.kernels import Gaussian, Linear, Polynomial
from nvsd.penalties import ElasticNet, GroupLasso
from nvsd.representations.landmark import LandmarkBasis
from nvsd.representations.monomials import Monomials
from nvsd.ridge.nystrom import Sections

KERNEL = Polynomial(degree=3)
TAUS = np.geomspace(3.0, 0.01, 6)
solve = partial(nvsd.nvsd_path, kernel=KERNEL, taus=TAUS)


def data(n: int = 400, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, d))
    return X, 5 + X[:, 0] ** 3 + X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(n)


def blocks(size: int = 150) -> list[tuple[np.ndarray, np.ndarray]]:
    X, y = data()
    return [(X[start : start + size], y[start : start + size]) for start in range(0, len(X), size)]


def mapped(folder: Path, name: str, values: np.ndarray) -> np.memmap:
    np.save(folder / name, values)
    return np.load(folder / name, mmap_mode="r")


def assert_same_problem(moments: Moments, other: Moments, tolerance: float) -> None:
    for name in ("total", "gram", "root", "correlation", "y_mean", "y_square"):
        one, two = np.asarray(getattr(moments, name)), np.asarray(getattr(other, name))
        assert np.abs(one - two).max() <= tolerance * np.abs(two).max(), name
    assert moments.n == other.n


def assert_same_path(path, expected) -> None:
    """Objectives within the gaps, and much closer where the iterations agree."""
    limit = np.maximum(path.gap.values, expected.gap.values) + 1e-10 * expected.attrs["scale"]
    assert np.all(np.abs(path.objective.values - expected.objective.values) <= limit)
    np.testing.assert_array_equal(path.support.values, expected.support.values)
    X_new = np.random.default_rng(5).standard_normal((7, path.sizes["feature"]))
    for method in ("predict", "gradient"):
        np.testing.assert_allclose(
            getattr(path.nvsd, method)(X_new), getattr(expected.nvsd, method)(X_new), atol=1e-6
        )


# --- sums ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["monomials", "landmarks", "kernel sections"])
def test_a_basis_has_the_features_it_counts_and_they_make_the_kernel(kind: str) -> None:
    points, _ = data(6, 3)
    kernel = Polynomial(2) if kind == "monomials" else Gaussian(1.5)
    landmarks = Landmarks(points, points[:2], points[:0])
    basis = {
        "monomials": lambda: Monomials(3, 2, 1.0),
        "landmarks": lambda: LandmarkBasis.make(kernel, landmarks)[0],
        "kernel sections": lambda: Sections(kernel, points, np.ones(3, bool)),
    }[kind]()
    Phi = basis.features(points)
    assert Phi.shape == (6, basis.r)
    assert basis.lower(points).shape == (6, basis.q)
    np.testing.assert_allclose(Phi @ Phi.T, kernel.K(points), atol=1e-9)


@pytest.mark.parametrize(("degree", "offset"), [(1, 0.0), (2, 0.0), (3, 1.0), (4, 0.5)])
def test_moments_are_dense_products(degree: int, offset: float, monkeypatch) -> None:
    monkeypatch.setattr("nvsd.data.sums.CHUNK", 1000)  # several chunks
    X, y = data(237, 3)
    monomials = Monomials(3, degree, offset)
    moments = Moments.of(monomials, X, y)
    Phi, Psi = monomials.features(X), monomials.lower(X)
    np.testing.assert_allclose(moments.gram, Phi.T @ Phi, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(moments.total, Phi.sum(axis=0), atol=1e-10)
    np.testing.assert_allclose(moments.correlation, Phi.T @ (y - y.mean()), atol=1e-9)
    np.testing.assert_allclose(moments.root.T @ moments.root, Psi.T @ Psi, atol=1e-9)
    R = np.linalg.qr(Psi, mode="r")
    np.testing.assert_allclose(np.abs(moments.root), np.abs(R), atol=1e-10)
    assert np.array_equal(moments.root, np.triu(moments.root))
    assert (np.diagonal(moments.root) >= 0).all()
    assert np.array_equal(moments.gram, moments.gram.T)
    for origin in (0.0, 2.5):
        correlation, square = moments.from_origin(origin)
        np.testing.assert_allclose(correlation, Phi.T @ (y - origin), atol=1e-9)
        np.testing.assert_allclose(square, np.sum((y - origin) ** 2), rtol=1e-12)


@given(st.lists(st.integers(0, 60), min_size=1, max_size=4), st.sampled_from([0.0, 1.0]))
def test_moments_of_parts_add_up(cuts: list[int], offset: float) -> None:
    X, y = data(60, 2)
    monomials = Monomials(2, 3, offset)
    edges = np.unique([0, *cuts, 60])
    parts = [Moments.of(monomials, X[i:j], y[i:j]) for i, j in pairwise(edges)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    assert_same_problem(total, Moments.of(monomials, X, y), 1e-11)


def test_a_target_far_from_zero_costs_no_digits() -> None:
    X, y = data(300, 2)
    monomials, far = Monomials(2, 2, 1.0), y + 1e8
    moments = Moments.of(monomials, X[:100], far[:100]) + Moments.of(monomials, X[100:], far[100:])
    # The rounding of y + 1e8 itself is 1e-8.
    exact = monomials.features(X).T @ (far - far.mean())
    np.testing.assert_allclose(moments.correlation, exact, atol=1e-6)
    np.testing.assert_allclose(moments.y_square, np.sum((far - far.mean()) ** 2), rtol=1e-9)


def test_the_triangle_keeps_the_small_directions_that_the_gram_matrix_loses() -> None:
    X = data(2000, 3)[0] + 300.0
    monomials = Monomials(3, 3, 1.0)
    Psi = monomials.lower(X)
    _, singular, V = np.linalg.svd(Psi, full_matrices=False)
    half = Moments.of(monomials, X[:900]) + Moments.of(monomials, X[900:])
    by_qr = abs(np.linalg.norm(half.root @ V[-1]) / singular[-1] - 1)
    by_gram = abs(np.sqrt(abs(V[-1] @ (Psi.T @ Psi) @ V[-1])) / singular[-1] - 1)
    assert by_qr < 1e-6 < by_gram


def test_spread_is_mean_and_deviation() -> None:
    X = data(100, 3)[0] + np.array([0.0, 1e6, 3.0])
    X[:, 2] = 0.1
    spread = Spread.of(X[:13]) + (Spread.of(X[13:50]) + Spread.of(X[50:]))
    np.testing.assert_allclose(spread.mean, X.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(spread.scale[:2], X[:, :2].std(axis=0), rtol=1e-12)
    assert spread.scale[2] == 1.0


# --- sources -------------------------------------------------------------------------------------


SOURCES = ["list", "generator", "uneven", "frames", "memory maps", "float32 map", "array"]


def sources(folder: Path) -> dict[str, tuple]:
    """The same rows, from everywhere."""
    X, y = data()
    return {
        "list": (blocks(),),
        "generator": ((block for block in blocks()),),
        "uneven": ([(X[:1], y[:1]), (X[1:390], y[1:390]), (X[390:], y[390:])],),
        "frames": ([(pd.DataFrame(A, columns=["x0", "x1", "x2", "x3"]), b) for A, b in blocks()],),
        "memory maps": (mapped(folder, "X.npy", X), mapped(folder, "y.npy", y)),
        "float32 map": (mapped(folder, "X4.npy", X.astype("f4")), y),
        "array": (X, y),
    }


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("standardize", [False, True])
def test_every_source_gives_the_path_of_the_array(
    source: str, standardize: bool, tmp_path, monkeypatch
) -> None:
    X, y = data()
    if source == "float32 map":
        X = X.astype("f4").astype(float)
    expected = solve(X, y, standardize=standardize)
    monkeypatch.setattr("nvsd.representations.monomial.KEEP", 0)
    monkeypatch.setattr("nvsd.data.rows.BLOCK", 300)  # 75 rows of an array
    given = sources(tmp_path)[source]
    if source == "generator" and standardize:
        with pytest.raises(ValueError, match="only once"):
            solve(*given, standardize=True)
        return
    path = solve(*given, standardize=standardize)
    assert_same_path(path, expected)
    assert set(path.dims) == {"tau", "feature", "component"}
    assert path.attrs["n_samples"] == 400
    assert path.attrs["representation"] == "monomial"
    np.testing.assert_allclose(path.y_mean, y.mean(), rtol=1e-14)
    np.testing.assert_allclose(path.x_scale, expected.x_scale, rtol=1e-13)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, 0.0)])
@pytest.mark.parametrize("penalty", [GroupLasso(["a", "b", "a", "b"]), ElasticNet([0.3, 0.9])])
def test_other_kernels_and_penalties_in_blocks(kernel, penalty) -> None:
    arguments = {"kernel": kernel, "penalty": penalty, "taus": TAUS, "center": False}
    path = nvsd.nvsd_path(blocks(), **arguments)
    assert_same_path(path, nvsd.nvsd_path(*data(), **arguments))


def test_fewer_rows_than_derivative_monomials() -> None:
    X, y = data(12)
    path = solve([(X[:5], y[:5]), (X[5:], y[5:])])
    assert_same_path(path, solve(X, y, representation="monomial"))


def test_prepared_rows_serve_several_targets(monkeypatch) -> None:
    X, y = data()
    expected = [solve(X, target) for target in (y, y**2)]
    monkeypatch.setattr("nvsd.representations.monomial.KEEP", 0)
    prepared = nvsd.prepare(X, kernel=KERNEL)
    for target, path in zip((y, y**2), expected, strict=True):
        assert_same_path(nvsd.nvsd_path(prepared, target, taus=TAUS), path)
    with pytest.raises(ValueError, match="y is missing"):
        nvsd.nvsd_path(prepared)
    with_y = nvsd.prepare(blocks(), kernel=KERNEL)
    assert_same_path(nvsd.nvsd_path(with_y, taus=TAUS), expected[0])
    with pytest.raises(ValueError, match="y comes with the blocks"):
        nvsd.nvsd_path(with_y, y)
    with pytest.raises(ValueError, match="give X as an array to have them all"):
        with_y.X  # noqa: B018


def test_rows_are_taken_by_number(tmp_path) -> None:
    X, _ = data()
    index = np.array([399, 0, 160, 149, 150])
    for source in (X, blocks(), mapped(tmp_path, "X.npy", X)):
        rows = rows_of(source)
        np.testing.assert_array_equal(rows.take(index), X[index])
        scaled = rows.standardized().take(index)
        np.testing.assert_allclose(scaled, ((X - X.mean(0)) / X.std(0))[index], rtol=1e-12)
    with pytest.raises(ValueError, match="only once"):
        rows_of(iter(blocks())).take(index)


def test_lists_of_numbers_are_arrays() -> None:
    assert isinstance(rows_of([[1.0, 2.0], [3.0, 4.0]]), ArrayRows)
    assert isinstance(rows_of(blocks()), IterableRows)


def test_what_an_iterator_gave_is_not_taken_for_all_rows() -> None:
    rows = rows_of(iter(blocks()))
    assert rows.total(Spread.of).n == 400
    with pytest.raises(ValueError, match="an iterator that has already been read; give a list"):
        rows.total(Spread.of)


class ForTheFirstReader:
    """Blocks that are there once, from an object that is no iterator."""

    def __init__(self) -> None:
        self.left = [blocks()]

    def __iter__(self):
        return iter(self.left.pop() if self.left else [])


@pytest.mark.parametrize("part", [np.s_[:, 0], np.s_[:1]])
def test_a_memory_map_of_another_shape_is_refused(part, tmp_path) -> None:
    X, y = data()
    with pytest.raises(ValueError, match=r"^X has shape .*; give rows of samples by inputs\.$"):
        solve(mapped(tmp_path, "X.npy", X[part]), y)


def nan_block() -> list:
    bad = blocks()
    bad[1][0][3, 2] = np.nan
    return bad


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: ([],), "there are no blocks"),
        (lambda: (iter([]),), "there are no blocks"),
        (lambda: (ForTheFirstReader(),), "there are no blocks"),
        (lambda: (nan_block(),), "block 1 holds NaN"),
        (lambda: ([*blocks(), (np.ones((3, 2)), np.ones(3))],), "block 3 has other inputs"),
        (lambda: ([*blocks(), (np.ones((3, 4)), np.ones(2))],), "y has shape"),
        (lambda: (iter([data()[0]]),), "block 0 is a ndarray; give pairs"),
        (lambda: (blocks(), data()[1]), "also comes with the blocks"),
        (lambda: (data()[0],), "y is missing"),
        (lambda: ([(np.ones((1, 2)), np.ones(1))],), "at least 2 samples"),
    ],
)
def test_what_is_no_source_of_rows_is_refused_in_one_sentence(given, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        solve(*given())
    assert str(error.value).endswith(".")
    assert ". " not in str(error.value)


@pytest.mark.parametrize("kernel", [None, Gaussian(1.0)])
def test_blocks_need_a_polynomial_kernel(kernel) -> None:
    with pytest.raises(ValueError, match="rows that come in blocks need"):
        nvsd.nvsd_path(blocks(), kernel=kernel)


def test_blocks_are_not_taken_for_an_array() -> None:
    with pytest.raises(ValueError, match="'derivative' needs all samples in memory, but they come"):
        solve(blocks(), representation="derivative")


def test_memory_does_not_grow_with_the_rows() -> None:
    """n = 200 000: X alone is 8 MB, and its features are 90 MB."""
    d, n, size = 5, 200_000, 20_000

    def stream():
        rng = np.random.default_rng(0)
        for _ in range(n // size):
            X = rng.standard_normal((size, d))
            yield X, X[:, 0] ** 2 + X[:, 1]

    tracemalloc.start()
    prepared = nvsd.prepare(stream(), kernel=KERNEL)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert prepared.representation.n == n
    assert peak < 25e6


# --- checkpoints ---------------------------------------------------------------------------------


def interrupted(number: int):
    yield from blocks(50)[:number]
    raise KeyboardInterrupt


def test_an_interrupted_pass_goes_on_and_gives_the_same_numbers(tmp_path, monkeypatch) -> None:
    file = tmp_path / "pass.npz"
    expected = solve(blocks(50))
    with pytest.raises(KeyboardInterrupt):
        solve(interrupted(5), checkpoint=file)
    assert np.load(file)["n"] == 250
    sums = []
    of = Moments.of
    monkeypatch.setattr(
        Moments, "of", lambda *given, **options: sums.append(1) or of(*given, **options)
    )
    assert solve(blocks(50), checkpoint=file).identical(expected)
    assert len(sums) == 3
    assert solve(blocks(50), checkpoint=file).identical(expected)
    assert len(sums) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["pass.npz"]


SCRIPT = """
import os, numpy as np, nvsd

def dying():
    stored = np.load("data.npz")
    for start in range(0, 300, 50):
        yield stored["X"][start : start + 50], stored["y"][start : start + 50]
    os._exit(9)

nvsd.prepare(dying(), kernel=nvsd.kernels.Polynomial(3), checkpoint="pass.npz")
"""


def test_a_killed_process_goes_on_and_gives_the_same_numbers(tmp_path) -> None:
    file = tmp_path / "pass.npz"
    np.savez(tmp_path / "data.npz", X=data()[0], y=data()[1])
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, check=False)
    assert done.returncode == 9
    assert 50 <= np.load(file)["n"] <= 300
    assert solve(blocks(50), checkpoint=file).identical(solve(blocks(50)))


def test_checkpoints_of_arrays_and_maps(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("nvsd.data.rows.BLOCK", 300)
    X, y = data()
    expected = solve(X, y, checkpoint=tmp_path / "a.npz", standardize=True)
    again = solve(mapped(tmp_path, "X.npy", X), y, checkpoint=tmp_path / "a.npz", standardize=True)
    assert again.identical(expected)
    y[160] += 1
    with pytest.raises(ValueError, match="block 2 differs from the one"):
        solve(X, y, checkpoint=tmp_path / "a.npz", standardize=True)


def test_a_checkpoint_of_rows_without_a_target(tmp_path, monkeypatch) -> None:
    X, y = data()
    file = tmp_path / "pass.npz"
    nvsd.prepare(X, kernel=KERNEL, checkpoint=file)
    with monkeypatch.context() as patch:
        patch.setattr(Moments, "of", lambda *_: pytest.fail("summed again"))
        again = nvsd.prepare(X, kernel=KERNEL, checkpoint=file)
    assert_same_path(nvsd.nvsd_path(again, y, taus=TAUS), solve(X, y))
    with pytest.raises(ValueError, match="block 0 differs from the one"):
        nvsd.prepare(X + 1, kernel=KERNEL, checkpoint=file)


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (lambda: blocks(50), {"kernel": Polynomial(2)}, "a different kernel"),
        (lambda: blocks(50)[::-1], {}, "block 0 differs from the one"),
        (lambda: blocks(50)[:4], {}, "made from 8 blocks, but there are 4"),
        (lambda: [(A, b + 1) for A, b in blocks(50)], {}, "block 0 differs from the one"),
        (lambda: blocks(50), {"standardize": True}, "block 0 differs from the one"),
    ],
)
def test_a_checkpoint_of_another_problem_is_refused(given, options, message, tmp_path) -> None:
    file = tmp_path / "pass.npz"
    solve(blocks(50), checkpoint=file)
    before = file.read_bytes()
    with pytest.raises(ValueError, match=message):
        solve(given(), checkpoint=file, **options)
    assert file.read_bytes() == before


def test_a_damaged_checkpoint_is_refused(tmp_path) -> None:
    file = tmp_path / "pass.npz"
    file.write_bytes(b"PK\x03\x04 not really")
    with pytest.raises(ValueError, match="cannot be read as a checkpoint"):
        solve(blocks(), checkpoint=file)


def test_a_reader_that_returns_one_generator_loses_no_rows():
    X, y = np.random.default_rng(0).standard_normal((2, 40, 3))

    class Reader:
        def __init__(self):
            self.rows = ((X[k : k + 10], y[k : k + 10, 0]) for k in range(0, 40, 10))

        def __iter__(self):
            return self.rows

    assert nvsd.prepare(Reader(), kernel=Polynomial(2)).representation.n == 40
    with pytest.raises(ValueError, match="can be read only once"):
        nvsd.prepare(Reader(), kernel=Polynomial(2), standardize=True)
