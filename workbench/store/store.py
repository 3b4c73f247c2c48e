"""A store: the folder that holds what was ingested, and the questions it answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import polars as pl

from workbench.errors import StoreError, UnknownNameError
from workbench.model.incident import Incidents
from workbench.model.logtemplates import TEMPLATE
from workbench.model.provenance import Provenance
from workbench.model.selector import Selector
from workbench.readers.base import Reader
from workbench.store.catalog import catalog
from workbench.store.check import StoreCheck, check, vacuum
from workbench.store.compact import compact
from workbench.store.derived import Derived, definitions_of
from workbench.store.dryrun import dry_run as look_only
from workbench.store.engine import Engine, Parameters, ledger_paths
from workbench.store.eventkinds import event_kinds, noise_of
from workbench.store.incidents import Jobs, find_incidents, select_events
from workbench.store.info import StoreInfo, gather
from workbench.store.ingest import Progress, Stated, parse_bytes
from workbench.store.ingest import ingest as run_ingest
from workbench.store.ledger import append_ledger, read_ledger
from workbench.store.manifest import Snapshot, history, snapshot
from workbench.store.marker import make_store, require_layout
from workbench.store.places import Places
from workbench.store.quarantine import REJECT_COUNTS, REJECTS, Quarantine
from workbench.store.report import IngestReport
from workbench.store.sandbox import require_reading
from workbench.store.seen import join_intervals
from workbench.store.stories import bursts, follows, told_of
from workbench.store.templates import Templates, gather_templates, template_events
from workbench.version import __version__

__all__ = ["Store", "open"]


def open(path: Path | str, *, create: bool = True) -> Store:  # noqa: A001 -- read as wb.open
    """Open a store, or make an empty one.

    Parameters
    ----------
    path : path
        Folder of the store.
    create : bool
        Make it where there is none; False: then that is an error.

    Raises
    ------
    StoreError
        Where the folder is no store, cannot be read or made, or the store is of a newer version of
        workbench; each with what to do.

    Examples
    --------
    >>> import tempfile
    >>> store = open(Path(tempfile.mkdtemp()) / "case-042")
    >>> store.version, store.catalog().height
    ('0', 0)
    """
    root = Path(path)
    make_store(root, create=create)
    require_layout(root)
    return Store(root, snapshot(root))


class Store:
    """What was ingested, at one version.

    A store object keeps its version until it ingests itself, or is told to :meth:`refresh`: answers
    do not change while another process loads data. Make one with :func:`open`.
    """

    def __init__(self, path: Path, now: Snapshot) -> None:
        self.path = path
        self._now = now
        self._engine = Engine(now, ledger_paths(path))

    @property
    def version(self) -> str:
        """Version of the data; everything read through this object is of it."""
        return str(self._now.seq)

    def at(self, version: str | int) -> Store:
        """Give the store as it was at a version.

        Raises
        ------
        StoreError
            Where there is no such version.
        """
        text = str(version)
        if not text.isdigit():
            raise StoreError(f"'{version}' is no version of {self.path}; it has 0 to {snapshot(self.path).seq}.")
        return Store(self.path, snapshot(self.path, int(text)))

    def refresh(self) -> None:
        """Go to the newest version."""
        self._move(snapshot(self.path))

    def _move(self, now: Snapshot) -> None:
        self._now = now
        self._engine = Engine(now, ledger_paths(self.path))
        for name in ("_places", "_jobs", "_derived", "_templates"):
            self.__dict__.pop(name, None)

    def ingest(  # noqa: PLR0913 -- what to read, what is stated, and how
        self,
        paths: Iterable[Path | str] | Path | str,
        *,
        clock: Mapping[str, str] | None = None,
        year: int | None = None,
        mapping: Path | str | None = None,
        memory: str | int = "2GB",
        dry_run: bool = False,
        progress: Progress | None = None,
        readers: Sequence[Reader] | None = None,
        engine: str = "here",
        salvage: bool = False,
    ) -> IngestReport:
        """Load dumps: files, and all files below folders, recognised by their content.

        A file is loaded whole or not at all, and visible at once. The same content again is a
        no-op under any name, unless records of it were rejected for want of something that is
        stated now, or something was stated otherwise: then it is read again and its rows replaced.

        Parameters
        ----------
        paths : path or several
        clock : mapping of glob to zone, optional
            IANA zone of the times that name none, by path relative to the folder named; globs
            without a slash speak of the file name; of several that fit, the last holds.
        year : int, optional
            Year of the first record, for stamps without one.
        mapping : path, optional
            TOML file that says what files are, and what their columns mean.
        memory : str or int
            Bound on the rows held in memory.
        dry_run : bool
            Only say what would be read, by which reader, how much and how long.
        progress : callable, optional
            ``(done_bytes, total_bytes, path)``.
        readers : sequence of Reader, optional
            In place of the registered ones.
        engine : str
            ``here``, ``processes:N`` or ``dask:ADDRESS``: where files are read. Dask workers must see
            the dumps and the store under the same paths.
        salvage : bool
            Take also what a compressed member gave whose checksum fails, or which does not decode: any
            of its rows may be invented.

        Raises
        ------
        NothingToDoError
            Where a path is missing or there is no file.
        InterruptedWorkError
            Stopped by the user; the same call goes on.
        ResourceError, StoreError
            Disk full; store not writable. Nothing half-written is visible.
        """
        stated, memory = Stated.of(clock, year, mapping, salvage=salvage), parse_bytes(memory)
        if dry_run:
            return look_only(self.path, self._now, paths, stated=stated, readers=readers)
        report, now = run_ingest(
            self.path, paths, stated=stated, memory=memory, readers=readers, progress=progress, engine=engine
        )
        self._move(now)
        return report

    def sql(self, query: str, parameters: Parameters = None) -> pl.DataFrame:
        """Answer one DuckDB query; it can only read, and only this store.

        Views: ``samples series events events_aligned clocks jobs entities links aliases observed files rejects absent
        metrics ledger`` and one wide table per kind of entity (``gpu``, ``host``, ``port`` ...) with
        ``ts, entity``, a column per metric, and ``source``.

        Parameters
        ----------
        query : str
        parameters : sequence or mapping, optional
            Values of ``?`` or ``$name``.

        Raises
        ------
        UsageError
            Where it is not one query that reads, or does not work.
        """
        cursor = self._engine.cursor()
        try:
            require_reading(cursor, query)
        finally:
            cursor.close()
        return self._engine.ask(query, parameters)

    def frame(self, query: str, parameters: Parameters = None) -> pl.DataFrame:
        """Answer a query of our own, without asking whether it only reads."""
        return self._engine.ask(query, parameters)

    def catalog(self, pattern: str = "*") -> pl.DataFrame:
        """List metrics.

        Parameters
        ----------
        pattern : str
            Glob on the metric or on any of its names in the sources, in any case of letters.

        Returns
        -------
        polars.DataFrame
            ``metric, entity_kind, table, column, unit, kind, role, drives, raw_names, interval_s,
            width_bits, saturates, known_by, labels, series, first, last, rows``. ``column`` is null
            for metrics that lie long (``table`` is ``samples_long``): read those from ``samples``.
        """
        return catalog(self._engine, pattern)

    def info(self) -> StoreInfo:
        """Say what the store holds: span, entities, metrics, coverage, rejects, join hit rates."""
        return gather(self._engine, self.path, self.version)

    def event_kinds(self, *, derived: bool = False, noise: Path | str | None = None) -> pl.DataFrame:
        """Count events by kind and code, on request derived ones too: :mod:`workbench.store.eventkinds`."""
        recorded = event_kinds(self.frame, noise_of(self.path, noise))
        return self._derived.counted(recorded) if derived else recorded

    def derived(self, kind: str | None = None) -> pl.DataFrame:
        """Give events that nobody recorded but that follow from what was, such as ``reboot``: :mod:`workbench.store.derived`."""
        return self._derived.events(kind)

    def events(self, selector: Selector | str | None = None) -> pl.DataFrame:
        """Give events, oldest first; all of them, or those that a selector means.

        Raises
        ------
        UnknownNameError
            Where there is no event of that kind.
        """
        if selector is None:
            return self.frame("from events order by ts, entity, kind, code, line")
        wanted = selector if isinstance(selector, Selector) else Selector.parse(selector)
        events = self._events_of(wanted)
        if events.is_empty():
            raise UnknownNameError("event kind", wanted.kind, self._kinds(), "See store.event_kinds().")
        return select_events(events, wanted, self._places)

    def templates(self) -> Templates:
        """Find the templates of log lines that no rule knows: :func:`workbench.store.templates.templates`."""
        return self._templates

    def bursts(self, selector: Selector | str | None = None, *, gap_s: float) -> pl.DataFrame:
        """Give one row for events of one entity, kind and code within ``gap_s``: :func:`workbench.store.stories.bursts`."""
        return bursts(told_of(self, selector), gap_s=gap_s)

    def follows(self, *, within_s: float = 5.0) -> pl.DataFrame:
        """Say which events are known to follow another one, and by which rule: :func:`workbench.store.stories.follows`."""
        return follows(told_of(self), self.jobs(), within_s=within_s)

    def incidents(
        self, selector: Selector | str, *, collapse_s: float = 5.0, among: pl.DataFrame | None = None
    ) -> Incidents:
        """Find incidents, oldest first.

        Parameters
        ----------
        selector : Selector or str
            ``kind[:code,code][@glob]``.
        collapse_s : float
            Events of one kind and code on one entity within so many seconds of each other are one
            incident (its ``count`` says how many): kernels and several logs repeat themselves.
        among : polars.DataFrame, optional
            Events to choose from in place of the recorded ones, in the shape of the ``events`` view:
            derived ones, such as stragglers.

        Raises
        ------
        UnknownNameError
            Where there is no event of that kind, with the kinds there are.
        NothingToDoError
            Where none has that code and place, with counts of what is there.
        """
        wanted = selector if isinstance(selector, Selector) else Selector.parse(selector)
        events = self._events_of(wanted) if among is None else among.filter(pl.col("kind") == wanted.kind)
        items = find_incidents(
            events, wanted, places=self._places, jobs=self._jobs, collapse_s=collapse_s, kinds=self._kinds()
        )
        told = Provenance(
            function="store.incidents", inputs=f"{self.path}@{self.version}",
            parameters={"selector": str(wanted), "collapse_s": collapse_s}, version=__version__,
        )  # fmt: skip
        return Incidents(outcome=wanted, items=items, provenance=told)

    def _events_of(self, wanted: Selector) -> pl.DataFrame:
        if wanted.kind == TEMPLATE:
            return template_events(self.frame, self._templates, wanted)
        recorded = self.frame("from events where kind = ? order by ts, entity, code, line", [wanted.kind])
        return self._derived.beside(recorded, wanted.kind)

    def _kinds(self) -> list[str]:
        return self.frame("select distinct kind from events order by kind")["kind"].to_list()

    @cached_property
    def _templates(self) -> Templates:
        return gather_templates(self.frame, f"{self.path}@{self.version}")

    @cached_property
    def _derived(self) -> Derived:
        return Derived(self.frame, definitions_of(self.path))

    @cached_property
    def _places(self) -> Places:
        return Places.of(self.links())

    @cached_property
    def _jobs(self) -> Jobs:
        return Jobs.of(self.jobs())

    def jobs(self) -> pl.DataFrame:
        """Give jobs, one row per run; ``entities`` are the ids of its hosts."""
        return self.frame("from jobs order by start, job")

    def entities(self) -> pl.DataFrame:
        """Give every entity: id, kind, host, name, parent."""
        return self.frame("from entities order by entity, valid_from")

    def links(self) -> pl.DataFrame:
        """Give links: ``entity`` is ``in`` or ``connected`` to ``to_entity``, for a time."""
        return self.frame("select distinct * exclude (source) from links order by all")

    def observed(self) -> pl.DataFrame:
        """Say when somebody was looking: by entity and table (or ``events``, ``jobs``), without gaps inside.

        A silence of more than three times the usual spacing ends a stretch. A log counts as looked
        at from its first to its last stamp.
        """
        rows = self.frame("from observed").with_columns(source=pl.lit(None, pl.String))
        return join_intervals(rows, ["entity", "what", "reader", "source"]).drop("source")

    def clocks(self) -> pl.DataFrame:
        """Say how far the clocks of hosts are off, from what several of them saw; see ``docs/identity.md``.

        Returns
        -------
        polars.DataFrame
            ``host, clock`` (``os``, ``bmc``, ``metrics``), ``against, offset_s`` (above 0: ahead),
            ``low_s, high_s, shared, confidence, noise_s, method, off``. No stored time is changed; the view
            ``events_aligned`` has the events of clocks that are off with it taken off.
        """
        return self._engine.clocks

    def quarantine(self) -> Quarantine:
        """Give the records that were rejected, with what would cure them."""
        return Quarantine(frame=self.frame(REJECTS), counts=self.frame(REJECT_COUNTS))

    def versions(self) -> pl.DataFrame:
        """List the versions of the store, with when and why they were made."""
        return history(self.path).drop("versions")

    def compact(self, *, more_than: int = 1) -> pl.DataFrame:
        """Make few large files of many small ones; an ingest does so itself beyond 50 files a day.

        Gives ``table, day, files_before, files_after, bytes_before, bytes_after``.
        """
        done = compact(self.path, more_than=more_than)
        self.refresh()
        return done

    def check(self) -> StoreCheck:
        """Look whether every file of this version is there, readable, and of the right size."""
        return check(self.path, self._now)

    def vacuum(self, *, keep: int | None = None, dry_run: bool = False) -> pl.DataFrame:
        """Remove files that none of the ``keep`` newest versions (None: no version at all) needs; gives what goes."""
        return vacuum(self.path, keep=keep, dry_run=dry_run)

    def ledger_rows(self) -> pl.DataFrame:
        """Give the ledger as it is now; it is not part of a version."""
        return read_ledger(self.path)

    def append_ledger(self, rows: pl.DataFrame) -> None:
        """Add rows to the ledger; what stands in it stays.

        Raises
        ------
        StoreError
            Where the store cannot be written, or a column has another type than before.
        """
        append_ledger(self.path, rows)
        self._engine = Engine(self._now, ledger_paths(self.path))

    def __repr__(self) -> str:
        facts = self.frame("select count(*) as files, coalesce(sum(samples), 0)::bigint as samples from files").row(0)
        return f"Store({str(self.path)!r}, version {self.version}: {facts[0]} files, {facts[1]:,} samples)"

    def _repr_html_(self) -> str:
        return self.info()._repr_html_()
