"""What a user may write, and what is refused."""

from __future__ import annotations

import gc
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from nvsd.penalties import (
    BoundPenalty,
    ElasticNet,
    GroupLasso,
    Lasso,
    Penalty,
    SparseGroupLasso,
)

LABELS = ["b", "a", "b", "c", "a"]
FEATURES = ["age", "height", "weight", "sex", "dose"]


@pytest.mark.parametrize(
    "groups",
    [
        LABELS,
        np.array(LABELS),
        {"b": ["age", "weight"], "a": ["height", "dose"], "c": ["sex"]},
        {"b": [0, 2], "a": np.array([1, 4]), "c": [3]},
        {"b": ("weight", 0), "a": (1, "dose"), "c": ("sex",)},
        pd.Series(LABELS),
        pd.Series(list("babca"), index=["weight", "dose", "age", "sex", "height"]),
        xr.DataArray(LABELS),
        xr.DataArray(list("babca"), {"sensor": ["weight", "dose", "age", "sex", "height"]}),
    ],
)
def test_ways_to_give_groups(groups: Any) -> None:
    for kind in (GroupLasso, SparseGroupLasso):
        penalty = kind(groups)
        bound = penalty.bind(FEATURES)
        assert penalty.group_labels(FEATURES) == LABELS
        assert bound.group_names == ("b", "a", "c")
        np.testing.assert_array_equal(bound.labels, [0, 1, 0, 2, 1])


def test_columns_that_are_called_by_integers() -> None:
    columns: Any = [2, 0, 3, 1]
    series = pd.Series(list("AABB"), index=columns)
    assert GroupLasso(series).group_labels(columns) == list("AABB")
    assert GroupLasso(series[::-1]).group_labels(columns) == list("AABB")
    assert GroupLasso({"A": ["2", "0"], "B": ["1", "3"]}).group_labels(columns) == list("AABB")
    years: Any = [2000, 2001, 2002]
    assert GroupLasso({"old": [2000, 2001], "new": [2002]}).group_labels(years) == [
        "old",
        "old",
        "new",
    ]
    waves: Any = [400.5, 403.0]
    assert GroupLasso({"low": [400.5], "high": [403.0]}).group_labels(waves) == ["low", "high"]
    # By number: where columns are called by their own numbers there is no difference.
    assert GroupLasso({"A": [0, 2], "B": [1]}).group_labels([0, 1, 2]) == list("ABA")  # type: ignore[list-item]


def test_group_labels_are_text() -> None:
    assert GroupLasso([3, 3, 1]).group_labels(3) == ["3", "3", "1"]
    by_number: Any = {7: [0, 1]}
    assert GroupLasso(by_number, weights={"7": 2.0}).bind(2).group_names == ("7",)
    for penalty in (Lasso(), ElasticNet(mu=[0.1, 0.9])):
        assert penalty.group_labels(FEATURES) == FEATURES
        assert penalty.group_labels(2) == ["x0", "x1"]


def test_default_group_weights_are_the_sizes() -> None:
    np.testing.assert_array_equal(GroupLasso(LABELS).bind(5).group_weights, [2, 2, 1])
    np.testing.assert_array_equal(
        SparseGroupLasso(LABELS, rho=0.25).bind(5).group_weights, [1.5, 1.5, 0.75]
    )


def test_weights_by_name() -> None:
    np.testing.assert_array_equal(
        Lasso({"sex": 0, "age": 3}).bind(FEATURES).feature_weights, [3, 1, 1, 0, 1]
    )
    np.testing.assert_array_equal(
        GroupLasso(LABELS, {"c": 9}).bind(FEATURES).group_weights, [2, 2, 9]
    )


def test_split() -> None:
    assert ElasticNet([0.1, 0.9], [1, 2]).split() == (
        ElasticNet(0.1, [1, 2]),
        ElasticNet(0.9, [1, 2]),
    )
    assert ElasticNet(0.3).split() == (ElasticNet(0.3),)


@pytest.mark.parametrize(
    "penalty",
    [
        Lasso([1, 0.1, 1 / 3]),
        Lasso({"age": 2}),
        ElasticNet(mu=[0.1, 0.9], weights=list(np.ones(5))),
        GroupLasso(list(np.array([0, 0, 1])), weights=(1, 2)),
        GroupLasso({"a": [0, "age"], "b": ["dose"]}, {"a": 2}),
        SparseGroupLasso({"1": ["age"]}, rho=np.float64(0.1)),
    ],
    ids=str,
)
def test_json_and_hash(penalty: Penalty) -> None:
    again = Penalty.from_json(penalty.to_json())
    assert again == penalty
    assert hash(again) == hash(penalty)
    assert repr(again) == repr(penalty)


