"""Random numbers: a seed from `random_state`, or from `rng` as in SPEC 7."""

from __future__ import annotations

import numpy as np

from nvsd.data.checks import check_seed

Rng = int | np.random.Generator | None


def seed_of(random_state: int | None, rng: Rng = None) -> int:
    """The seed; 0 if neither is given. A Generator gives one, and moves on."""
    if rng is None:
        return 0 if random_state is None else check_seed(random_state)
    if random_state is not None:
        raise ValueError("rng and random_state were both given; leave one of them out.")
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**31))
    return check_seed(rng, "rng")
