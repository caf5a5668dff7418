"""The report in a real browser: headless Chromium, driven through ChromeDriver."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from browser_problems import Page

import nvsd
from nvsd.kernels import Gaussian, Linear, Polynomial
from nvsd.penalties import ElasticNet, GroupLasso
from nvsd.report import write_report

HOSTILE = [
    "<script>document.title='broken'</script>",
    "</script><img src=x onerror=\"document.title='broken'\">",
    "\"double\", 'single' & ampersand",
    "line\nbreak\r\nand\ttab",
    "x" * 10_000,
    "{{data}} \u2028 \u202eright to left",
]


@pytest.fixture(scope="module")
def sample() -> nvsd.datasets.Sample:
    return nvsd.datasets.make_e1(30, seed=0)


@pytest.fixture(scope="module")
def path(sample: nvsd.datasets.Sample) -> xr.Dataset:
    X = pd.DataFrame(sample.X, columns=sample.names)
    penalty = GroupLasso(sample.groups)
    return nvsd.nvsd_path(X, sample.y, kernel=Gaussian(4.0), penalty=penalty, n_taus=12)


@pytest.fixture(scope="module")
def report(
    path: xr.Dataset, sample: nvsd.datasets.Sample, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    fresh = nvsd.datasets.make_e1(50, seed=1)
    out = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(path, out, y=sample.y, validation=(fresh.X, fresh.y))


def test_the_slider_shows_what_the_path_selected(
    page: Page, report: Path, path: xr.Dataset
) -> None:
    page.open(report)
    assert page.text("h1") == "Which inputs does y depend on?"
    for t in (0, 11, 3, 7):
        page.move(t)
        selected = np.flatnonzero(path["support"].values[t])
        assert sorted(page.listed()) == selected.tolist()
        norms = path["derivative_norm"].values[t, page.listed()]
        assert (np.diff(norms) <= 1e-3 * norms[:-1]).all()
        assert page.text("#selected-title") == f"Selected: {len(selected)} of 18"
        yes = [row[0] for row in page.table() if row[2] == "yes"]
        assert sorted(yes) == sorted(path["feature"].values[selected])
    assert len(set(path["n_selected"].values[[0, 11, 3, 7]])) > 1


def test_keys_change_tau_and_the_change_is_announced(
    page: Page, report: Path, path: xr.Dataset
) -> None:
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

    page.open(report)
    page.press("#tau", Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    count = int(path["n_selected"][2])
    assert f"{count} of 18 inputs selected" in page.run(
        "return document.getElementById('tau').getAttribute('aria-valuetext')"
    )
    expected = f"{count} of 18 inputs selected"
    WebDriverWait(page.driver, 10).until(lambda _: expected in page.text("#status"))
    assert page.run("return document.getElementById('status').getAttribute('aria-live')")


def test_lines_are_named_by_focus_and_by_pointer(
    page: Page, report: Path, path: xr.Dataset
) -> None:
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    page.open(report)
    page.move(9)
    lines = "[...document.querySelectorAll('#path-chart path[data-input]')]"
    assert page.run(f"return {lines}.filter((line) => line.tabIndex === 0).length") == 1
    order = np.argsort(-path["derivative_norm"].values[9], kind="stable")
    page.run(f"{lines}.find((line) => line.dataset.input === '{order[0]}').focus()")
    page.driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    assert page.text("#readout").startswith(f"{path['feature'].values[order[1]]} — group")
    page.driver.switch_to.active_element.send_keys(Keys.ARROW_LEFT)
    page.settle()
    assert page.run("return document.getElementById('tau').value") == "8"

    a = int(order[0])
    dot = page.run(
        f"const line = {lines}.find((line) => line.dataset.input === '{a}');"
        "const at = line.getPointAtLength(line.getTotalLength() * 0.8);"
        "const frame = line.ownerSVGElement.getBoundingClientRect();"
        "const view = line.ownerSVGElement.viewBox.baseVal;"
        "return [at.x - view.width / 2, at.y - view.height / 2];"
    )
    chart = page.driver.find_element("css selector", "#path-chart svg")
    ActionChains(page.driver).move_to_element_with_offset(
        chart, round(dot[0]), round(dot[1])
    ).perform()
    assert page.text("#tip b") == path["feature"].values[a]


def test_the_table_sorts_finds_and_copies(page: Page, report: Path, path: xr.Dataset) -> None:
    page.open(report)
    page.move(9)
    norms = path["derivative_norm"].values[9]
    page.run("document.querySelectorAll('thead button')[0].click()")
    assert [row[0] for row in page.table()] == list(path["feature"].values)
    assert page.run("return document.querySelector('thead th').ariaSort") == "ascending"
    page.run("document.querySelectorAll('thead button')[3].click()")
    shown = [row[0] for row in page.table()]
    assert shown == [str(path["feature"].values[a]) for a in np.argsort(-norms, kind="stable")]
    page.run(
        "window.copied = null; Object.defineProperty(navigator, 'clipboard',"
        "{value: {writeText: async (text) => { window.copied = text; }}});"
        "document.getElementById('copy').click();"
    )
    rows = list(csv.DictReader(io.StringIO(page.run("return window.copied"))))
    assert [row["Input"] for row in rows] == shown
    np.testing.assert_allclose(
        [float(row["Derivative norm"]) for row in rows], np.sort(norms)[::-1], rtol=5e-4
    )
    page.press("#find", "x12")
    assert [row[0] for row in page.table()] == ["x12"]


def test_hostile_names_come_through_unharmed(
    page: Page, sample: nvsd.datasets.Sample, tmp_path: Path
) -> None:
    X = pd.DataFrame(sample.X[:, :6], columns=HOSTILE)
    path = nvsd.nvsd_path(X, sample.y, kernel=Polynomial(2), n_taus=5)
    y = pd.Series(sample.y, name="</h1><b>y")
    page.open(write_report(path, tmp_path / "r.html", X=X, y=y, title="</title><i>t"))
    page.move(4)
    assert page.driver.title == "</title><i>t"
    assert page.text("h1") == "Which inputs does </h1><b>y depend on?"
    assert page.run("return document.querySelectorAll('img, h1 *, tbody script').length") == 0
    page.run(
        "Object.defineProperty(navigator, 'clipboard',"
        "{value: {writeText: async (text) => { window.copied = text; }}});"
        "document.querySelectorAll('thead button')[0].click();"
        "document.getElementById('copy').click();"
    )
    text = page.run("return window.copied")
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert sorted(row[0] for row in rows[1:]) == sorted(HOSTILE)
    page.run("document.querySelector('#path-chart path[data-input=\"4\"]').focus()")
    assert page.text("#readout b") == HOSTILE[4]
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")


def test_mu_is_chosen_beside_tau(page: Page, sample: nvsd.datasets.Sample, tmp_path: Path) -> None:
    penalty = ElasticNet(mu=[0.2, 0.9])
    path = nvsd.nvsd_path(sample.X, sample.y, kernel=Gaussian(4.0), penalty=penalty, n_taus=8)
    page.open(write_report(path, tmp_path / "report.html"))
    for m, t in ((0, 2), (1, 2), (1, 5), (0, 5)):
        page.run(
            "const s = document.getElementById('mu'); s.value = arguments[0];"
            "s.dispatchEvent(new Event('change', {bubbles: true}));",
            m,
        )
        page.move(t)
        selected = np.flatnonzero(path["support"].transpose("mu", "tau", "feature").values[m, t])
        assert sorted(page.listed()) == selected.tolist()


def test_themes_widths_and_two_hundred_inputs(
    page: Page, rng: np.random.Generator, tmp_path: Path
) -> None:
    X = rng.standard_normal((300, 200))
    path = nvsd.nvsd_path(X, X[:, :5].sum(axis=1), kernel=Linear(), n_taus=50)
    page.open(write_report(path, tmp_path / "report.html", X=X, y=X[:, :5].sum(axis=1)))
    for width in (390, 1280):
        for scheme in ("light", "dark"):
            page.resize(width, scheme)
            look = "return getComputedStyle(document.body).backgroundColor"
            shade = page.run(look)
            assert (shade == "rgb(22, 24, 27)") == (scheme == "dark")
            page.run("document.getElementById('theme').click()")
            assert page.run(look) != shade
            page.run("document.getElementById('theme').click()")
            assert page.run("return document.documentElement.scrollWidth") <= width
            page.run("delete document.documentElement.dataset.theme")
    page.move(49)
    assert sorted(page.listed()) == np.flatnonzero(path["support"].values[49]).tolist()
