"""Kernels as values, and what is refused: each time a ValueError of one sentence."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from nvsd.kernels import (
    Gaussian,
    Kernel,
    Linear,
    Matern52,
    Polynomial,
    RationalQuadratic,
    Scaled,
    Sum,
    neighbour_width,
)

D = 3
WIDTHS = (0.7, 2.0, 5.0)
BAD_NUMBERS = [0, -1.0, math.nan, math.inf, "4", None, True, 1j]
BAD_WIDTHS = [bad for bad in BAD_NUMBERS if bad is not None]  # None: from the data


def points(n: int, d: int = D) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, d))


def one_sentence(error: pytest.ExceptionInfo[ValueError]) -> bool:
    text = str(error.value)
    return text.endswith(".") and ". " not in text and "\n" not in text


def test_kernels_are_values():
    assert Gaussian(width=np.array([1, 2])) == Gaussian(width=[1.0, 2.0])
    assert {Gaussian(4), Gaussian(4.0), Gaussian(np.float32(4))} == {Gaussian(4.0)}
    assert repr(Gaussian(width=[1, 2])) == "Gaussian(width=(1.0, 2.0))"
    assert replace(RationalQuadratic(width=1.0), alpha=2) == RationalQuadratic(2.0, 1.0)
    with pytest.raises(AttributeError):
        Gaussian(4.0).width = 3.0


@pytest.mark.parametrize(
    "text",
    [
        "Gaussian()",
        "3",
        "[]",
        "{}",
        '{"os.system": {"width": 1}}',
        '{"Kernel": {}}',
        '{"Gaussian": 4.0}',
        '{"Gaussian": {}, "Linear": {}}',
        '{"Gaussian": {"sigma": 4.0}}',
        '{"Gaussian": {"width": NaN}}',
        '{"Gaussian": {"width": "4"}}',
        '{"Scaled": {"factor": 2.0}}',
        '{"Sum": {"kernels": 5}}',
        '{"Sum": {"kernels": [1, 2]}}',
        "[" * 100_000,
    ],
    ids=lambda text: text[:40],
)
def test_json_that_describes_no_kernel(text):
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the wording is checked next
        Kernel.from_json(text)
    assert one_sentence(error), error.value
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    "build",
    [
        *(lambda bad=bad: Gaussian(width=bad) for bad in [*BAD_WIDTHS, [], [1.0, 0.0], [[1.0]]]),
        *(lambda bad=bad: Matern52(width=bad) for bad in BAD_WIDTHS),
        *(lambda bad=bad: RationalQuadratic(alpha=bad) for bad in BAD_NUMBERS),
        *(lambda bad=bad: bad * Linear() for bad in BAD_NUMBERS),
        *(lambda bad=bad: Polynomial(degree=bad) for bad in [*BAD_NUMBERS, 2.0, 2.5]),
        *(lambda bad=bad: Polynomial(offset=bad) for bad in BAD_NUMBERS[1:]),
        lambda: Linear() + 1,
        lambda: Linear() * Linear(),
        lambda: Sum(()),
        lambda: Scaled(2.0, "Linear"),
        lambda: Gaussian(width=[1.0, 2.0]).K(points(3)),
        lambda: Gaussian(width=WIDTHS).apply(points(3, d=2), points(3, d=2), np.ones(3)),
        lambda: Gaussian(width=WIDTHS).restrict([3]),
        lambda: Gaussian(width=WIDTHS).restrict([True, False]),
        lambda: Gaussian(width=WIDTHS).restrict([False] * 3),
        lambda: Gaussian(4.0).K([1.0, 2.0]),
        lambda: Gaussian(4.0).K([[1.0, math.nan]]),
        lambda: Gaussian(4.0).K([["a", "b"]]),
        lambda: Gaussian(4.0).K(np.empty((0, 2))),
        lambda: Gaussian(4.0).K(points(3), points(3, d=2)),
        lambda: Gaussian(4.0).G(points(3), np.empty((3, 3))),
        lambda: Gaussian(4.0).G_product(points(3), np.ones(3)),
        lambda: Gaussian(4.0).apply(points(3), points(3)),
        lambda: Gaussian(4.0).apply(points(3), points(3), np.ones(4)),
        lambda: Gaussian(4.0).apply(points(3), points(3), np.ones((3, 1, 1))),
        lambda: Gaussian(4.0).apply(points(3), points(3), np.ones(3), np.ones((3, D))[:2]),
        lambda: Gaussian(4.0).apply(points(3), points(3), np.ones((3, 2)), np.ones((D, 3))),
        lambda: Gaussian(4.0).apply(points(3), points(3), beta=np.ones(3)),
        lambda: neighbour_width(points(1)),
        lambda: neighbour_width(points(5), n_neighbours=0),
        lambda: neighbour_width(points(5), n_neighbours=2.0),
        lambda: neighbour_width(np.ones((5, 2))),
    ],
)
def test_bad_input_is_refused_in_one_sentence(build):
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the wording is checked next
        build()
    assert one_sentence(error), error.value
