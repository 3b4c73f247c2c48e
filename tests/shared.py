"""Where the reference data stand that tests read but the repository does not hold."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def shared_path(*parts: str) -> Path:
    """Give a path below the shared data, or skip the test with the reason."""
    base = Path(os.environ.get("WORKBENCH_SHARED", ROOT.parent / "shared"))
    path = base.joinpath(*parts)
    if not path.exists():
        pytest.skip(
            f"reference data {'/'.join(parts)} are not here; set WORKBENCH_SHARED to the folder that holds them"
        )
    return path


def shared_exists(*parts: str) -> bool:
    """Tell whether the shared data are here (for parametrising at collection)."""
    base = Path(os.environ.get("WORKBENCH_SHARED", ROOT.parent / "shared"))
    return base.joinpath(*parts).exists()
