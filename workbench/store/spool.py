"""Rows of one file on their way into the store: in memory while they are few, on disk beyond."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl
import pyarrow as pa

from workbench.errors import ResourceError

__all__ = ["Chunk", "SampleSpool", "Spool", "read_chunk"]

HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US
#: Fewer samples an hour than this are kept by the day: thousands of tiny pieces cost more than they save.
_ROWS_AN_HOUR = 20_000
_SQUASH_ROWS = 50_000
Squash = Callable[[pl.DataFrame], pl.DataFrame]


class Spool:
    """Rows of one kind, in the order they came.

    Parameters
    ----------
    stem : pathlib.Path
        Beginning of the names of its files.
    limit_bytes : int
        Rows beyond this size go to disk.
    squash : callable or None
        Gives fewer rows that say the same, for kinds that readers tell again and again.
    """

    def __init__(self, stem: Path, limit_bytes: int, squash: Squash | None = None) -> None:
        self._squash = squash
        self._squash_at = _SQUASH_ROWS
        self._stem = stem
        self._limit = limit_bytes
        self._frames: list[pl.DataFrame] = []
        self._written: list[Path] = []
        self.bytes = 0
        self.rows = 0

    def add(self, frame: pl.DataFrame) -> None:
        """Take rows."""
        if frame.is_empty():
            return
        self._frames.append(frame)
        self.bytes += int(frame.estimated_size())
        self.rows += frame.height
        if self._squash is not None and self.rows > self._squash_at:
            self._squash_now()
        if self.bytes > self._limit:
            self.flush()

    def _squash_now(self) -> None:
        assert self._squash is not None
        smaller = self._squash(pl.concat(self._frames))
        self._frames, self.bytes = [smaller], int(smaller.estimated_size())
        self.rows = smaller.height
        self._squash_at = 2 * self.rows + _SQUASH_ROWS

    def flush(self) -> None:
        """Write what is in memory to disk."""
        if not self._frames:
            return
        if self._squash is not None:
            self._squash_now()
        path = self._stem.with_name(f"{self._stem.name}-{len(self._written)}.arrow")
        _write(pl.concat(self._frames), path)
        self._written.append(path)
        self._frames, self.bytes = [], 0

    def frames(self) -> Iterator[pl.DataFrame]:
        """Give the rows again, in order, in pieces of bounded size."""
        for path in self._written:
            with path.open("rb") as file:  # a path would be taken for a pattern
                yield pl.read_ipc(file)
        if self._frames:
            if self._squash is not None:
                self._squash_now()
            yield pl.concat(self._frames)


@dataclass(frozen=True, eq=False, kw_only=True)
class Chunk:
    """Samples of one file that fall into one hour or one day.

    Attributes
    ----------
    route : str
        Table they are meant for.
    start_us, end_us : int
        The hour or day, UTC microseconds; the end is outside.
    rows : int
    frame : polars.DataFrame or None
        ``who, name, label, ts, value, value_int``; None where they are on disk.
    path, piece : where they are on disk, and which record batch of it.
    """

    route: str
    start_us: int
    end_us: int
    rows: int
    frame: pl.DataFrame | None = None
    path: Path | None = None
    piece: int = 0


@dataclass
class SampleSpool:
    """Samples of one file, kept by route and hour.

    Attributes
    ----------
    folder : pathlib.Path
    limit_bytes : int
        Samples beyond this size go to disk.
    """

    folder: Path
    limit_bytes: int
    chunks: list[Chunk] = field(default_factory=list)
    _buffers: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    _bytes: int = 0
    _files: int = 0

    @property
    def bytes(self) -> int:
        """Size of what is in memory."""
        return self._bytes

    def add(self, route: str, frame: pl.DataFrame) -> None:
        """Take samples for one table."""
        if frame.is_empty():
            return
        self._buffers.setdefault(route, []).append(frame)
        self._bytes += int(frame.estimated_size())
        if self._bytes > self.limit_bytes:
            self.flush(to_disk=True)

    def flush(self, *, to_disk: bool) -> None:
        """Cut what is buffered into chunks."""
        for route, frames in sorted(self._buffers.items()):
            pieces, width = _by_time(pl.concat(frames, rechunk=True))
            path = None
            if to_disk:
                path = self.folder / f"samples-{self._files}.arrow"
                self._files += 1
                _write_pieces([piece for _, piece in pieces], path)
            for number, (start, piece) in enumerate(pieces):
                where = {"path": path, "piece": number} if to_disk else {"frame": piece}
                self.chunks.append(Chunk(route=route, start_us=start, end_us=start + width, rows=piece.height, **where))
        self._buffers = {}
        if to_disk:
            self._bytes = 0

    def move_to_disk(self) -> None:
        """Write the chunks that are still in memory."""
        held = [number for number, chunk in enumerate(self.chunks) if chunk.frame is not None]
        if not held:
            return
        path = self.folder / f"samples-{self._files}.arrow"
        self._files += 1
        _write_pieces([self.chunks[number].frame for number in held], path)
        for piece, number in enumerate(held):
            self.chunks[number] = replace(self.chunks[number], frame=None, path=path, piece=piece)
        self._bytes = 0


def read_chunk(chunk: Chunk) -> pl.DataFrame:
    """Give the samples of a chunk."""
    if chunk.frame is not None:
        return chunk.frame
    assert chunk.path is not None
    with pa.memory_map(str(chunk.path)) as source:
        batch = pa.ipc.open_file(source).get_batch(chunk.piece)
        return pl.DataFrame(pl.from_arrow(batch)).clone()


def _by_time(frame: pl.DataFrame) -> tuple[list[tuple[int, pl.DataFrame]], int]:
    """Cut samples by the hour, or by the day where they are sparse; order is kept inside."""
    first, last = int(frame["ts"].min()), int(frame["ts"].max())  # type: ignore[arg-type]
    hours = (last - first) // HOUR_US + 1
    width = HOUR_US if frame.height >= _ROWS_AN_HOUR * min(hours, 24) else DAY_US
    if first // width == last // width:
        return [(first // width * width, frame)], width
    bucket = (pl.col("ts") // width).alias("_bucket")
    ordered = frame.with_columns(bucket).sort("_bucket", maintain_order=True)
    sizes = ordered.group_by("_bucket", maintain_order=True).len()
    pieces, at = [], 0
    for number, size in sizes.iter_rows():
        pieces.append((number * width, ordered.slice(at, size).drop("_bucket")))
        at += size
    return pieces, width


def _write_pieces(pieces: Sequence[pl.DataFrame | None], path: Path) -> None:
    frames = [piece for piece in pieces if piece is not None]
    schema = frames[0].to_arrow().schema
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    try:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema, options=options) as writer:
            for piece in frames:
                writer.write_batch(piece.rechunk().to_arrow().combine_chunks().to_batches()[0])
    except OSError as error:
        raise _full(path, error) from None


def _write(frame: pl.DataFrame, path: Path) -> None:
    try:
        frame.write_ipc(path, compression="lz4")
    except OSError as error:
        raise _full(path, error) from None


def _full(path: Path, error: OSError) -> ResourceError:
    return ResourceError(
        f"Cannot write {path}: {error.strerror or error}. Free some disk space and run it again; nothing half-written is visible."
    )
