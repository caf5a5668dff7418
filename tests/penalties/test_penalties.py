"""The penalties against loops, numerical minimisation, brute force and the identities of prox."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize

from nvsd.penalties import (
    BoundPenalty,
    ElasticNet,
    GroupLasso,
    Lasso,
    Penalty,
    SparseGroupLasso,
    block_norms,
)


def descendants(parent: type[Any]) -> Iterator[type[Any]]:
    for child in parent.__subclasses__():
        yield child
        yield from descendants(child)


KINDS = [kind for kind in descendants(Penalty) if not inspect.isabstract(kind)]
all_kinds = pytest.mark.parametrize("kind", KINDS)

LABELS = ["b", "a", "b", "c", "a"]  # not consecutive, and one group of one


def example(kind: type, labels: list[str] = LABELS, **given: Any) -> Any:
    """A penalty of this kind, on groups if it has them."""
    if "groups" in {field.name for field in dataclasses.fields(kind)}:
        given["groups"] = labels
    return kind(**given)


# The naive twin: the formulas of the paper in plain loops. math.hypot neither over- nor underflows.


class Terms(NamedTuple):
    """J = sum_a v_a |z_a| + sum_g w_g |z_g| + c |z|^2."""

    v: list[float]
    w: dict[str, float]
    c: float


def naive_terms(penalty: Any, labels: list[str]) -> Terms:
    d, names = len(labels), list(dict.fromkeys(labels))
    w_a = penalty.weights or [1.0] * d
    w_g = dict(zip(names, penalty.weights or [labels.count(g) for g in names], strict=False))
    if isinstance(penalty, Lasso):
        return Terms(list(w_a), {}, 0.0)
    if isinstance(penalty, GroupLasso):
        return Terms([0.0] * d, w_g, 0.0)
    if isinstance(penalty, ElasticNet):
        mu: Any = penalty.mu
        return Terms([mu * w for w in w_a], {}, 1 - mu)
    if isinstance(penalty, SparseGroupLasso):
        return Terms([penalty.rho] * d, {g: (1 - penalty.rho) * w for g, w in w_g.items()}, 0.0)
    raise NotImplementedError(f"write the naive twin of {penalty}")


def naive_value(terms: Terms, labels: list[str], z: Any) -> float:
    total = 0.0
    for a, block in enumerate(z):
        total += terms.v[a] * math.hypot(*block) + terms.c * math.hypot(*block) ** 2
    for g, w in terms.w.items():
        total += w * math.hypot(*(x for a, block in enumerate(z) if labels[a] == g for x in block))
    return total


def naive_soft(block: list[float], threshold: float) -> list[float]:
    norm = math.hypot(*block)
    return [x * (max(0.0, norm - threshold) / norm) if norm > 0 else 0.0 for x in block]


def naive_prox(terms: Terms, labels: list[str], z: Any, step: float) -> np.ndarray:
    blocks = [naive_soft(list(block), step * terms.v[a]) for a, block in enumerate(z)]
    for g, w in terms.w.items():
        members = [a for a in range(len(blocks)) if labels[a] == g]
        joint = iter(naive_soft([x for a in members for x in blocks[a]], step * w))
        for a in members:
            blocks[a] = [next(joint) for _ in blocks[a]]
    return np.array([[x / (1 + 2 * step * terms.c) for x in block] for block in blocks])


def naive_feasible(terms: Terms, labels: list[str], r: Any, t: float) -> bool:
    """Is u, with block norms r, in t times the dual ball of the norms; 1e-13 is for rounding."""
    for g in set(labels):
        members = [a for a in range(len(r)) if labels[a] == g]
        excess = math.hypot(*(max(0.0, r[a] - terms.v[a] * t) for a in members))
        if excess > terms.w.get(g, 0.0) * t + 1e-13 * math.hypot(*(r[a] for a in members)):
            return False
    return True


# Problems: all kinds, random groups and weights, entries from subnormal to 1e300.


class Problem(NamedTuple):
    penalty: Penalty
    labels: list[str]
    Z: np.ndarray
    step: float

    @property
    def bound(self) -> BoundPenalty:
        return self.penalty.bind(len(self.labels))

    @property
    def terms(self) -> Terms:
        return naive_terms(self.penalty, self.labels)


fractions = st.sampled_from([0.0, 1.0]) | st.floats(0.01, 0.99)


@st.composite
def problems(draw: st.DrawFn, scales: tuple[int, ...] = (-300, -155, 0, 150, 299)) -> Problem:
    d, m, k = (draw(st.integers(1, largest)) for largest in (5, 3, 3))
    labels = draw(st.lists(st.sampled_from("abc"), min_size=d, max_size=d))
    kind = draw(st.sampled_from(KINDS))
    names = {field.name for field in dataclasses.fields(kind)}
    settings: dict[str, Any] = {name: draw(fractions) for name in sorted(names & {"mu", "rho"})}
    n_weights = len(set(labels)) if "groups" in names else d
    one = st.sampled_from([0.0, 1.0]) | st.floats(0.1, 5)
    settings["weights"] = draw(st.none() | st.lists(one, min_size=n_weights, max_size=n_weights))
    scale = draw(st.sampled_from(scales))
    entries = hnp.arrays(float, (k, d, m), elements=st.floats(-3, 3))
    sizes = hnp.arrays(float, (d, 1), elements=st.sampled_from([1.0, 1.0, 1e-3, 1e-150, 0.0]))
    Z, step = draw(entries) * draw(sizes) * 10.0**scale, draw(st.floats(1e-3, 3)) * 10.0**scale
    return Problem(example(kind, labels, **settings), labels, Z, step)


moderate = problems(scales=(-2, 0, 2))


def test_each_kind_is_found() -> None:
    assert {Lasso, GroupLasso, ElasticNet, SparseGroupLasso} <= set(KINDS)


@all_kinds
def test_json(kind: type) -> None:
    penalty = example(kind)
    assert Penalty.from_json(penalty.to_json()) == penalty


@given(problems())
def test_block_norms(problem: Problem) -> None:
    Z = problem.Z
    naive = [[math.hypot(*block) for block in z] for z in Z]
    np.testing.assert_allclose(block_norms(Z), naive, rtol=1e-14, atol=0)
    np.testing.assert_allclose(block_norms(Z[0]), naive[0], rtol=1e-14, atol=0)


@given(moderate)
def test_value(problem: Problem) -> None:
    naive = [naive_value(problem.terms, problem.labels, z) for z in problem.Z]
    np.testing.assert_allclose(problem.bound.value(block_norms(problem.Z)), naive, rtol=1e-13)


@given(problems())
def test_prox_equals_the_formulas(problem: Problem) -> None:
    _, labels, Z, step = problem
    P = problem.bound.prox(Z, step)
    for z, p in zip(Z, P, strict=True):
        naive = naive_prox(problem.terms, labels, z, step)
        for a, label in enumerate(labels):
            group = z[[other == label for other in labels]]
            # Thresholds lose what is below one unit in the last place of the group's norm.
            np.testing.assert_allclose(p[a], naive[a], rtol=0, atol=1e-14 * math.hypot(*group.flat))


def smooth(x: np.ndarray, z: np.ndarray, J: BoundPenalty, step: float, eps: float) -> Any:
    """step J(x) + 1/2 |x - z|^2 and its gradient, with sqrt(r^2 + eps^2) in place of r."""
    X = x.reshape(z.shape)
    same = J.labels[:, None] == np.arange(J.group_weights.size)
    squares = (X**2).sum(axis=1)
    r, r_g = np.sqrt(squares + eps**2), np.sqrt(squares @ same + eps**2)
    value = J.feature_weights @ r + J.group_weights @ r_g + J.ridge * squares.sum()
    slope = J.feature_weights / r + same @ (J.group_weights / r_g) + 2 * J.ridge
    return step * value + ((X - z) ** 2).sum() / 2, (step * slope[:, None] * X + X - z).ravel()


@all_kinds
@pytest.mark.parametrize("step", [0.05, 0.4, 1.0])
def test_prox_minimises(kind: type, step: float, rng: np.random.Generator) -> None:
    penalty, z = example(kind), rng.standard_normal((5, 2))
    terms, J = naive_terms(penalty, LABELS), penalty.bind(5)
    x: Any = z.ravel()
    for eps in 10.0 ** -np.arange(1, 9):
        x = minimize(smooth, x, (z, J, step, eps), jac=True, method="BFGS").x.copy()
    found, p = x.reshape(z.shape), J.prox(z, step)

    def objective(point: np.ndarray) -> Any:
        return step * naive_value(terms, LABELS, point) + ((point - z) ** 2).sum() / 2

    assert objective(p) <= objective(found) + 1e-13
    # 1/2 |x - p|^2 <= objective(x) - objective(p) <= step * (sum of the weights) * eps.
    np.testing.assert_allclose(p, found, atol=np.sqrt(2 * step * 20 * 1e-8))


@given(problems())
def test_what_prox_removes_is_in_the_dual_ball(problem: Problem) -> None:
    J, Z, step = problem.bound, problem.Z, problem.step
    removed = Z - (1 + 2 * step * J.ridge) * J.prox(Z, step)
    scale = np.abs(Z).max(axis=(1, 2))
    for r, size in zip(block_norms(removed), scale, strict=True):
        # Rounding leaves something even where a weight is zero.
        r[r < 1e-14 * size] = 0
        assert naive_feasible(problem.terms, problem.labels, r, step * (1 + 1e-11))


def pulled_inside(J: BoundPenalty, U: np.ndarray, tau: float = 1.0) -> np.ndarray:
    """Points outside tau times the dual ball, be it by rounding, moved onto its boundary."""
    return U if J.ridge else U / np.maximum(1, J.gauge(block_norms(U)) / tau)[:, None, None]


def has_free_feature(J: BoundPenalty) -> bool:
    """Is the dual ball flat: (z - p) / step, with its rounding, is then never inside."""
    free = (J.feature_weights == 0) & (J.group_weights[J.labels] == 0)
    return bool(free.any()) and J.ridge == 0


inner = partial(np.einsum, "kam,kam->k")


@given(moderate, st.integers(0, 2**32 - 1))
def test_moreau(problem: Problem, seed: int) -> None:
    """z = p + step u with u = prox_{J*/step}(z / step): J*(q) >= J*(u) + <p, q - u> for all q."""
    J, Z, step = problem.bound, problem.Z, problem.step
    assume(not has_free_feature(J))
    P = J.prox(Z, step)
    U = pulled_inside(J, (Z - P) / step)
    Q = pulled_inside(J, 10 * np.random.default_rng(seed).standard_normal(Z.shape))
    gain = J.conjugate(block_norms(Q), 1.0) - J.conjugate(block_norms(U), 1.0)
    size = inner(Z, Z) / step + J.value(block_norms(Z))
    assert (gain - inner(P, Q - U) >= -1e-12 * size).all()


@given(moderate, st.floats(0.01, 10), st.integers(0, 2**32 - 1))
def test_fenchel_young(problem: Problem, tau: float, seed: int) -> None:
    J, Z, step = problem.bound, problem.Z, problem.step
    assume(not has_free_feature(J))

    def gap(Z: np.ndarray, U: np.ndarray, tau: float) -> Any:
        return tau * J.value(block_norms(Z)) + J.conjugate(block_norms(U), tau) - inner(U, Z)

    U = pulled_inside(J, 10 * np.random.default_rng(seed).standard_normal(Z.shape), tau)
    assert (gap(Z, U, tau) >= -1e-12 * np.abs(U * Z).sum(axis=(1, 2))).all()
    P = J.prox(Z, step)
    size = inner(Z, Z) / step + J.value(block_norms(Z))
    assert (np.abs(gap(P, pulled_inside(J, (Z - P) / step), 1.0)) <= 1e-12 * size).all()


@given(problems(), st.integers(0, 2**32 - 1))
def test_prox_is_firmly_nonexpansive(problem: Problem, seed: int) -> None:
    J, X, step = problem.bound, problem.Z, problem.step
    Y = X * np.random.default_rng(seed).uniform(-1, 1, X.shape)
    scale = np.abs(X).max() or 1.0
    dP = (J.prox(X, step) - J.prox(Y, step)) / scale
    dX = (X - Y) / scale
    assert ((dP * dX).sum(axis=(1, 2)) - (dP * dP).sum(axis=(1, 2)) >= -1e-13).all()


@given(problems())
def test_points_are_independent(problem: Problem) -> None:
    J, Z = problem.bound, problem.Z
    steps = problem.step * np.linspace(0.5, 2, len(Z))
    R = block_norms(Z)
    batch = J.prox(Z, steps), J.shrinkage(R, steps), J.conjugate(R, steps), J.gauge(R), J.value(R)
    for j, step in enumerate(steps):
        z, r = Z[j], R[j]
        single = J.prox(z, step), J.shrinkage(r, step), J.conjugate(r, step), J.gauge(r), J.value(r)
        for many, one in zip(batch, single, strict=True):
            assert one.shape == many.shape[1:]
            np.testing.assert_allclose(one, many[j], rtol=1e-13, atol=0)


@given(problems())
def test_gauge_is_the_smallest_feasible(problem: Problem) -> None:
    J, terms, labels = problem.bound, problem.terms, problem.labels
    for r in block_norms(problem.Z):
        t = float(J.gauge(r))
        free = [terms.v[a] == 0 and not terms.w.get(label) for a, label in enumerate(labels)]
        assert (t == math.inf) == bool((r[free] > 0).any())
        assert (t == 0) == (not r.any())
        if 1e-290 < t < math.inf:
            assert naive_feasible(terms, labels, r, t)
            assert not naive_feasible(terms, labels, r, t * (1 - 1e-9))


@given(moderate, st.sampled_from([1e-200, 1e-3, 7.0, 1e150]))
def test_gauge_is_homogeneous(problem: Problem, factor: float) -> None:
    R = block_norms(problem.Z)
    R[R < 1e-100] = 0
    J = problem.bound
    np.testing.assert_allclose(J.gauge(factor * R), factor * J.gauge(R), rtol=1e-12, atol=0)


@given(moderate, st.sampled_from([0.0, 0.3, 0.999, 1.0, 1.001, 5.0]))
def test_the_gauge_can_start_from_below(problem: Problem, share: float) -> None:
    J, R = problem.bound, block_norms(problem.Z)
    gauge = J.gauge(R)
    least = share * np.where(gauge < np.inf, gauge, 1.0)
    np.testing.assert_allclose(J.gauge(R, least), np.maximum(gauge, least), rtol=1e-12, atol=0)


@given(problems())
def test_prox_is_exactly_zero_from_the_gauge_on(problem: Problem) -> None:
    J, R = problem.bound, block_norms(problem.Z)
    R = R[(J.gauge(R) > 1e-290) & (J.gauge(R) < np.inf)]
    t = J.gauge(R)
    assert not J.shrinkage(R, t * (1 + 1e-12)).any()
    assert J.shrinkage(R, t * (1 - 1e-9)).any(axis=1).all()


@all_kinds
@pytest.mark.parametrize("labels", [["a", "a"], ["a", "b"]])
def test_conjugate_is_the_supremum(kind: type, labels: list[str], rng: np.random.Generator) -> None:
    penalty = example(kind, labels)
    J, terms = penalty.bind(2), naive_terms(penalty, labels)
    for u in rng.uniform(-2, 2, (3, 2)):
        gauge = float(J.gauge(abs(u)))
        for tau in (0.99 * gauge, 1.01 * gauge):
            reach = np.abs(u).max() / (2 * tau * (J.ridge or 1))
            grid = reach * np.arange(-100, 101) / 100
            brute = max(
                u[0] * x + u[1] * y - tau * naive_value(terms, labels, [[x], [y]])
                for x in grid
                for y in grid
            )
            conjugate = J.conjugate(abs(u), tau)
            if J.ridge:
                assert brute - 1e-12 <= conjugate <= brute + 1e-3 * tau * J.ridge * reach**2
            else:
                assert conjugate == (0 if tau > gauge else np.inf)
                assert brute == 0 if tau > gauge else brute > 0


@all_kinds
def test_conjugate_at_tau_zero(kind: type) -> None:
    R = np.array([[0, 0, 0, 0, 0], [0, 0, 1e-200, 0, 0]])
    np.testing.assert_array_equal(example(kind).bind(5).conjugate(R, 0.0), [0, np.inf])


@all_kinds
def test_without_ridge(kind: type, rng: np.random.Generator) -> None:
    J, R = example(kind).bind(5), rng.random((3, 5))
    ridge = J.ridge * (R**2).sum(axis=1)
    assert J.without_ridge().ridge == 0
    np.testing.assert_allclose(J.without_ridge().value(R) + ridge, J.value(R))


def assert_same(one: Penalty, other: Penalty, rng: np.random.Generator) -> None:
    J, H, Z = one.bind(5), other.bind(5), rng.standard_normal((3, 5, 4))
    R = block_norms(Z)
    for a, b in (
        (J.value(R), H.value(R)),
        (J.prox(Z, 0.4), H.prox(Z, 0.4)),
        (J.gauge(R), H.gauge(R)),
        (J.conjugate(R, 5.0), H.conjugate(R, 5.0)),
    ):
        np.testing.assert_allclose(a, b, rtol=1e-14)


def test_special_cases(rng: np.random.Generator) -> None:
    assert_same(GroupLasso(range(5)), Lasso(), rng)
    assert_same(ElasticNet(mu=1), Lasso(), rng)
    assert_same(SparseGroupLasso(LABELS, rho=1), Lasso(), rng)
    assert_same(SparseGroupLasso(LABELS, rho=0), GroupLasso(LABELS), rng)
    weights = [0.0, 1.0, 2.0, 3.0, 0.5]
    assert_same(GroupLasso(range(5), weights), Lasso(weights), rng)
    assert_same(ElasticNet(1, weights), Lasso(weights), rng)


def test_groups_need_not_be_consecutive(rng: np.random.Generator) -> None:
    Z, order = rng.standard_normal((3, 5, 4)), np.argsort(LABELS)
    for kind in (GroupLasso, SparseGroupLasso):
        scattered = kind(LABELS).bind(5).prox(Z, 0.4)
        together = kind(sorted(LABELS)).bind(5).prox(Z[:, order], 0.4)
        np.testing.assert_allclose(scattered[:, order], together, rtol=1e-14)


def test_no_weight_no_shrinkage(rng: np.random.Generator) -> None:
    R = rng.random((3, 5)) * 10.0 ** np.array([[-200], [0], [200]])
    np.testing.assert_array_equal(Lasso([0] * 5).bind(5).shrinkage(R, 1e100), 1)
    np.testing.assert_array_equal(GroupLasso(LABELS, [0] * 3).bind(5).shrinkage(R, 1e100), 1)


@all_kinds
def test_infinite_threshold(kind: type) -> None:
    J = example(kind, weights=[100.0] * (3 if "groups" in kind.__annotations__ else 5)).bind(5)
    assert not J.shrinkage(np.full((1, 5), 1e300), 1e307).any()
