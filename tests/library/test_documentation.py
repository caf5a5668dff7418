"""Every block of code in the README and on the pages runs, and links lead somewhere."""

from __future__ import annotations

import gc
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from designs import EXHAUSTIVE

import nvsd

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.append(str(DOCS / "scripts"))
from executed import BLOCK, Block, Session, blocks, folder, with_outputs  # noqa: E402

BUILT = {"_build", "_templates", "generated", "scripts", "examples"}
# Scripts write these from stored results.
WRITTEN = {"replication.md", "performance.md", "scaling.md", "selection.md", "reliability.md"}


def pages() -> list[Path]:
    found = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    return [page for page in found if not BUILT & set(page.relative_to(ROOT).parts)]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


RUN = [page for page in pages() if page.name not in WRITTEN and blocks(page.read_text())]
# `make docs` runs the others in the same way.
README_FIRST = [
    pytest.param(page, id=name_of(page), marks=() if page.parent == ROOT else EXHAUSTIVE)
    for page in RUN
]


@pytest.fixture
def _new_classes_are_forgotten() -> Iterator[None]:
    """Other tests look for the subclasses of kernels and penalties."""
    yield
    gc.collect()


@pytest.mark.usefixtures("_new_classes_are_forgotten")
@pytest.mark.parametrize("page", README_FIRST)
def test_the_code_of_a_page_runs(page: Path) -> None:
    session = Session(name_of(page))
    with folder():
        for block in blocks(page.read_text()):
            session.run(block)


