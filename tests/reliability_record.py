"""What the tests of reliability tried and what came out, kept in the report of the test run."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Record = Callable[..., None]


def recorder(record_property: Callable[[str, Any], None], category: str) -> Record:
    """A function that notes cases of a category: how many were certified, warned of, refused."""

    def record(cases: int = 1, **outcomes: int) -> None:
        content = {"category": category, "cases": cases, **outcomes}
        record_property("reliability", json.dumps(content, sort_keys=True))

    return record
