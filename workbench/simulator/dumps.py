"""Raw dumps of a simulated cluster, with the truth beside them: ``wb.simulate``."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.errors import UsageError
from workbench.simulator.exposition import Series, text_file, write_scrapes
from workbench.simulator.kernel_text import kernel_lines, write_kernel_logs
from workbench.simulator.layout import Site
from workbench.simulator.mixed_names import write_mixed_names
from workbench.simulator.naming import Names, names_of
from workbench.simulator.noise import Floats, stream
from workbench.simulator.physical import printed, readings, reloads_of
from workbench.simulator.plants import Plant, Role
from workbench.simulator.scenarios import Channel, Scenario, scenario_of
from workbench.simulator.site_text import write_accounting, write_bmc, write_rooms, write_topology
from workbench.simulator.truth_text import dumped, mapping_text, readme_text, truth_of_dump
from workbench.simulator.world import World, make_world
from workbench.timebase import MICROS, format_duration, parse_duration

__all__ = ["Simulated", "simulate"]

_LEMON = Plant(name="lemon", role=Role.LEMON, scope="gpu")
_HELP_EVERY = 8  # every eighth host repeats HELP and TYPE in each scrape


@dataclass(frozen=True, eq=False, kw_only=True)
class Simulated:
    """What was written, and what is true of it.

    Attributes
    ----------
    path : Path
        Folder with ``dumps/``, ``mapping.toml``, ``truth.json`` and ``README.txt``.
    scenario : str
    seed : int
    files : tuple of str
        Below ``path``, in order.
    samples : int
        Metric samples in the expositions.
    truth : mapping
        As in ``truth.json``.
    """

    path: Path
    scenario: str
    seed: int
    files: tuple[str, ...]
    samples: int
    truth: Mapping[str, Any]

    def table(self) -> pl.DataFrame:
        """One row per signal and outcome: what is planted, and which verdict words are right."""
        rows = [
            {
                "outcome": outcome,
                "signal": entry["signal"],
                "is_precursor": entry["is_precursor"],
                "share": entry.get("share"),
                "median_lead_s": entry.get("median_lead_s"),
                "expected": " or ".join(words),
                "why": entry["why"],
            }
            for entry in self.truth["signals"]
            for outcome, words in entry["expected"].items()
        ]
        schema = {"share": pl.Float64(), "median_lead_s": pl.Float64()}
        return pl.DataFrame(rows, schema_overrides=schema, infer_schema_length=None)

    def __str__(self) -> str:
        truth = self.truth
        return (
            f"{self.scenario}, seed {self.seed}: {truth['hosts']} hosts, {len(truth['failures'])} failures in "
            f"{truth['episodes']} episodes, {len(self.files)} files, {self.samples:,} samples"
        )


def simulate(
    out: Path | str,
    *,
    seed: int,
    scenario: str = "first_incident",
    hosts: int | None = None,
    days: float | None = None,
    step: str | float = "1m",
) -> Simulated:
    """Write raw dumps of a made-up cluster, with ``truth.json`` saying what was planted.

    Parameters
    ----------
    out : path
        New or empty folder.
    seed : int
        Same arguments, same bytes.
    scenario : str
        ``first_incident``, ``null``, ``traps``, or ``names`` (every source names every device otherwise; ``step`` is its own).
    hosts : int, optional
        The scenario's own number if None; failures are scaled with the size.
    days : float, optional
        Likewise.
    step : str or float
        Time between scrapes, whole minutes.

    Returns
    -------
    Simulated

    Raises
    ------
    UsageError
        A folder with something in it, an unknown scenario, a step that is no whole number of minutes,
        or a cluster too small for its failures.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = simulate(Path(folder) / "new", seed=7, hosts=8, days=1, step="10m")
    >>> made.files[:2], made.truth["outcome"]
    (('README.txt', 'dumps/bmc/power_15min.csv.gz'), {'memory': 'xid:48,94,95'})
    """
    folder = Path(out)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"'{folder}' is there and not an empty folder; name a new one.")
    if scenario == "names":
        truth = write_mixed_names(folder, seed=seed, hosts=hosts, days=days)
        return Simulated(path=folder, scenario=scenario, seed=seed, files=_files(folder), samples=0, truth=truth)
    stride = parse_duration(step) / 60.0
    if stride != int(stride) or stride < 1:
        raise UsageError(
            f"A step of {format_duration(stride * 60)} is no whole number of minutes; write such as 1m or 2m."
        )
    story = _sized(scenario_of(scenario), hosts, days)
    world = _world(story, seed)
    names = names_of(world)
    dumps = folder / "dumps"
    site = _Site(folder=dumps, world=world, names=names, seed=seed, stride=int(stride))
    samples = _write_metrics(site, story.channels)
    boot_us = int(world.ts_us[0]) - 843_127 * MICROS
    write_kernel_logs(dumps, kernel_lines(world, names, _LEMON.name, seed=seed), names, boot_us=boot_us)
    jobs = write_accounting(dumps, world, names, seed=seed)
    write_topology(dumps, world, names)
    write_rooms(dumps, world, seed=seed)
    truth = truth_of_dump(world, story, names, jobs, seed=seed)
    command = (
        f"workbench simulate --out . --scenario {story.name} --hosts {story.hosts} --days {story.days:g} --seed {seed}"
    )
    raw = _files(folder)
    _write(folder / "truth.json", dumped(truth))
    _write(folder / "mapping.toml", mapping_text(world))
    _write(folder / "README.txt", readme_text(story, command, raw))
    return Simulated(path=folder, scenario=story.name, seed=seed, files=_files(folder), samples=samples, truth=truth)


def _sized(story: Scenario, hosts: int | None, days: float | None) -> Scenario:
    wanted = replace(story, hosts=story.hosts if hosts is None else hosts, days=story.days if days is None else days)
    if wanted.hosts < 1 or wanted.days < 0.5:
        raise UsageError(
            f"A cluster of {wanted.hosts} hosts and {wanted.days:g} days is too small; at least 1 and 0.5."
        )
    scale = wanted.hosts * wanted.days / (story.hosts * story.days)
    if scale == 1.0:
        return wanted
    return replace(wanted, failures=max(1, round(story.failures * scale)), episodes=0)


def _world(story: Scenario, seed: int) -> World:
    return make_world(
        seed=seed,
        failures=story.failures,
        episodes=story.episodes,
        hosts=story.hosts,
        days=story.days,
        plants=[*(channel.plant for channel in story.channels if channel.plant is not None), _LEMON],
        gpus_per_host=story.gpus,
        site=Site(rack_size=story.rack_size, job_hosts=story.job_hosts, requeue=True),
        kinds=tuple(story.outcome),
        hazard=story.hazard,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _Site:
    """Where metrics are written, and of what."""

    folder: Path
    world: World
    names: Names
    seed: int
    stride: int


def _write_metrics(site: _Site, channels: Sequence[Channel]) -> int:
    """Write the expositions and the BMC export; numbers wait on disk, so that memory stays small."""
    world = site.world
    samples = 0
    for source, rows in (("dcgm", len(world.entities)), ("node", len(world.hosts))):
        own = [channel for channel in channels if channel.source == source]
        shape = (len(own), rows, world.ts_us.size)
        with tempfile.TemporaryDirectory() as scratch:
            values = np.lib.format.open_memmap(Path(scratch) / "values.npy", "w+", np.float64, shape)
            for index, channel in enumerate(own):
                values[index] = readings(world, channel, seed=site.seed)
            if source == "dcgm":
                values[:, reloads_of(world)[world.host_of]] = np.nan
            samples += sum(_write_host(site, host, own, values) for host in range(len(world.hosts)))
            del values  # closes the file before its folder goes
    for channel in channels:
        if channel.source == "bmc":
            write_bmc(site.folder, world, site.names, readings(world, channel, seed=site.seed))
    return samples


def _write_host(site: _Site, host: int, channels: Sequence[Channel], values: Floats) -> int:
    """Write the exposition of one host; give how many samples."""
    names, source = site.names, channels[0].source
    gpus = source == "dcgm"
    per_host = names.per_host if gpus else 1
    folder, name = ("dcgm", names.short[host]) if gpus else ("node_exporter", names.fqdn(host))
    packed = "zst" if host % 2 else "gz"  # collectors differ in how they pack
    series = [
        Series(
            meta=f"# HELP {channel.name} {channel.help}\n# TYPE {channel.name} {channel.kind}\n" if place == 0 else "",
            head=f"{channel.name}{{{_labels(channel, names, host, place)}}} ",
            values=printed(values[index, host * per_host + place, :: site.stride], channel.decimals),
        )
        for index, channel in enumerate(channels)
        for place in range(per_host)
    ]
    stamps = _stamps_ms(site, host, source)
    with text_file(site.folder / folder / f"{name}.prom.{packed}") as file:
        return write_scrapes(file, stamps, series, meta="every" if host % _HELP_EVERY == 0 else "first")


def _labels(channel: Channel, names: Names, host: int, place: int) -> str:
    if channel.source == "dcgm":
        entity = host * names.per_host + place
        return (
            f'gpu="{place}",UUID="{names.uuids[entity]}",pci_bus_id="{names.pci_dcgm(entity)}",'
            f'Hostname="{names.short[host]}"'
        )
    extra = f",{channel.labels}" if channel.labels else ""
    return f'instance="{names.fqdn(host)}:9100"{extra}'


def _stamps_ms(site: _Site, host: int, source: str) -> NDArray[np.int64]:
    """Times of the scrapes of one host: its own second of the minute, up to two seconds of jitter."""
    rng = stream(site.seed, f"scrapes of {source} {host}")
    minutes = site.world.ts_us[:: site.stride]
    within = int(rng.integers(0, 55 * MICROS)) + rng.integers(0, 2 * MICROS, size=minutes.size)
    return np.asarray((minutes + within + site.names.shift_us(host)) // 1000, dtype=np.int64)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _files(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()))
