"""RDMA counters: text, JSON and sysfs say the same of the same ports."""

from readings import read_bytes

from workbench.model.context import Context
from workbench.readers.rdma_stat import READER

TAKEN = Context(host="n1", taken_at_us=1_767_603_600_000_000)


def _read(text, tmp_path, context=TAKEN):
    return read_bytes(READER, text.encode(), context, tmp_path)


def test_three_views_of_one_port_agree(tmp_path):
    views = (
        "link mlx5_0/1 out_of_sequence 120 np_cnp_sent 3\n",
        '[{"ifindex": 3, "ifname": "mlx5_0", "port": 1, "out_of_sequence": 120, "np_cnp_sent": 3}]\n',
        (
            "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence:120\n"
            "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/np_cnp_sent:3\n"
        ),
    )
    first, *others = (_read(view, tmp_path).table("samples") for view in views)
    assert all(other == first for other in others)


def test_host_and_time_are_asked_for(tmp_path):
    line = "link mlx5_0/1 out_of_sequence 120\n"
    assert _read(line, tmp_path, Context()).rejects()["curable"].to_list() == ["host"]
    assert _read(line, tmp_path, Context(host="n1")).rejects()["curable"].to_list() == ["taken_at"]


def test_the_next_listing_of_sysfs_is_the_next_sample(tmp_path):
    path = "/sys/class/infiniband/mlx5_0/ports/{}/counters/link_downed:{}\n"
    text = path.format(1, 0) + path.format(2, 5) + path.format(1, 1) + path.format(2, 6)
    stated = Context(host="n1", taken_at_us=0, interval_s=60)
    samples = _read(text, tmp_path, stated).frame("samples")
    assert samples.select("device", "value_int").rows() == [
        ("mlx5_0/1", 0), ("mlx5_0/2", 5), ("mlx5_0/1", 1), ("mlx5_0/2", 6),
    ]  # fmt: skip
    assert samples["ts"].dt.epoch("s").to_list() == [0, 0, 60, 60]


def test_odd_values_are_absent_and_odd_objects_are_rejected(tmp_path):
    text = '[{"ifindex": 1, "ifname": "mlx5_0", "port": 1, "a": -1, "b": 1e400, "c": {"d": 1}, "e": 36893488147419103232}, [], {"ifname": 7, "port": 1}, {"ifname": "x", "port": true}]'
    reading = _read(text, tmp_path)
    assert reading.count("samples") == 0
    assert sum(reading.absent().values()) == 4
    assert (reading.rows, reading.rejects().height) == (1, 3)
