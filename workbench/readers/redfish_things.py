"""What the resources of Redfish are about, and how their cells are read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.readers.graph import Node
from workbench.readers.jsoncells import plain_text
from workbench.readers.told import Told

__all__ = ["Places", "kind_of", "unit_of_sensor"]

#: The number behind SXM is that of the module, which is not the index of the GPU.
_MODULE = re.compile(r"(?:HGX_)?GPU_SXM_(\d{1,3})(?=$|[^0-9])")
_UCUM = {"kW.h": "kWh", "W.h": "Wh", "{rev}/min": "RPM", "[ft_i]3/min": "CFM"}
_BY_TYPE = {
    "Temperature": "C", "Power": "W", "EnergykWh": "kWh", "EnergyJoules": "J", "EnergyWh": "Wh", "Rotational": "RPM",
    "Voltage": "V", "Current": "A", "Percent": "%", "Humidity": "%", "Frequency": "Hz", "PressurePa": "Pa",
    "LiquidFlowLPM": "L/min",
}  # fmt: skip
_COUNTED = ("EnergykWh", "EnergyJoules", "EnergyWh")


def unit_of_sensor(sensor: Mapping[str, Any]) -> str | None:
    """Give the unit of a sensor, by its units or else by its type.

    Examples
    --------
    >>> unit_of_sensor({"ReadingUnits": "Cel"}), unit_of_sensor({"ReadingType": "EnergykWh"}), unit_of_sensor({})
    ('Cel', 'kWh', None)
    """
    units, kind = plain_text(sensor.get("ReadingUnits")), plain_text(sensor.get("ReadingType"))
    return _UCUM.get(units, units) if units else _BY_TYPE.get(kind or "")


def kind_of(sensor: Mapping[str, Any]) -> str:
    """Tell whether a sensor counts up."""
    return "counter" if plain_text(sensor.get("ReadingType")) in _COUNTED else "gauge"


@dataclass(eq=False)
class Places:
    """Which thing a resource is about: the host, or a GPU module of it; and what tells namesakes apart.

    Examples
    --------
    >>> told = Told()
    >>> places = Places("n1", told)
    >>> places.of("/redfish/v1/Chassis/HGX_GPU_SXM_4/Sensors/HGX_GPU_SXM_4_TEMP_0", "HGX_GPU_SXM_4_TEMP_0")
    (('n1', 'gpu', 'module:4'), 'HGX_GPU_TEMP_0')
    >>> told.batch().aliases.select("device", "same_as", "rule").rows()
    [('HGX_GPU_SXM_4', 'module:4', 'module id'), ('GPU_SXM_4', 'module:4', 'module id')]
    """

    host: str | None
    told: Told
    _paths: dict[tuple[Node, str], str] = field(default_factory=dict)

    def of(self, path: str, name: str = "") -> tuple[Node, str]:
        """Give the thing, and the name of what is measured without the number of the module."""
        found = _MODULE.search(name) or _MODULE.search(path)
        if found is None:
            return (self.host, "host", None), name
        module = int(found[1])
        node: Node = (self.host, "gpu", f"module:{module}")
        for other in (f"HGX_GPU_SXM_{module}", f"GPU_SXM_{module}"):
            self.told.graph.alias(node, other, "module id")
        return node, _MODULE.sub(lambda part: part[0][: part[0].index("_SXM")], name)

    def labels(self, who: Node, metric: str, path: str) -> dict[str, str]:
        """Label a metric whose name is taken already by a sensor of another path."""
        first = self._paths.setdefault((who, metric), path)
        return {} if first == path else {"path": path}