def test_the_site_runs_every_page_but_the_readme(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it shows below the code comes from a run, in which a warning is an error."""
    monkeypatch.syspath_prepend(str(DOCS / "scripts"))
    conf = runpy.run_path(str(DOCS / "conf.py"))
    show, ran = conf["show_outputs"], []
    monkeypatch.setitem(show.__globals__, "with_outputs", lambda *given: ran.append(given[1]))
    app = SimpleNamespace(env=SimpleNamespace(doc2path=lambda name: DOCS / f"{name}.md"))
    for page in RUN:
        if page.parent != ROOT:
            name = page.relative_to(DOCS).with_suffix("").as_posix()
            assert not set(conf["exclude_patterns"]) & set(name.split("/"))
            show(app, name, [page.read_text()])
            assert ran.pop() == name
    warns = "import warnings\nwarnings.warn('is raised', stacklevel=1)\n"
    with pytest.raises(UserWarning, match="is raised"):
        Session("page").run(Block("python", warns, 1, 0))


def test_all_blocks_are_seen() -> None:
    for page in RUN:
        text = page.read_text()
        opened = re.findall(r"^ *(```+|~~~+)(python|sh|bash|console|pycon)\b", text, re.M)
        assert len(opened) == len(BLOCK.findall(text)), name_of(page)
    assert {"README.md", "docs/start.md", "docs/tutorials/million.md"} <= set(map(name_of, RUN))


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    if page.name in WRITTEN:
        pytest.skip("its script writes it")
    text = BLOCK.sub("", page.read_text())
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("https://"):
            continue
        file, _, anchor = target.partition("#")
        place = page if not file else page.parent / file
        assert place.exists(), f"{name_of(page)} links to {target}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", place.read_text(), re.M)
            anchors = [re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings]
            assert anchor in anchors, f"{name_of(page)} links to {target}"


def test_pages_name_no_machine() -> None:
    for page in pages():
        found = re.findall(r"(?<![\w.])/(?:work|root|home|tmp)/\S*", page.read_text())
        assert not found, f"{name_of(page)} has {found}"


def test_what_nvsd_lists_is_there_and_in_the_reference() -> None:
    reference = (DOCS / "api.md").read_text()
    assert dir(nvsd) == sorted(nvsd.__all__)
    for name in set(dir(nvsd)) - {"__version__"}:
        assert getattr(nvsd, name).__name__.endswith(name)
        assert re.search(rf"\b{name}\b", reference), name
    with pytest.raises(AttributeError, match="'nvsd' has no attribute 'selct'"):
        nvsd.selct  # noqa: B018


def test_every_page_is_in_a_list() -> None:
    listed = {"index"}
    for page in DOCS.rglob("*.md"):
        for entries in re.findall(r"```{toctree}\n(.*?)```", page.read_text(), re.S):
            for line in entries.splitlines():
                if line and not line.startswith(":"):
                    entry = re.sub(r".*<(.*)>", r"\1", line)
                    listed.add((page.parent / entry).relative_to(DOCS).as_posix())
    there = {
        page.relative_to(DOCS).with_suffix("").as_posix()
        for page in pages()
        if page.is_relative_to(DOCS)
    }
    missing = there - listed
    assert not missing, f"in no toctree: {sorted(missing)}"


def test_output_follows_its_block(tmp_path: Path) -> None:
    text = (
        "# Title\n\n```python\na = 1_000_000\nprint(a)\n```\n\nThen:\n\n```python\n"
        "import matplotlib.pyplot as plt\nplt.plot([a])\nplt.xlabel('x')\nplt.ylabel('y')\n```\n\n"
        "```sh\npip install nothing-of-this-name\nnvsd --version\n```\n"
    )
    made = with_outputs(text, "a/page", tmp_path, "/figures")
    assert "print(a)\n```\n\n```{code-block} text\n:class: output\n\n10000\n```\n" in made
    (figure,) = tmp_path.glob("*.png")
    assert f"![Plot: y against x](/figures/{figure.name})" in made
    assert made.rstrip().splitlines()[-2].startswith("nvsd ")


def test_a_long_sentence_may_break_and_a_table_may_not(tmp_path: Path) -> None:
    for code, kind in (
        ("print('an error ' * 20)", "output prose"),
        ("print('a  b ' * 30)", "output"),
        ("print('short')", "output"),
    ):
        made = with_outputs(f"# Title\n\n```python\n{code}\n```\n", "page", tmp_path, "")
        assert f":class: {kind}\n" in made


def test_the_whole_size_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVSD_DOCS_FULL", "1")
    session = Session("page")
    assert session.run(Block("python", "print(1_000_000)\n", 1, 0)).text == "1000000\n"


def test_what_fails_is_told_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        with_outputs("# Title\n\n```python\n1 / 0\n```\n", "page", tmp_path, "")
    assert raised.traceback[-1].lineno == 3  # counted from 0
    with pytest.raises(RuntimeError, match="exit code 2 of nvsd nothing"):
        with_outputs("```sh\nnvsd nothing\n```\n", "page", tmp_path, "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built without a warning: here, or just now by `make docs`; NVSD_SITE is where that is."""
    if built := os.environ.get("NVSD_SITE"):
        return ROOT / built
    pytest.importorskip("pydata_sphinx_theme", reason="the docs extra is not installed")
    if not shutil.which("npm") and not (DOCS / "_build" / "mathjax").is_dir():
        pytest.skip("npm, which brings MathJax, is not installed")
    made = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-E", "-b", "html", "-d"]
    command += [str(made / "trees"), str(DOCS), str(made / "html")]
    subprocess.run(command, check=True)
    return made / "html"


@pytest.mark.slow
def test_the_site_needs_no_network(site: Path) -> None:
    assert (site / "_static" / "tex-svg.js").is_file()
    built = {page.relative_to(site).with_suffix("").as_posix() for page in site.rglob("*.html")}
    pages_there = [p.relative_to(DOCS) for p in pages() if p.is_relative_to(DOCS)]
    assert {page.with_suffix("").as_posix() for page in pages_there} <= built
    loaded = re.compile(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=[\"']([^\"']+)")
    for page in site.rglob("*.html"):
        for address in loaded.findall(page.read_text()):
            assert not re.match(r"(https?:)?//", address), f"{page.name} loads {address}"
    for style in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import )[\"']?(https?:)?//", style.read_text()), style.name
