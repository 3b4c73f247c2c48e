"""Derived events of jobs: stragglers, slowdowns, checkpoints that stall."""

from __future__ import annotations

import polars as pl

from workbench.store.derive_rows import Ask, Row, Settings, host_of, rows_of, values_of
from workbench.timebase import MICROS

__all__ = ["checkpoint_stalls", "slowdowns", "stragglers"]

_STEP = "job.step_time_s"
_SPEEDS = ("job.mfu_ratio", "job.throughput_tflops", "job.tokens_per_s", "job.samples_per_s")
_MEMBERS = "select distinct metric from metrics where metric like '%step_time_s' and entity_kind <> 'job'"
_JOBS = 'select entity as job, entities, epoch_us(start)::bigint as start_us, epoch_us("end")::bigint as end_us from jobs where start is not null'
_CHECKPOINTS = """
select entity, code, epoch_us(ts)::bigint as us, attributes from events where kind = 'checkpoint' and code in ('begin', 'end') order by entity, us
"""
_LAST = """
select entity, max(epoch_us(ts))::bigint as us from (select entity, ts from events union all select entity, last as ts from series) group by all
"""


def stragglers(ask: Ask, settings: Settings) -> pl.DataFrame:
    """Give ``straggler``: a job above its own level, and a member above its peers."""
    return pl.concat([_above_own(ask, settings), _above_peers(ask, settings)])


def _above_own(ask: Ask, settings: Settings) -> pl.DataFrame:
    steps = values_of(ask, [_STEP])
    level = pl.col("value").rolling_median(int(settings["level_steps"]), min_samples=int(settings["least_steps"]))
    told = steps.with_columns(level=level.shift(1).over("entity"), before=pl.col("us").shift(1).over("entity"))
    return _runs(told, settings, code="own", what="step time of the job above its own level")