BAD: dict[str, tuple[Callable[[], object], str]] = {
    "overlap": (lambda: GroupLasso({"a": [0, 1], "b": [1, 2]}).bind(3), "overlap in 'x1'"),
    "twice": (lambda: GroupLasso({"a": ["x0", 0]}).bind(1), "overlap in 'x0'"),
    "taken": (lambda: SparseGroupLasso({"x0": [1]}).bind(3), "other groups are called 'x0'"),
    "unknown name": (lambda: GroupLasso({"a": ["age", "agee"]}).bind(["age"]), "name 'agee'"),
    "unknown index": (lambda: GroupLasso({"a": [0, -1, 7]}).bind(1), "name -1, 7"),
    "names lost": (lambda: GroupLasso({"a": ["age"]}).bind(2), r"set_output\(transform='pandas'\)"),
    "names changed": (
        lambda: GroupLasso({"a": ["age"]}).bind(["num__age", "num__size"]),
        "verbose_feature_names_out=False",
    ),
    "labels": (lambda: GroupLasso([0, 1]).bind(3), "2 group labels .* 3 features"),
    "empty group": (lambda: GroupLasso({"a": [0], "b": []}), "group b is empty"),
    "no groups": (lambda: GroupLasso([]), "groups is empty"),
    "not a list": (lambda: GroupLasso({"a": "age", "b": ["size"]}), "group a is 'age'"),
    "groups a number": (lambda: GroupLasso(3), "groups is 3"),  # type: ignore[arg-type]
    "name or number": (
        lambda: GroupLasso({"a": [1, 0]}).bind(["1", "0"]),
        "1 is the number of input '0' and the name of another input; give '1' for the name",
    ),
    "a table": (lambda: GroupLasso(pd.DataFrame({"g": [0]})), "a DataFrame was given"),  # type: ignore[arg-type]
    "no label": (lambda: GroupLasso(["a", None]), "None cannot name"),  # type: ignore[list-item]
    "NaN label": (lambda: GroupLasso(["a", math.nan]), "nan cannot name"),  # type: ignore[list-item]
    "mu below": (lambda: ElasticNet(-0.1), "mu is -0.1"),
    "mu above": (lambda: ElasticNet([0.5, 1.1]), "mu is 1.1"),
    "mu NaN": (lambda: ElasticNet(math.nan), "mu is nan"),
    "mu text": (lambda: ElasticNet("0.5"), "mu is '0.5'"),  # type: ignore[arg-type]
    "weights a number": (lambda: Lasso(np.array(0.5)), "weights is 0.5"),  # type: ignore[arg-type]
    "mu empty": (lambda: ElasticNet([]), "mu is empty"),
    "mu sequence": (lambda: ElasticNet([0.5, 1]).bind(2), r"split\(\)"),
    "rho above": (lambda: SparseGroupLasso([0], rho=2), "rho is 2"),
    "rho NaN": (lambda: SparseGroupLasso([0], rho=math.nan), "rho is nan"),
    "rho list": (lambda: SparseGroupLasso([0], rho=[0.5]), "rho is "),  # type: ignore[arg-type]
    "negative weight": (lambda: Lasso([1, -2]), "weight is -2"),
    "NaN weight": (lambda: GroupLasso([0], {"0": math.nan}), "weight is nan"),
    "infinite weight": (lambda: ElasticNet(weights=[math.inf]), "weight is inf"),
    "text weight": (lambda: Lasso(["1"]), "weight is '1'"),  # type: ignore[list-item]
    "one weight": (lambda: Lasso(2.0), "weights is 2.0"),  # type: ignore[arg-type]
    "feature weights": (lambda: Lasso([1, 2]).bind(3), "2 weights .* 3 features"),
    "group weights": (lambda: GroupLasso([0, 0], [1, 2]).bind(2), "2 weights .* 1 groups"),
    "weight of nobody": (lambda: Lasso({"agee": 1}).bind(["age"]), "weights for 'agee'"),
    "weight of no group": (lambda: GroupLasso(["a"], {"b": 1}).bind(1), "weights for 'b'"),
    "names": (lambda: Lasso().bind(["age", "age"]), "several called 'age'"),
    "json kind": (
        lambda: Penalty.from_json('{"penalty": "Ridge"}'),
        "Ridge.* does not describe a penalty",
    ),
    "json list": (lambda: Penalty.from_json("[1]"), "does not describe a penalty"),
    "json text": (lambda: Penalty.from_json("Lasso()"), "does not describe a penalty"),
    "json field": (
        lambda: Penalty.from_json('{"penalty": "Lasso", "tau": 1}'),
        "tau.* does not describe a penalty",
    ),
    "json lacks": (
        lambda: Penalty.from_json('{"penalty": "GroupLasso"}'),
        "does not describe a penalty",
    ),
    "json value": (lambda: Penalty.from_json('{"penalty": "ElasticNet", "mu": 2}'), "mu is 2"),
}


