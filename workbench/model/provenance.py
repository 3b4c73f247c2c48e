"""What it takes to get the same result again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Provenance"]


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What it takes to get the same result again.

    Attributes
    ----------
    function : str
        Public name that made the result, such as ``wb.screen``.
    inputs : str
        Store path and version, or digest of the arrays handed in.
    parameters : mapping
        Every argument that changes the answer, JSON values only.
    seed : int or None
        None where nothing is drawn at random.
    version : str
        Version of workbench.
    """

    function: str
    inputs: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    version: str = ""

    def to_json(self) -> str:
        """Write it as one canonical JSON object.

        Examples
        --------
        >>> Provenance(function="wb.screen", inputs="case-042@3", seed=7).to_json()
        '{"function":"wb.screen","inputs":"case-042@3","parameters":{},"seed":7,"version":""}'
        """
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))
