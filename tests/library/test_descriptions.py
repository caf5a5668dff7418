"""What notebooks show of kernels, penalties, losses, and of prepared problems."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest

import nvsd
from nvsd.descriptions import concrete
from nvsd.kernels import Anova, Gaussian, Kernel, Polynomial
from nvsd.losses import Logistic, Loss
from nvsd.penalties import ElasticNet, GroupLasso, Lasso, Penalty


class Page(HTMLParser):
    """Text and tags; every tag that is opened is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + "\n"


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (Gaussian(width=1.5), ["Gaussian", "width", "1.5"]),
        (Polynomial(3), ["degree", "3", "offset"]),
        (2.0 * Gaussian(1.0) + Polynomial(2), ["Sum", "Gaussian(width=1.0)", "degree=2"]),
        (Anova(weights=(1.0,) * 50), ["order", "50 in all"]),
        (Lasso(), ["Lasso"]),
        (ElasticNet(mu=0.3), ["mu", "0.3"]),
        (GroupLasso({"<b>bold</b>": [0]}), ["<b>bold</b>"]),
        (Logistic(), ["Logistic"]),
    ],
    ids=str,
)
def test_fields_in_a_table(shown: Kernel | Penalty | Loss, words: list[str]) -> None:
    page = Page(shown._repr_html_())
    assert page.seen <= {"div", "strong", "span", "table", "tr", "td", "code"}
    for word in words:
        assert word in page.text


@pytest.mark.parametrize("kind", [Kernel, Penalty, Loss])
def test_every_class_says_what_it_is(kind: type) -> None:
    for each in concrete(kind):
        if each.__module__.startswith("nvsd."):
            assert len((each.__doc__ or "").splitlines()[0]) > 5


def test_a_prepared_problem(rng: np.random.Generator) -> None:
    X = rng.standard_normal((20, 3))
    page = Page(nvsd.prepare(X, kernel=Gaussian(2.0), nu=1e-3)._repr_html_())
    for word in ("20", "Squared()", "Gaussian(width=2.0)", "0.001", "derivative"):
        assert word in page.text
    weighted = nvsd.prepare(X, kernel=Gaussian(2.0), sample_weight=np.arange(20.0))
    assert "weighted" in Page(weighted._repr_html_()).text
