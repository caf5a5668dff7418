"""`python -m nvsd` is the command `nvsd`."""

from __future__ import annotations

import sys

from nvsd.cli import main

sys.exit(main())
