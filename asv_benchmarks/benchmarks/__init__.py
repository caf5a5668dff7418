"""Benchmarks of nvsd, run by asv: ``make bench`` (quick) and ``make bench-full`` (everything).

Modules called ``full_...`` hold the sizes and the peers that take minutes; only ``make bench-full``
runs them. The number of rows or the order of a matrix is always the last parameter, so that
``make bench-check`` can pick the smallest.
"""

from __future__ import annotations

import sys
from pathlib import Path

# The ground truth is no part of the wheel. At the end of the path, so that in asv's environments
# the installed nvsd of the commit under test comes before the one of the working tree.
sys.path.append(str(Path(__file__).parents[2]))
