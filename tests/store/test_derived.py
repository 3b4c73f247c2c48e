"""Derived events: each planted in a store, with its truth beside, and what looks like it and is none."""

import json

import pytest
from shared import ROOT

import workbench as wb
from workbench.errors import NothingToDoError, SpecificationError, UnknownNameError
from workbench.model.derived import definitions
from workbench.store.derived import _RULES
from workbench.timebase import to_us

T0 = 1_772_323_200  # 2026-03-01T00:00:00Z
GPU = "GPU-00000000-aaaa"


def told(store, kind, code=None):
    """Events as (second since T0, entity, code)."""
    frame = store.derived(kind)
    frame = frame if code is None else frame.filter(code=code)
    return [
        (round(to_us(ts) / 1e6 - T0, 3), entity.removeprefix("cluster/"), found)
        for ts, entity, found in frame.select("ts", "entity", "code").iter_rows()
    ]


def samples(metric, values, who, *, step=10, start=0):
    return [f"S {T0 + start + step * n} {who} {metric} {value}" for n, value in enumerate(values) if value is not None]


def test_every_definition_has_a_rule_and_says_what_it_is():
    assert [one.id for one in definitions()] == list(_RULES)
    assert all(one.rule and one.inputs and one.codes and one.help for one in definitions())
    assert all(set(one.units) == set(one.settings) for one in definitions())
    assert all(
        f"`{name}`" in one.rule for one in definitions() for name in one.settings if not one.id.endswith("power")
    )
    assert len({one.digest for one in definitions()}) == len(definitions())


def test_a_store_of_nothing_has_none(make_store):
    store = make_store("# nothing")
    assert store.derived().is_empty()
    assert store.event_kinds(derived=True).is_empty()


