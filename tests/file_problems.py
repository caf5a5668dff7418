from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def table(tmp_path: Path, text: str | bytes, name: str = "data.csv") -> Path:
    place = tmp_path / name
    place.write_bytes(text.encode() if isinstance(text, str) else text)
    return place


def refusal(action: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    """The sentence of a ValueError."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        action(*arguments, **options)
    return check_sentence(caught.value)


def check_sentence(error: ValueError) -> str:
    text = str(error)
    assert "\n" not in text
    assert text[-1] in ".?"
    assert len(text) < 600
    return text
