"""Settings of the documentation site, which `make docs` builds."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "scripts"))

from executed import blocks, with_outputs  # noqa: E402
from mathjax import SCRIPT, vendor  # noqa: E402

import nvsd  # noqa: E402

project = "nvsd"
author = "nvsd developers"
copyright = "nvsd developers, BSD 3-Clause"  # noqa: A001
release = version = nvsd.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
exclude_patterns = ["_build", "_templates", "examples", "scripts"]
templates_path = ["_templates"]
default_role = "py:obj"

myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
# The pages that scripts write may start with a section of a lower level.
suppress_warnings = ["myst.header"]

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
toc_object_entries_show_parents = "hide"

MATHJAX = DOCS / "_build" / "mathjax"
mathjax_path = SCRIPT
# The menu would load more of MathJax.
mathjax3_config = {"options": {"enableMenu": False}}

html_theme = "pydata_sphinx_theme"
html_title = "nvsd"
html_static_path = ["_static", str(MATHJAX)]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars: dict[str, list[str]] = {
    page: []
    for page in ("index", "start", "which_function", "results", "contributing", "changelog")
}

# Scripts write these pages from stored results; they may be missing.
WRITTEN = ("replication", "performance", "scaling", "reliability")


def keep_existing(app: Any, name: str, source: list[str]) -> None:
    """Leave pages that have not been written out of the list of results."""
    if name == "results":
        missing = {page for page in WRITTEN if not (DOCS / f"{page}.md").is_file()}
        source[0] = "\n".join(line for line in source[0].split("\n") if line not in missing)


def show_outputs(app: Any, name: str, source: list[str]) -> None:
    """Run the code of a page and show what it prints and draws."""
    if app.env.doc2path(name).suffix == ".md" and name not in WRITTEN and blocks(source[0]):
        images = DOCS / "generated" / "figures"
        source[0] = with_outputs(source[0], name, images, "/generated/figures")


def escape_norms(app: Any, what: str, name: str, *rest: Any) -> None:
    """Keep |x| in a docstring as a norm; reStructuredText would see a substitution."""
    lines = rest[-1]
    lines[:] = [line if "``" in line else line.replace("|", r"\|") for line in lines]


def drop_foreign_references(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Docstrings that scikit-learn's mixins hand down refer to pages of its own site."""
    lines[:] = [re.sub(r":ref:`([^<`]+) <[^>`]+>`", r"\1", line) for line in lines]


def setup(app: Any) -> None:
    """Called by Sphinx."""
    vendor(MATHJAX)
    app.connect("autodoc-process-docstring", escape_norms)
    app.connect("autodoc-process-docstring", drop_foreign_references)
    app.connect("source-read", keep_existing)
    app.connect("source-read", show_outputs)