class TestStraggler:
    steps = [1.0] * 30 + [1.2] * 8 + [1.0] * 10 + [1.2] * 4 + [1.0] * 10  # the second stretch is too short

    def test_a_job_above_its_own_level(self, make_store):
        store = make_store(*samples("step_time_s", self.steps, "- job 7"))
        assert told(store, "straggler") == [(300, "job:7", "own")]
        row = store.derived("straggler").row(0, named=True)
        assert json.loads(row["attributes"])["steps"] == 8
        assert (row["ts"] - row["ts_low"]).total_seconds() == 10

    def test_slow_from_the_start_is_its_level(self, make_store):
        assert told(make_store(*samples("step_time_s", [2.0] * 40, "- job 7")), "straggler") == []

    def test_a_member_above_its_peers(self, make_store):
        lines = [f"J 7 {T0} {T0 + 3600} n1,n2,n3,n4,n5 COMPLETED"]
        for host in ("n1", "n2", "n3", "n4", "n5"):
            slow = [1.0 if host != "n3" or not 20 <= n < 30 else 1.3 for n in range(60)]
            lines += samples(
                "rank_step_time_s", [value * (1 + n // 40) for n, value in enumerate(slow)], f"{host} - -", step=60
            )
        lines += samples("rank_step_time_s", [9.0] * 60, "other - -", step=60)  # in no job
        assert told(make_store(*lines), "straggler", "peers") == [(1200, "n3", "peers")]


class TestSlowdown:
    @pytest.mark.parametrize(
        ("hours", "found"),
        [
            ([0.40, 0.40, 0.39, 0.38, 0.37, 0.37], 1),  # declines by 7.5 % over three hours
            ([0.40, 0.40, 0.40, 0.36, 0.36, 0.36], 0),  # at once: no slowdown
            ([0.40, 0.38, 0.40, 0.37, 0.40, 0.37], 0),  # up and down
            ([0.40, 0.40, 0.40, 0.40, 0.40, 0.39], 0),
            ([0.40, 0.39, None, 0.38, 0.37, 0.36], 0),  # an hour without data is no hour of decline
        ],
    )
    def test_declines_over_hours(self, hours, found, make_store):
        values = [value for hour in hours for value in [hour] * 12]
        store = make_store(*samples("mfu", values, "- job 7", step=300))
        assert len(told(store, "slowdown")) == found


class TestCheckpoint:
    def test_one_that_takes_longer_than_those_before(self, make_store):
        store = make_store(*samples("checkpoint_save", [30, 31, 29, 30, 120, 30, 65], "- job 7", step=1000))
        assert told(store, "checkpoint.stall", "slow") == [(4000 - 120, "job:7", "slow"), (6000 - 65, "job:7", "slow")]

    def test_one_that_never_ends(self, tmp_path):
        log = (
            "SLURM_JOB_ID=7\n"
            "[2026-03-01 00:00:00] saving checkpoint at iteration 100 to /c\n"
            "[2026-03-01 00:00:30] successfully saved checkpoint from iteration 100 to /c\n"
            "[2026-03-01 01:00:00] saving checkpoint at iteration 200 to /c\n"
            "[2026-03-01 02:00:00] iteration 201/ 999 | lm loss: 2.0 |\n"
            "[2026-03-01 02:00:10] saving checkpoint at iteration 300 to /c\n"
        )
        (tmp_path / "a.log").write_text(log)
        store = wb.open(tmp_path / "store")
        store.ingest(tmp_path / "a.log", clock={"*.log": "UTC"})
        assert told(store, "checkpoint.stall") == [(3600, "job:7", "unfinished")]  # the last may still end


class TestThrottle:
    def test_reasons_are_edges_of_bits(self, make_store):
        mask = [0, 0, 4, 36, 36, 4, 0, 0, 68, 0, 1]
        store = make_store(*samples("clocks_event_reasons.active", mask, f"n1 gpu {GPU}", step=400))
        who = f"n1/gpu:{GPU}"
        assert told(store, "throttle.thermal") == [(1200, who, "sw"), (3200, who, "hw")]
        assert told(store, "throttle.power") == [(800, who, "sw"), (3200, who, "sw")]
        assert store.derived("throttle.thermal")["ts_low"].dt.timestamp("ms").to_list() == [
            (T0 + 800) * 1000,
            (T0 + 2800) * 1000,
        ]

    def test_what_holds_in_the_first_sample_began_at_no_known_time(self, make_store):
        store = make_store(*samples("clocks_event_reasons.active", [32, 32, 32], f"n1 gpu {GPU}"))
        assert told(store, "throttle.thermal") == []

    def test_counters_that_rise_but_not_those_that_are_reset(self, make_store):
        store = make_store(
            *samples("DCGM_FI_DEV_THERMAL_VIOLATION", [5, 5, 9, 12, 12, 0, 0, 3], f"n1 gpu {GPU}", step=400)
        )
        assert told(store, "throttle.thermal") == [
            (800, f"n1/gpu:{GPU}", "violation"),
            (2800, f"n1/gpu:{GPU}", "violation"),
        ]

    def test_flicker_is_one(self, make_store):
        store = make_store(*samples("clocks_event_reasons.active", [0, 64] * 20, f"n1 gpu {GPU}", step=10))
        assert len(told(store, "throttle.thermal")) == 1


class TestReboot:
    def test_a_boot_time_that_moves_and_one_that_drifts(self, make_store):
        boot = [T0 - 9000 + n % 2 for n in range(10)] + [None] * 3 + [T0 + 710] * 5
        store = make_store(*samples("node_boot_time_seconds", boot, "n1 - -", step=60))
        assert told(store, "reboot") == [(710, "n1", "unplanned")]
        row = store.derived("reboot").row(0, named=True)
        assert (row["ts"] - row["ts_low"]).total_seconds() == pytest.approx(170, abs=1)  # the last sample came at 540

    def test_signs_of_one_start_are_one_and_a_drain_before_plans_it(self, make_store):
        store = make_store(
            f"E {T0} n1 - - log - alive",
            f"E {T0 + 100} n1 - - drain - swap",
            f"E {T0 + 500} n1 - - boot - Linux version 6",
            f"E {T0 + 520} n1 - - boot slurm node booted",
            f"E {T0 + 9000} n1 - - drain - swap",
            f"E {T0 + 9100} n1 - - resume - back",
            f"E {T0 + 9500} n1 - - boot - Linux version 6",
            f"E {T0 + 500} n2 - - boot - Linux version 6",  # nothing was told before
        )
        assert told(store, "reboot") == [(500, "n1", "drained"), (9500, "n1", "unplanned")]
        assert json.loads(store.derived("reboot")["attributes"][0])["signs"] == ["kernel", "slurm"]

    def test_life_long_ago_says_nothing(self, make_store):
        store = make_store(f"E {T0} n1 - - log - alive", f"E {T0 + 8 * 86_400} n1 - - boot - Linux version 6")
        assert told(store, "reboot") == []

    def test_the_controller_tells_when_it_started(self, tmp_path):
        log = (
            "[2026-03-01T00:00:00.000] Node n1 now responding\n"
            f"[2026-03-01T00:20:00.000] validate_node_specs: Node n1 unexpectedly rebooted boot_time={T0 + 600} last response={T0 + 1}\n"
        )
        (tmp_path / "ctl.log").write_text(log)
        store = wb.open(tmp_path / "store")
        store.ingest(tmp_path / "ctl.log", clock={"*": "UTC"})
        assert told(store, "reboot") == [(600, "n1", "unplanned")]


class TestLinkFlap:
    def test_down_and_up_in_time(self, make_store):
        nic = "n1 nic mlx5_0 link"
        times = [
            (0, "down"),
            (20, "up"),
            (100, "down"),
            (130, "up"),
            (5000, "down"),
            (9000, "up"),
            (9500, "up"),
            (20000, "down"),
        ]
        store = make_store(*(f"E {T0 + second} {nic} {code} m" for second, code in times))
        assert told(store, "link.flap") == [(0, "n1/nic:mlx5_0", "log")]
        assert json.loads(store.derived("link.flap")["attributes"][0]) | {"definition": ""} == {
            "times": 2, "down_s": 50.0, "until_us": (T0 + 130) * 10**6, "definition": "",
        }  # fmt: skip

    def test_each_rise_of_the_counter(self, make_store):
        store = make_store(*samples("link_downed", [3, 3, 4, 4, 6, 0, 0], "n1 port mlx5_0/1"))
        assert [(second, code) for second, _, code in told(store, "link.flap")] == [(20, "counter"), (40, "counter")]


class TestVanished:
    def lines(self, count=4, **ends):
        return [
            line
            for index in range(count)
            for line in samples(
                "temperature.gpu",
                range(30, 30 + ends.get(f"g{index}", 100)),
                f"n1 gpu GPU-00000000-000{index}",
                step=60,
            )
        ]

    def test_a_device_whose_host_goes_on(self, make_store):
        store = make_store(*self.lines(g2=40))
        assert told(store, "vanished") == [(40 * 60, "n1/gpu:GPU-00000000-0002", "entity")]
        row = store.derived("vanished").row(0, named=True)
        assert (row["ts"] - row["ts_low"]).total_seconds() == 60

    def test_a_host_that_stops_is_nobody_looking(self, make_store):
        assert told(make_store(*self.lines(g0=40, g1=40, g2=40, g3=40)), "vanished") == []

    def test_the_end_of_the_dump_is_no_silence(self, make_store):
        assert told(make_store(*self.lines(g2=97)), "vanished") == []

    def test_a_metric_while_its_device_goes_on(self, make_store):
        who = f"n1 gpu {GPU}"
        lines = samples("temperature.gpu", range(100), who, step=60) + samples("power.draw", range(40), who, step=60)
        store = make_store(*lines)
        assert told(store, "vanished") == [(40 * 60, f"n1/gpu:{GPU}", "metric")]
        assert json.loads(store.derived("vanished")["attributes"][0])["metric"] == "gpu.power_w"


def test_versions_that_differ_are_a_change_between(tmp_path):
    log = {
        "time": "2026-02-01T00:00:00Z",
        "kind": "firmware",
        "targets": "n3",
        "what": "NIC",
        "from": "28.39",
        "to": "28.41",
    }
    for name, day, versions in (("a", 1, ("1.9", "2.0")), ("b", 2, ("1.9", "2.0")), ("c", 3, ("1.10", "2.0"))):
        rows = [
            {
                "time": f"2026-03-0{day}T00:00:00Z",
                "kind": "inventory",
                "component": "bios",
                "version": version,
                "host": host,
            }
            for host, version in zip(("n1", "n2"), versions, strict=True)
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in (log, *rows)))
    store = wb.open(tmp_path / "store")
    store.ingest(sorted(tmp_path.glob("*.jsonl")))
    assert told(store, "change") == [(2 * 86_400, "n1", "bios")]
    row = store.derived("change").row(0, named=True)
    assert (row["ts"] - row["ts_low"]).days == 1
    assert len(store.incidents("change:bios")) == 1
    assert set(store.events("change")["code"]) == {"bios", "firmware"}, "recorded changes beside"


def test_a_change_that_is_recorded_is_not_told_again(tmp_path):
    log = {"time": "2026-02-01T00:00:00Z", "kind": "firmware", "targets": "n3", "what": "NIC", "from": "1", "to": "2"}
    rows = [log] + [
        {
            "time": f"2026-03-0{day}T00:00:00Z",
            "kind": "inventory",
            "component": "bios",
            "version": version,
            "host": "n1",
        }
        for day, version in ((1, "1.9"), (3, "1.10"))
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    store = wb.open(tmp_path / "store")
    store.ingest(tmp_path / "a.jsonl")
    assert told(store, "change") == []
    assert "bios" in set(store.events("change")["code"])


@pytest.fixture(scope="module")
def filled(make_store):
    return make_store(
        f"E {T0} n1 - - log - alive",
        f"E {T0 + 500} n1 - - boot - Linux version 6",
        f"E {T0} n2 - - log - alive",
        f"E {T0 + 900} n2 - - boot - Linux version 6",
        "L n1 host - rack r1",
        f"J 7 {T0 + 50} {T0 + 600} n1,n2 NODE_FAIL",
    )


def test_the_page_of_definitions_says_what_holds():
    page = (ROOT / "docs" / "derived.md").read_text(encoding="utf-8")
    for one in definitions():
        assert f"## `{one.id}`" in page
        assert one.rule in page
        for name, value in one.settings.items():
            assert f"| `{name}` | {value:g} | {one.units[name]} |" in page, one.id


class TestDoors:
    def test_they_are_outcomes(self, filled):
        found = filled.incidents("reboot:unplanned@rack:r1")
        assert [(one.entity, one.kind, one.code, one.job) for one in found] == [
            ("cluster/n1", "reboot", "unplanned", "cluster/job:7")
        ]
        assert filled.events("reboot").height == 2

    def test_they_are_counted_with_their_meaning(self, filled):
        row = filled.event_kinds(derived=True).filter(kind="reboot").row(0, named=True)
        assert (row["code"], row["count"], row["entities"], row["noise"]) == ("unplanned", 2, 2, 0)
        assert "starts again" in row["meaning"]

    def test_they_do_not_stand_among_the_recorded_ones_unasked(self, filled):
        assert "reboot" not in filled.events()["kind"]
        assert filled.sql("select count(*) as n from events where kind = 'reboot'")["n"].item() == 0

    def test_each_names_its_definition(self, filled):
        row = filled.derived("reboot").row(0, named=True)
        digest = next(one.digest for one in definitions() if one.id == "reboot")
        assert json.loads(row["attributes"])["definition"] == f"reboot@{digest}"
        assert (row["source"], row["line"]) == (digest, None)
        assert filled.derived().schema == filled.events().schema

    def test_none_is_said_with_the_definition(self, filled):
        with pytest.raises(NothingToDoError, match=r"No link\.flap in this store\. It is told from events link:down"):
            filled.incidents("link.flap")
        with pytest.raises(UnknownNameError, match="reboot"):
            filled.derived("rebot")

    def test_a_store_may_state_other_numbers(self, make_store):
        store = make_store(f"E {T0} n1 - - log - alive", f"E {T0 + 500} n1 - - boot - Linux version 6")
        before = store.derived("reboot")["source"].to_list()
        (store.path / "derived.toml").write_text('[[derived]]\nid = "reboot"\nalive_s = 100\n')
        other = wb.open(store.path)
        assert other.derived("reboot").is_empty()
        (store.path / "derived.toml").write_text('[[derived]]\nid = "reboot"\nalive_s = 1000\n')
        after = wb.open(store.path).derived("reboot")["source"].to_list()
        assert len(before) == len(after) == 1
        assert before != after
        (store.path / "derived.toml").write_text('[[derived]]\nid = "reboot"\nalive = -1\nstep_s = true\n')
        with pytest.raises(SpecificationError, match="2 mistakes"):
            wb.open(store.path).derived("reboot")

    def test_what_is_loaded_later_is_seen(self, store, write, load):
        write("a", f"E {T0} n1 - - log - alive")
        load()
        assert store.derived("reboot").is_empty()
        write("b", f"E {T0 + 500} n1 - - boot - Linux version 6")
        load()
        assert store.derived("reboot").height == 1
