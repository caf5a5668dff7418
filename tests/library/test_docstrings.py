"""Every public object has an example that runs and prints what its docstring shows."""

from __future__ import annotations

import doctest
import gc
import importlib
import inspect
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pytest

API = Path(__file__).parents[2] / "docs" / "api.md"
MODULES = ("nvsd", "nvsd.kernels", "nvsd.penalties", "nvsd.losses", "nvsd.plots")


def listed() -> Iterator[tuple[str, str]]:
    """Modules and names in the API reference."""
    module = ""
    for line in API.read_text().splitlines():
        if found := re.fullmatch(r"\.\. currentmodule:: (\S+)", line):
            module = found[1]
        elif found := re.fullmatch(r" {3}([A-Za-z][\w.]*)", line):
            yield module, found[1]


def public() -> dict[str, Any]:
    """What has a docstring of its own, by its full name."""
    found = {}
    exported = [(name, each) for name in MODULES for each in importlib.import_module(name).__all__]
    for module, name in [*exported, *listed()]:
        where, _, last = f"{module}.{name}".rpartition(".")
        thing = getattr(importlib.import_module(where), last)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            found[f"{thing.__module__}.{thing.__qualname__}"] = thing
    return found


PUBLIC = public()


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_the_example_of_an_object_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = inspect.cleandoc(vars(PUBLIC[name]).get("__doc__") or PUBLIC[name].__doc__ or "")
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    assert any(example.want for example in test.examples), f"{name} has no example with output"
    assert not any(doctest.SKIP in example.options for example in test.examples)
    said: list[str] = []
    with warnings.catch_warnings():
        failed, _ = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    plt.close("all")
    if "class " in text:
        gc.collect()  # other tests look for subclasses
    assert not failed, "".join(said)


def test_the_reference_has_what_the_modules_export() -> None:
    reference = {name.split(".")[-1] for _, name in listed()}
    internal = {"LossTerm", "Parabola", "block_norms", "class_weights", "loss_term"}
    internal |= {"weights_of_classes", "Groups", "Weights", "SQUARED"}
    for module in ("nvsd.kernels", "nvsd.penalties", "nvsd.losses", "nvsd.plots"):
        missing = set(importlib.import_module(module).__all__) - reference - internal
        assert not missing, f"{module}: {sorted(missing)} are not in docs/api.md"
