from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("nvsd", derandomize=True, deadline=None)
settings.load_profile("nvsd")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
