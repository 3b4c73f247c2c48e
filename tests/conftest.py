"""Tests import their helpers (``shared``, ``lcg``) by name."""

import os
import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

# The gate asks the same questions every time, so that a red run is the change's own doing; set
# WORKBENCH_EXAMPLES=fresh to search on.
settings.register_profile("gate", derandomize=True, deadline=None, database=None)
settings.register_profile("fresh", deadline=None)
settings.load_profile(os.environ.get("WORKBENCH_EXAMPLES", "gate"))
