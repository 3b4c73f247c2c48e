"""Tests import their helpers (``shared``, ``lcg``) by name."""

import os
import sys
from pathlib import Path

# As many workers as cores: threads of each of them for small matrices would only get in each other's way.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from hypothesis import settings  # noqa: E402 - after the number of threads is set

sys.path.insert(0, str(Path(__file__).parent))

# The gate asks the same questions every time, so that a red run is the change's own doing; set
# WORKBENCH_EXAMPLES=fresh to search on.
settings.register_profile("gate", derandomize=True, deadline=None, database=None)
settings.register_profile("fresh", deadline=None)
settings.load_profile(os.environ.get("WORKBENCH_EXAMPLES", "gate"))
