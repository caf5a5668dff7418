"""Hard numbers: a certified result, a warning, or a refusal; never a wrong answer in silence.

The truth is computed with 300 digits (`exact_problems`), and by CVXPY where the problem is tame.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from path_problems import Case, sample
from reliability_record import Record, recorder
from stress_problems import Hard, attempt, check_form, check_truth

import nvsd
from nvsd.kernels import Gaussian, Kernel, Linear, Matern52, Polynomial
from nvsd.penalties import ElasticNet, GroupLasso, Lasso, Penalty

N, D = 8, 3
X, Y = sample(0, N, D)
MEDIAN = float(np.median([np.linalg.norm(a - b) for i, a in enumerate(X) for b in X[:i]]))
SMOOTH = Gaussian(MEDIAN)
CUBIC = Polynomial(3)
KERNELS: list[Kernel] = [SMOOTH, Matern52(MEDIAN), Linear(), CUBIC]
PENALTIES: list[Penalty] = [Lasso(), GroupLasso(["a", "b", "a"]), ElasticNet(0.4)]


@pytest.fixture
def record(record_property: Callable) -> Record:
    return recorder(record_property, "numerical stress")


def far_sample() -> np.ndarray:
    points = X.copy()
    points[-1] = 1e4
    return points


def collinear() -> np.ndarray:
    return np.column_stack([X, X[:, 0] - 2 * X[:, 1]])


def wide(n: int, d: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((n, d))


SHAPES = {
    "repeated rows": np.repeat(X[:4], 2, axis=0),
    "all rows but one are the same": np.vstack([np.repeat(X[:1], N - 1, axis=0), X[1:2]]),
    "all rows are the same": np.repeat(X[:1], N, axis=0),
    "a constant column": sample(0, N, D, "column")[0],
    "constant columns only": np.ones((N, D)),
    "zeros only": np.zeros((N, D)),
    "a repeated column": np.column_stack([X, X[:, 0]]),
    "collinear columns": collinear(),
    "one sample far away": far_sample(),
    "far from the origin": X + 1e3,
    "columns of different units": X * np.array([1e-6, 1.0, 1e6]),
    "two samples": X[:2],
    "one input": X[:, :1],
    "two samples of one input": X[:2, :1],
    "many samples of one input": wide(40, 1),
    "more inputs than samples": wide(4, 20),
    "scaled by 1e8": X * 1e8,
    "scaled by 1e-8": X * 1e-8,
    "scaled by 1e-150": X * 1e-150,
    "scaled by 1e150": X * 1e150,
}


def target(points: np.ndarray) -> np.ndarray:
    return Y[: len(points)] if len(points) <= N else np.sin(3 * points[:, 0])


def hard_problems() -> dict[str, Hard]:
    """Every number of the list, alone and with the kernels and penalties it could hurt."""
    found = {
        f"{name}, {kernel}": Hard(points, target(points), kernel)
        for (name, points), kernel in product(SHAPES.items(), [*KERNELS, None])
    }
    found |= {
        f"y times {c:g}, {kernel}, {penalty}": Hard(X, c * Y, kernel, penalty)
        for c, kernel, penalty in product([1e-8, 1e8], [SMOOTH, CUBIC], PENALTIES)
    }
    found |= {
        f"y times {c:g}, {kernel}": Hard(X, c * Y, kernel)
        for c, kernel in product([1e-150, 1e-70, 1e70, 1e150], KERNELS)
    }
    found |= {
        f"y is {value:g} everywhere, {kernel}": Hard(X, np.full(N, value), kernel)
        for value, kernel in product([0.0, 0.1, 1e8, -1e-8], KERNELS)
    }
    found |= {
        f"y is 1e8 and a little, {kernel}": Hard(X, 1e8 + Y, kernel) for kernel in (SMOOTH, CUBIC)
    }
    found |= {
        f"width {c:g} medians, {make.__name__}, nu {nu:g}": Hard(X, Y, make(c * MEDIAN), nu=nu)
        for c in (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3)
        for make, nu in product([Gaussian, Matern52], [1e-3, 1e-6])
    }
    found |= {
        f"degree {p}, {name}": Hard(points, Y, Polynomial(p))
        for p in (1, 2, 4, 5, 6)
        for name, points in {"as is": X, "plus 10": X + 10, "times 1e8": X * 1e8}.items()
    }
    found |= {
        f"nu {nu:g}, {kernel}": Hard(X, Y, kernel, nu=nu)
        for nu in (0.0, 1e-300, 1e-12, 1e-9, 1e-6, 1.0, 1e3, 1e6)
        for kernel in (SMOOTH, Linear(), Polynomial(2), CUBIC)
    }
    found |= {
        f"tol {tol:g}, {kernel}, {penalty}": Hard(X, Y, kernel, penalty, tol=tol)
        for tol, kernel, penalty in product([1e-10, 0.5], [SMOOTH, CUBIC], PENALTIES)
    }
    return found | representations()


def representations() -> dict[str, Hard]:
    """The same numbers in representations that are not the first choice."""
    return {
        f"{kind}, {name}, {kernel}": Hard(SHAPES[name], Y, kernel, options={"representation": kind})
        for kind in ("derivative", "factor", "matrix-free")
        for name in ("repeated rows", "a constant column", "one sample far away", "scaled by 1e8")
        for kernel in (SMOOTH, CUBIC)
    }


PROBLEMS = hard_problems()
BATCH = 10  # problems in a test

# All others must be certified. Some of the parts that a name has between its commas, and a word of
# the refusal; None: a warning is enough.
POLYNOMIAL = "Polynomial(degree=3, offset=1.0)"
MAY_FAIL: list[tuple[str, str | None]] = [
    ("all rows but one are the same, None", "repeat"),
    ("all rows are the same, None", "repeat"),
    ("constant columns only, None", "repeat"),
    ("zeros only, None", "repeat"),
    (f"one sample far away, {POLYNOMIAL}", "rounding"),
    (f"far from the origin, {POLYNOMIAL}", "rounding"),
    (f"columns of different units, {POLYNOMIAL}", "rounding"),
    (f"scaled by 1e8, {POLYNOMIAL}", "rounding"),
    (f"factor, scaled by 1e8, {POLYNOMIAL}", None),
    ("scaled by 1e150", "units"),
    ("y times 1e-150", "units"),
    ("y times 1e+150", "units"),
    ("times 1e8", "rounding"),
    ("degree 6, plus 10", "rounding"),
    ("degree 4, plus 10", None),
    ("degree 5, plus 10", None),
    ("nu 1e-300", "rounding"),
    (f"nu 1e-12, {POLYNOMIAL}", None),
    ("nu 0", "nu"),
    ("matrix-free, a constant column", None),  # its H is singular: hundreds of inputs are its field
]


def expected(name: str, refusal: str | None, warned: bool) -> bool:
    reasons = [word for part, word in MAY_FAIL if f", {part}, " in f", {name}, "]
    if refusal is not None:
        return any(word is not None and word in refusal for word in reasons)
    return not warned or None in reasons


def test_only_what_is_meant_may_fail() -> None:
    """Every entry is about some problem, and ν = 0 is not ν = 0.001."""
    for part, word in MAY_FAIL:
        assert any(expected(name, word, word is None) for name in PROBLEMS), part
    allowed = [name for name in PROBLEMS if expected(name, "nu", False)]
    assert allowed
    assert all(name.startswith("nu 0, ") for name in allowed)


@pytest.mark.parametrize("first", range(0, len(PROBLEMS), BATCH))
def test_certified_or_warned_of_or_refused(
    first: int, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = []
    for name in list(PROBLEMS)[first : first + BATCH]:
        hard = PROBLEMS[name]
        outcome = attempt(hard, monkeypatch)
        if not expected(name, outcome.refusal, outcome.warned):
            wrong.append(f"{name}: {outcome.refusal or 'not certified'}")
        if outcome.path is None:
            record(refused=1)
            continue
        try:
            check_form(outcome.path, outcome.warned, hard.tol)
            if hard.nu > 0:
                check_truth(hard, outcome.path, outcome.points)
        except AssertionError as error:
            wrong.append(f"{name}: {error}")
        record(warned=1) if outcome.warned else record(certified=1)
    assert not wrong, "\n".join(wrong)


# CVXPY, where it can tell: at two τ, one that shrinks strongly and one that hardly does.

TAME = [
    name
    for name in SHAPES
    if "scaled" not in name and name not in ("zeros only", "columns of different units")
]


@pytest.mark.parametrize("name", TAME)
def test_the_reference_agrees(name: str, record: Record) -> None:
    points = SHAPES[name]
    for kernel, penalty in ((SMOOTH, Lasso()), (Linear(), ElasticNet(0.4))):
        if len(points) > N and kernel is SMOOTH:
            continue  # the reference is slow
        case = Case(points, target(points), kernel, penalty, 1e-3)
        if not case.ridge_norm:
            continue  # f is constant, whatever τ
        taus = [0.3 * case.tau_unit, 0.01 * case.tau_unit]
        path = nvsd.nvsd_path(points, case.y, taus=taus, tol=1e-9, **case.arguments)
        for i, tau in enumerate(taus):
            truth = case.truth(tau)
            gap, distance = float(path.gap[i]), float(path.objective[i]) - truth.minimum
            assert abs(distance) <= gap + truth.accuracy + 1e-12 * case.unit
            record(certified=1)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2)], ids=str)
@pytest.mark.parametrize("c", [1.0, 1e8, 1e-8])
def test_without_nu_units_do_not_matter(kernel: Kernel, c: float, record: Record) -> None:
    """ν = 0 where the samples determine f: then X → cX and τ → cτ change nothing but slopes."""
    points, y = sample(1, 40, 2)
    kernel = Polynomial(2, offset=0.0) if kernel == Polynomial(2) else kernel
    usual = nvsd.nvsd_path(points, y, kernel=kernel, nu=0, taus=[0.3, 0.05], tol=1e-9)
    other = nvsd.nvsd_path(c * points, y, kernel=kernel, nu=0, taus=c * usual.tau.values, tol=1e-9)
    slack = usual.gap.values + other.gap.values + 1e-12 * y.var()
    assert (np.abs(usual.objective.values - other.objective.values) <= slack).all()
    assert (other.gap <= 1e-9 * y.var()).all()
    record(certified=1)


# Memory layouts and types of numbers.


def read_only(array: np.ndarray) -> np.ndarray:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def every_second(array: np.ndarray) -> np.ndarray:
    return np.repeat(np.repeat(array, 2, axis=0), 2, axis=-1)[::2, ::2]


FORMS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "Fortran order": np.asfortranarray,
    "not contiguous": every_second,
    "backwards": lambda array: array[::-1].copy()[::-1],
    "read-only": read_only,
    "big-endian": lambda array: array.astype(">f8"),
    "long double": lambda array: array.astype(np.longdouble),
    "float32": lambda array: array.astype(np.float32),
    "float16": lambda array: array.astype(np.float16),
    "int64": lambda array: (10 * array).astype(np.int64),
    "int8": lambda array: (10 * array).astype(np.int8),
    "uint8": lambda array: (10 * np.abs(array)).astype(np.uint8),
    "bool": lambda array: array > 0,
}


@pytest.mark.parametrize("form", FORMS)
def test_only_the_values_count(form: str, record: Record) -> None:
    """Whatever the layout or the type, the result is that of the same numbers as float64."""
    points, y = FORMS[form](X), FORMS[form](Y[:, None])[:, 0]
    for kernel in (SMOOTH, Polynomial(2)):
        options = {"kernel": kernel, "n_taus": 4, "nu": 1e-2}
        path = nvsd.nvsd_path(points, y, **options)
        plain = np.array(points, dtype=float), np.array(y, dtype=float)
        assert path.identical(nvsd.nvsd_path(*plain, **options))
        assert path.derivative_norm.dtype == np.float64
        record(certified=1)
