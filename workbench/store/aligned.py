"""Events with what is known of a host's clock taken off their times; the recorded times stay beside."""

from __future__ import annotations

from workbench.store.clocks import readers_of
from workbench.store.samples import literal

__all__ = ["aligned_view"]


def aligned_view() -> str:
    """Give the SQL of the view ``events_aligned``: the columns of ``events``, and ``ts_recorded``, ``clock_shift_s``.

    ``ts_low`` and ``ts_high`` are widened by the interval of the offset. Events of clocks that are
    not known to be off are as recorded (``clock_shift_s`` 0).
    """
    bmc, elsewhere = (f"[{', '.join(map(literal, readers_of(clock)))}]" for clock in ("bmc", "elsewhere"))
    clock = f"case when list_contains({bmc}, reader) then 'bmc' when list_contains({elsewhere}, reader) then '' else 'os' end"
    return f"""
with told as (select e.*, regexp_extract(e.entity, '^([^/]+/[^/:]+)(/|$)', 1) as _host, f._clock from events e
    left join (select source, min({clock}) as _clock from files group by source) f on e.source = f.source)
select ts - to_microseconds(coalesce(s.shift_us, 0)) as ts, ts_low - to_microseconds(coalesce(s.high_us, 0)) as ts_low,
    ts_high - to_microseconds(coalesce(s.low_us, 0)) as ts_high, told.* exclude (ts, ts_low, ts_high, _host, _clock),
    ts as ts_recorded, coalesce(s.shift_us, 0) / 1e6 as clock_shift_s
from told left join clock_shifts s on told._host = s.host and told._clock = s.clock
"""