def _above_peers(ask: Ask, settings: Settings) -> pl.DataFrame:
    metrics = ask(_MEMBERS)["metric"].to_list()
    steps = values_of(ask, metrics) if metrics else pl.DataFrame()
    if steps.is_empty():
        return rows_of([])
    bin_us = round(settings["bin_s"] * MICROS)
    placed = steps.with_columns(host=pl.col("entity").map_elements(host_of, return_dtype=pl.String))
    runs = ask(_JOBS).explode("entities").rename({"entities": "host"})
    mine = placed.join(runs, on="host").filter(
        (pl.col("start_us") <= pl.col("us")) & (pl.col("end_us").is_null() | (pl.col("us") <= pl.col("end_us")))
    )
    binned = mine.group_by("job", "metric", "entity", (pl.col("us") // bin_us * bin_us).alias("us")).agg(
        pl.col("value").median()
    )
    members = pl.len().over("job", "metric", "us")
    level = pl.col("value").median().over("job", "metric", "us")
    told = binned.with_columns(level=level, members=members).filter(pl.col("members") >= int(settings["least_members"]))
    ordered = told.sort("entity", "job", "metric", "us").with_columns(
        before=pl.col("us").shift(1).over("entity", "job", "metric")
    )
    return _runs(ordered, settings, code="peers", what="step time of a member above its peers")


def _runs(steps: pl.DataFrame, settings: Settings, *, code: str, what: str) -> pl.DataFrame:
    """Give one event for each stretch of enough steps in a row that are too long."""
    by = [name for name in ("entity", "job", "metric") if name in steps.columns]
    flagged = steps.with_columns(slow=(pl.col("value") >= settings["ratio"] * pl.col("level")).fill_null(value=False))
    numbered = flagged.with_columns(run=pl.struct(*by, "slow").rle_id()).filter("slow")
    runs = numbered.group_by("run", *by, maintain_order=True).agg(
        pl.col("us", "before", "level").first(),
        until=pl.col("us").last(),
        steps=pl.len(),
        median=pl.col("value").median(),
    )
    rows: list[Row] = []
    for row in runs.filter(pl.col("steps") >= int(settings["hold_steps"])).iter_rows(named=True):
        low = row["us"] if row["before"] is None else row["before"]
        attributes = {
            "level_s": row["level"], "median_s": row["median"], "ratio": row["median"] / row["level"] if row["level"] else None,
            "steps": row["steps"], "until_us": row["until"], "job": row.get("job"),
        }  # fmt: skip
        message = f"{what}: {row['median']:.4g} s against {row['level']:.4g} s for {row['steps']} steps"
        rows.append((row["us"], low, row["us"], row["entity"], code, message, attributes))
    return rows_of(rows)


def slowdowns(ask: Ask, settings: Settings) -> pl.DataFrame:
    """Give ``slowdown``: utilisation or throughput that declines over hours."""
    bin_us, bins = round(settings["bin_s"] * MICROS), int(settings["bins"])
    values = values_of(ask, _SPEEDS)
    binned = (
        values.group_by("entity", "metric", (pl.col("us") // bin_us).alias("bin"), maintain_order=True)
        .agg(pl.col("value").median(), n=pl.len())
        .filter((pl.col("n") >= int(settings["least"])) & (pl.col("value") > 0))
        .sort("entity", "metric", "bin")
    )
    key = ("entity", "metric")
    step = (pl.col("value") - pl.col("value").shift(1)).over(key)
    told = binned.with_columns(step=step).with_columns(
        start=pl.col("value").shift(bins).over(key),
        apart=(pl.col("bin") - pl.col("bin").shift(bins)).over(key),
        rose=pl.col("step").rolling_max(bins).over(key),
        worst=pl.col("step").rolling_min(bins).over(key),
    )
    lost = pl.col("start") - pl.col("value")
    declined = (
        (pl.col("apart") == bins) & (lost >= settings["loss"] * pl.col("start")) & (pl.col("rose") <= 0)
        & (-pl.col("worst") <= settings["sudden"] * lost)
    ).fill_null(value=False)  # fmt: skip
    onset = told.with_columns(declined=declined).filter(
        pl.col("declined") & ~pl.col("declined").shift(1).over(key).fill_null(value=False)
    )
    rows: list[Row] = []
    for row in onset.iter_rows(named=True):
        at, share = (row["bin"] + 1) * bin_us, 1 - row["value"] / row["start"]
        message = f"{row['metric']} declined by {share:.1%} over {bins} bins of {settings['bin_s']:g} s"
        attributes = {"from": row["start"], "to": row["value"], "lost": share}
        rows.append((at, at - (bins + 1) * bin_us, at, row["entity"], row["metric"], message, attributes))
    return rows_of(rows)


def checkpoint_stalls(ask: Ask, settings: Settings) -> pl.DataFrame:
    """Give ``checkpoint.stall``: one that took far longer than those before, or never ended."""
    saves = values_of(ask, ["job.checkpoint_save_s"])
    level = pl.col("value").rolling_median(int(settings["level_saves"]), min_samples=int(settings["least_saves"]))
    told = saves.with_columns(level=level.shift(1).over("entity"))
    slow = told.filter(
        (pl.col("value") >= settings["ratio"] * pl.col("level"))
        & (pl.col("value") >= pl.col("level") + settings["extra_s"])
    )
    rows: list[Row] = []
    for row in slow.iter_rows(named=True):
        began = row["us"] - round(row["value"] * MICROS)
        message = f"checkpoint took {row['value']:.4g} s, against {row['level']:.4g} s before"
        attributes = {"level_s": row["level"], "took_s": row["value"]}
        rows.append((began, began, row["us"], row["entity"], "slow", message, attributes))
    return pl.concat([rows_of(rows), _unfinished(ask, settings)])


def _unfinished(ask: Ask, settings: Settings) -> pl.DataFrame:
    events = ask(_CHECKPOINTS)
    if events.is_empty():
        return rows_of([])
    number = pl.col("attributes").str.json_path_match("$.iteration")
    told = events.with_columns(iteration=number)
    ends = told.filter(code="end").group_by("entity", "iteration").agg(ended=pl.col("us").max())
    last = ask(_LAST).rename({"us": "last"})
    begun = (
        told.filter(code="begin")
        .unique(["entity", "iteration"], keep="first", maintain_order=True)
        .join(ends, on=["entity", "iteration"], how="left", nulls_equal=True)
        .join(last, on="entity")
    )
    limit = round(settings["unfinished_s"] * MICROS)
    stalled = begun.filter(
        (pl.col("ended").is_null() | (pl.col("ended") < pl.col("us"))) & (pl.col("last") >= pl.col("us") + limit)
    ).sort("entity", "us")
    message = "a checkpoint began, and its end is not told"
    return rows_of(
        [
            (us, us, us, entity, "unfinished", message, {"iteration": iteration})
            for entity, us, iteration in stalled.select("entity", "us", "iteration").iter_rows()
        ]
    )
