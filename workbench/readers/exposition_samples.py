"""Values and stamps of the Prometheus text format: exact integers, blanks, doubles of a sample."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.readers.stamps import possible

__all__ = ["SeenSamples", "mixed", "stamped", "stamped_ms", "valued"]

_BEYOND = "beyond the range of a double"
_INT64_BLANK = 9223372036854775792  # 0x7ffffffffffffff0, then "not found" and so on
_INT32_BLANK = 2147483632
_FP64_BLANK = 140737488355328
_BLANKS = {0: "DCGM blank", 1: "DCGM not found", 2: "DCGM not supported", 3: "DCGM not permitted"}
_EXACT = 2.0**53


def valued(samples: pl.DataFrame) -> pl.DataFrame:
    """Turn ``value`` as written into numbers.

    DCGM writes sentinels where it has no reading. They are tested as integers, before anything is a
    float; a float that says 9.223372036854776e+18 was one before somebody else rounded it.

    Parameters
    ----------
    samples : polars.DataFrame
        ``value`` (text) and ``dcgm`` (whether DCGM wrote it).

    Returns
    -------
    polars.DataFrame
        The same rows, with ``written`` (the text), ``value``, ``value_int``, ``absent`` (why there
        is no number), ``wide`` (an integer beyond 64 bits with sign) and ``wrong`` (no number at all).

    Examples
    --------
    >>> frame = pl.DataFrame({"value": ["9223372036854775794", "9007199254740993", "x"], "dcgm": [True, True, True]})
    >>> valued(frame).select("value", "value_int", "absent", "wrong").rows()
    [(None, None, 'DCGM not supported', False), (9007199254740992.0, 9007199254740993, None, False), (None, None, None, True)]
    """
    written = pl.col("value")
    exact = written.cast(pl.Int64, strict=False)
    samples = samples.with_columns(written=written, exact=exact, number=written.cast(pl.Float64, strict=False))
    number, exact = pl.col("number"), pl.col("exact")
    offset = exact - _INT64_BLANK
    small = pl.coalesce(_offset(number, _INT32_BLANK), _offset(number, _FP64_BLANK))
    rounded = exact.is_null() & (number == float(_INT64_BLANK))
    blank = (
        pl.when(offset.is_between(0, 15))
        .then(offset.replace_strict(_BLANKS, default=_BLANKS[0], return_dtype=pl.String))
        .when(rounded)
        .then(pl.lit(_BLANKS[0]))
        .otherwise(small.replace_strict(_BLANKS, default=None, return_dtype=pl.String))
    )
    absent = pl.when(pl.col("dcgm")).then(blank).fill_null(pl.when(number.is_nan()).then(pl.lit("NaN")))
    whole = pl.when((number.abs() < _EXACT) & (number == number.floor())).then(number).cast(pl.Int64, strict=False)
    samples = samples.with_columns(absent=absent)
    if samples["number"].is_infinite().any():  # 1e400 is a number, and no infinity
        digits = pl.col("number").is_infinite() & written.str.contains("[0-9]")
        samples = samples.with_columns(absent=pl.when(digits).then(pl.lit(_BEYOND)).otherwise("absent"))
    there = pl.col("absent").is_null()
    large = samples.select(exact.is_null() & (number.abs() >= _EXACT)).to_series()
    digits = pl.col("written").str.contains(r"^[+-]?\d+$") if large.any() else pl.lit(value=False)
    return samples.with_columns(
        value=pl.when(there).then(number),
        value_int=pl.when(there).then(exact.fill_null(whole)),
        wide=large & digits,
        wrong=number.is_null(),
    ).drop("exact", "number")


def _offset(number: pl.Expr, blank: int) -> pl.Expr:
    """Give 0 to 3 where a number is one of four sentinels."""
    return pl.when(number.is_between(blank, blank + 3)).then((number - blank).cast(pl.Int64, strict=False))


def stamped(samples: pl.DataFrame, taken_at_us: int | None) -> pl.DataFrame:
    """Turn ``stamp`` as written into UTC microseconds.

    Prometheus writes milliseconds, OpenMetrics seconds, with a decimal point where it matters. Whole
    numbers are told apart by magnitude: ten digits are seconds, 16 microseconds, 19 nanoseconds.

    Parameters
    ----------
    samples : polars.DataFrame
        ``stamp`` (text; null where there is none).
    taken_at_us : int or None
        Stated by the user for samples without a stamp.

    Returns
    -------
    polars.DataFrame
        The same rows, with ``ts`` (null where unknown or impossible) and ``seconds`` (whether ten
        digits were taken for seconds).

    Examples
    --------
    >>> frame = pl.DataFrame({"stamp": ["1796071498600", "1700215884.373", "1700215884", None]})
    >>> stamped(frame, 0).select("ts", "seconds").rows()
    [(1796071498600000, False), (1700215884373000, False), (1700215884000000, True), (0, False)]
    """
    samples = samples.with_columns(whole=pl.col("stamp").cast(pl.Int64, strict=False))
    stamp, whole = pl.col("stamp"), pl.col("whole")
    if samples.select((whole.is_null() & stamp.is_not_null()).any()).item():
        seconds = (stamp.cast(pl.Float64, strict=False) * 1e6).round()
        fraction = pl.when(possible(seconds)).then(seconds).cast(pl.Int64, strict=False)
    else:
        fraction = pl.lit(None, pl.Int64)
    digits = whole.abs()
    ten = digits.is_between(10**9, 10**10 - 1)
    us = (
        pl.when(ten)
        .then(whole * 1_000_000)
        .when(digits.is_between(10**15, 10**16 - 1))
        .then(whole)
        .when(digits >= 10**18)
        .then(whole // 1000)
        .when(digits < 10**15)
        .then(whole * 1000)
    )
    moment = pl.when(whole.is_not_null()).then(us).otherwise(fraction)
    moment = pl.when(possible(moment)).then(moment)
    return samples.with_columns(
        ts=pl.when(stamp.is_null()).then(pl.lit(taken_at_us, pl.Int64)).otherwise(moment),
        seconds=ten.fill_null(value=False),
    ).drop("whole")


def stamped_ms(samples: pl.DataFrame, taken_at_us: int | None) -> pl.DataFrame:
    """Turn ``stamp`` as written into UTC microseconds where the format knows nothing but milliseconds.

    See :func:`stamped`; a line always has its own stamp here, so ``taken_at_us`` serves those that lost it.

    Examples
    --------
    >>> stamped_ms(pl.DataFrame({"stamp": ["60000", "1796071498600", "1.5"]}), None)["ts"].to_list()
    [None, 1796071498600000, None]
    """
    stamp = pl.col("stamp")
    whole = stamp.cast(pl.Int64, strict=False)
    us = pl.when(whole.abs() < 2**53).then(whole * 1000)
    return samples.with_columns(
        ts=pl.when(stamp.is_null()).then(pl.lit(taken_at_us, pl.Int64)).when(possible(us)).then(us),
        seconds=pl.lit(value=False),
    )


class SeenSamples:
    """Which samples were met before: same series, same time.

    A series whose times only rise costs nothing but its latest time. Otherwise samples are told
    apart by 64-bit hashes, of the first four million.

    Examples
    --------
    >>> seen, rows = SeenSamples(), pl.DataFrame({"key": [9, 9, 9], "ts": [1, 1, 1], "written": ["5", "5", "6"]})
    >>> seen.verdict(rows).to_list(), seen.verdict(rows[:1]).to_list()
    ([None, 'duplicate', 'conflict'], ['duplicate'])
    """

    LIMIT = 4_000_000

    def __init__(self) -> None:
        self._latest = pl.DataFrame(schema={"key": pl.UInt64, "top": pl.Int64})
        self._parts: list[pl.DataFrame] = []
        self._kept = 0

    def verdict(self, samples: pl.DataFrame) -> pl.Series:
        """Tell of each row: null where it is new, ``duplicate``, or ``conflict`` (another value).

        Parameters
        ----------
        samples : polars.DataFrame
            ``key`` (a number that identifies the series), ``ts`` and ``written``.
        """
        rows = _hashed(samples)
        known = rows.select("key", "ts").join(self._latest, on="key", how="left", maintain_order="left")
        first = None if _rising(rows) else rows.select(pl.col("place").is_first_distinct()).to_series()
        doubtful = (known["ts"] <= known["top"]).any() or (first is not None and not first.all())
        if not doubtful:
            self._remember(rows)
            return pl.repeat(None, samples.height, dtype=pl.String, eager=True)
        verdict = self._judged(rows, rows.select(pl.col("place").is_first_distinct()).to_series())
        self._remember(rows.filter(verdict.is_null()))
        return verdict

    def _judged(self, rows: pl.DataFrame, first: pl.Series) -> pl.Series:
        before = pl.concat([*self._parts, rows.select("place", "whole").clear()])
        old = rows["place"].is_in(before["place"].implode())
        told_first = rows.filter(first & ~old)["whole"]
        same = rows["whole"].is_in(before["whole"].implode()) | rows["whole"].is_in(told_first.implode())
        return (
            pl.DataFrame({"new": first & ~old, "same": same})
            .select(pl.when("new").then(None).when("same").then(pl.lit("duplicate")).otherwise(pl.lit("conflict")))
            .to_series()
        )

    def _remember(self, rows: pl.DataFrame) -> None:
        tops = rows.group_by("key").agg(top=pl.col("ts").max())
        self._latest = pl.concat([self._latest, tops]).group_by("key").agg(pl.col("top").max())
        if self._kept < self.LIMIT:
            self._parts.append(rows.select("place", "whole"))
            self._kept += rows.height


def _hashed(samples: pl.DataFrame) -> pl.DataFrame:
    """Add ``place`` (of series and time) and ``whole`` (of the value, too): 64 bits each, mixed as SplitMix64 does."""
    key = samples["key"].cast(pl.UInt64).to_numpy()
    place = mixed(key ^ mixed(samples["ts"].to_numpy().astype(np.uint64)))
    whole = mixed(place ^ samples["written"].hash(7).to_numpy())
    return pl.DataFrame({"key": key, "ts": samples["ts"], "place": place, "whole": whole})


def mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread the bits of words; one to one (Steele, Lea and Flood 2014, "Fast splittable generators").

    Examples
    --------
    >>> bool(mixed(np.array([1], np.uint64))[0] == mixed(np.array([2], np.uint64))[0])
    False
    """
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _rising(rows: pl.DataFrame) -> bool:
    """Tell whether every series is one run of rows with rising times: then no sample comes twice."""
    key, ts = rows["key"].to_numpy(), rows["ts"].to_numpy()
    if key.size == 0:
        return True
    begins = np.flatnonzero(key[1:] != key[:-1]) + 1
    rises = ts[1:] > ts[:-1]
    rises[begins - 1] = True
    return (
        bool(rises.all())
        and begins.size < key.size // 4
        and np.unique(key[np.append(0, begins)]).size == begins.size + 1
    )