@pytest.mark.parametrize(("make", "message"), BAD.values(), ids=BAD.keys())
def test_bad_input(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        make()
    assert str(error.value).endswith(".")
    assert "\n" not in str(error.value)


def test_json_is_plain() -> None:
    assert json.loads(GroupLasso({"a": [0]}).to_json()) == {
        "penalty": "GroupLasso",
        "groups": {"a": [0]},
        "weights": None,
    }


def test_a_series_of_weights_is_taken_by_name_unless_it_only_counts() -> None:
    weights = pd.Series([5.0, 1.0, 4.0, 3.0, 2.0], index=[FEATURES[i] for i in (4, 0, 3, 2, 1)])
    alone = np.eye(len(FEATURES))  # J of an input of norm 1 is its weight
    np.testing.assert_allclose(Lasso(weights).bind(FEATURES).value(alone), [1, 2, 3, 4, 5])
    counted = Lasso(weights.reset_index(drop=True)).bind(FEATURES)
    np.testing.assert_allclose(counted.value(alone), weights)
    labelled = xr.DataArray(weights.to_numpy(), {"feature": weights.index.to_numpy()})
    np.testing.assert_allclose(Lasso(labelled).bind(FEATURES).value(alone), [1, 2, 3, 4, 5])
    assert ElasticNet(xr.DataArray([0.5, 0.3])) == ElasticNet([0.5, 0.3])
    for one in (np.array(0.5), xr.DataArray(0.5)):
        assert ElasticNet(one) == ElasticNet(0.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'dose', but there are also weights for 'colour'"):
        Lasso(weights.rename({"age": "colour"})).bind(FEATURES)


@pytest.mark.parametrize("mu", [[0.5, 0.5], True])
def test_values_of_mu_are_distinct_numbers(mu: Any) -> None:
    with pytest.raises(ValueError, match="mu"):
        ElasticNet(mu)


def test_json_of_a_penalty_that_someone_else_has_written() -> None:
    """Also of a class below one of the library's."""

    @dataclass(frozen=True)
    class Doubled(Lasso):
        factor: float = 2.0

        def _bind(self, names: list[str]) -> BoundPenalty:
            bound = super()._bind(names)
            return replace(bound, feature_weights=self.factor * bound.feature_weights)

    penalty = Doubled([1.0, 0.5], 3.0)
    again = Penalty.from_json(penalty.to_json())
    assert type(again) is Doubled
    assert again == penalty
    np.testing.assert_array_equal(again.bind(2).feature_weights, [3.0, 1.5])
    with pytest.raises(ValueError, match="a weight is -1"):
        Doubled([-1])  # the checks of the parent hold
    # Other tests look for the subclasses of Penalty.
    del Doubled, penalty, again
    gc.collect()


def test_the_checks_of_a_class_are_its_own() -> None:
    @dataclass(frozen=True)
    class Odd(Lasso):
        checks: ClassVar = {**Lasso.checks, "factor": lambda value: 10 * value}
        factor: int = 2

    assert Odd(factor=3).factor == 30
    assert Lasso([1, 2]).weights == (1.0, 2.0)
    del Odd
    gc.collect()


@pytest.mark.parametrize(
    "groups",
    [
        {"g": ["a", "c"]},
        {"a": "g", "c": "g"},
        {0: "g", "c": "g"},
        {"a": "g", "b": "b", "c": "g"},
        pd.Series({"c": "g", "a": "g"}),
    ],
)
def test_groups_may_be_partial_and_by_feature(groups):
    penalty = GroupLasso(groups)
    assert list(penalty.group_labels(["a", "b", "c"])) == ["g", "b", "g"]
    assert Penalty.from_json(penalty.to_json()) == penalty


def test_a_group_cannot_take_the_name_of_a_feature_on_its_own():
    with pytest.raises(ValueError, match="groups of their own, but other groups are called 'b'"):
        GroupLasso({"b": ["a", "c"]}).bind(["a", "b", "c"])
