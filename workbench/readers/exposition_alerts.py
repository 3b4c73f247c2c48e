"""``ALERTS`` of Prometheus as events: one each time that an alert begins to be pending or to fire."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from workbench.model import frames
from workbench.readers.text import json_object

__all__ = ["ALERTS", "AlertRuns", "alert_columns"]

ALERTS = "ALERTS"
_LOOK_BACK_US = 300_000_000
_NAME, _STATE, _SEVERITY = (
    pl.col("labels").str.json_path_match(f"$.{key}") for key in ("alertname", "alertstate", "severity")
)


@dataclass
class AlertRuns:
    """When each ``ALERTS`` series was last seen: after a gap, or a stale marker, it begins anew.

    Attributes
    ----------
    gap_us : int
        Longer than Prometheus' look-back of 5 min; more where an answer has longer steps.
    """

    gap_us: int = _LOOK_BACK_US
    _latest: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema={"key": pl.UInt64, "top": pl.Int64}))

    def events(self, who: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
        """Give an event for each run of samples that begins here.

        Parameters
        ----------
        who : polars.DataFrame
            Series, with ``key``.
        rows : polars.DataFrame
            Samples of ``ALERTS``: ``key``, ``ts``, ``absent``, ``line``.
        """
        if rows.is_empty():
            return frames.empty(frames.EVENTS)
        there = rows.filter(pl.col("absent").is_null()).select("key", "ts", "line").sort("key", "ts")
        ordered = there.join(self._latest, on="key", how="left", maintain_order="left")
        before = pl.col("ts").shift(1).over("key").fill_null(pl.col("top"))
        begun = ordered.filter((pl.col("ts") - before > self.gap_us).fill_null(value=True))
        tops = there.group_by("key").agg(top=pl.col("ts").max())
        self._latest = pl.concat([self._latest, tops]).group_by("key").agg(pl.col("top").max())
        named = who.unique("key").select("key", "host", "device_kind", "device", "labels")
        told = begun.join(named, on="key", how="left").sort("ts", "line")
        return alert_columns(told.with_columns(ts_low="ts", ts_high="ts"))


def alert_columns(told: pl.DataFrame) -> pl.DataFrame:
    """Lay out alerts as events; ``labels`` is what is left of the labels.

    Parameters
    ----------
    told : polars.DataFrame
        ``ts``, ``ts_low``, ``ts_high`` (Int64), host and device, ``labels``, ``line``.
    """
    state = _STATE.fill_null("firing")
    return (
        told.with_columns(labels_="labels", state=state)
        .with_columns(attributes=json_object({"state": pl.String()}))
        .with_columns(attributes=_merged(pl.col("labels_"), pl.col("attributes")))
        .select(
            *(pl.col(name).cast(frames.TS) for name in ("ts", "ts_low", "ts_high")),
            "host",
            "device_kind",
            "device",
            kind=pl.lit("alert"),
            code=_NAME,
            severity=_SEVERITY,
            message=pl.concat_str(_NAME.fill_null("alert without a name"), pl.lit(" "), "state"),
            attributes="attributes",
            line=pl.col("line").cast(pl.Int64),
        )
        .cast(dict(frames.EVENTS))  # type: ignore[arg-type]  # polars names its own types
    )


def _merged(labels: pl.Expr, attributes: pl.Expr) -> pl.Expr:
    """Nest the labels below the attributes, in the order of the keys."""
    return pl.concat_str(pl.lit('{"labels":'), labels, pl.lit(","), attributes.str.slice(1))
