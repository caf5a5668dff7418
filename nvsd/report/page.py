"""The HTML of a report from its content: names are data, never markup."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from importlib.resources import files
from typing import Any

# The scripts of each template, in this order.
SCRIPTS = {
    "template.html": (
        "svg.js", "text.js", "table.js", "words.js", "charts.js", "path.js", "script.js"
    ),
    "selection.html": ("svg.js", "text.js", "table.js", "judged.js", "selection.js"),
}  # fmt: skip
TITLE = "NVSD report"


def page(content: dict[str, Any], title: str | None = None, template: str = "template.html") -> str:
    """The whole page; the only script and style that may run are those of this package."""
    style = _read("style.css")
    script = '"use strict";\n(() => {\n' + "\n".join(map(_read, SCRIPTS[template])) + "})();\n"
    parts = {
        "title": html.escape(_printable(TITLE if title is None else str(title))),
        "policy": (
            f"default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
            f"style-src {_hash(style)}; script-src {_hash(script)}"
        ),
        "table": _read("table.html").rstrip(),
        "style": style,
        "script": script,
        "data": embed(content),
    }
    # One pass: inserted text is not searched for further marks.
    return re.sub(r"\{\{(\w+)\}\}", lambda mark: parts[mark[1]], _read(template))


def embed(content: object) -> str:
    """JSON that is safe inside a script element: plain ASCII without <, > and &."""
    text = json.dumps(content, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


def _printable(text: str) -> str:
    """On one line, without control characters, direction marks and lone surrogates."""
    line = " ".join(text.split())
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)


def _read(name: str) -> str:
    return (files("nvsd.report") / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The source expression of a content security policy that allows this text and no other."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
