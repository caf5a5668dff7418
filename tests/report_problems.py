"""Reports as a browser finds them, and names that no page must trip over."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\"double\" & 'single'",
    "line\nbreak\r\nand\ttab",
    "x" * 10_000,
    "\u2028\u2029\u202e\0",
    "{{data}}{{script}}",
    "\\u003c\\",
    "]]> --> <!-- <![CDATA[",
    "\ud800 lone surrogate",
    "$& $1 %s",
]


class Parsed(HTMLParser):
    """Tags with their attributes, as a browser would find them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def content(text: str) -> dict[str, Any]:
    """The data inside a report, found as a browser finds it."""
    element = re.search(r'<script type="application/json" id="data">(.*?)</script', text, re.S)
    assert element is not None
    result: dict[str, Any] = json.loads(element[1])
    return result
