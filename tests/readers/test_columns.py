import pytest

from workbench.model.context import Columns, Context
from workbench.readers.columns import Layout, Problem, layout_of
from workbench.readers.metriccolumns import metric_columns


def _layout(header, **stated):
    context = Context(
        host=stated.pop("host", None), taken_at_us=stated.pop("taken_at_us", None), columns=Columns(**stated)
    )
    return layout_of(header.split(","), context)


@pytest.mark.parametrize(
    ("header", "shape"),
    [
        ("timestamp,host,temp", "wide"),
        ("@timestamp,Hostname,gpu_uuid,power.draw [W]", "wide"),
        ("time,node,metric,value", "long"),
        ("time,node,labels,value", "long"),
        ("time,node,message", "events"),
        ("ts,server,event_type,code", "events"),
        ("ts,host,severity,xid", "events"),
        ("job_id,user,start,end,nodes", "jobs"),
        ("JobID,Start,State", "jobs"),
        ("time,host,gpu,temp,xid,power", "wide"),
        ("Date,Time,host,load", "wide"),
        ("time,rack,temp", "wide"),
        ("time,entity,temp", "wide"),
    ],
)
def test_shapes_are_told_by_well_known_headers(header, shape):
    found = _layout(header)
    assert isinstance(found, Layout), found
    assert found.shape == shape


@pytest.mark.parametrize(
    ("header", "reason", "curable"),
    [
        ("a,b", "no column says when", "map"),
        ("host,temp", "no column says when", "map"),
        ("time,timestamp,host,load", "several columns could be ts: time, timestamp", "map"),
        ("time,host,node,load", "several columns could be host: host, node", "map"),
        ("time,temp", "no column says which host", "host"),
        ("time,gpu,temp", "no column says which host", "host"),
        ("time,host,xid", "could hold metrics or events", "map"),
        ("time,host", "no column is left that could be a metric", "map"),
        ("time,host,event,alert", "several columns could be kind", "map"),
    ],
)
def test_what_is_open_is_one_problem_that_names_the_columns(header, reason, curable):
    found = _layout(header)
    assert isinstance(found, Problem)
    assert reason in found.reason
    assert found.curable == curable
    if curable != "map" or "left" not in found.reason:
        assert all(name in found.reason for name in header.split(","))


def test_what_the_user_states_goes_before_what_headers_suggest():
    found = _layout(
        "time,timestamp,node,host,value",
        roles={"ts": "timestamp", "host": "node", "metric": "=temp"},
        shape="long",
        ignore=("time", "host"),
    )
    assert isinstance(found, Layout)
    assert dict(found.roles) == {"ts": "timestamp", "host": "node", "metric": "=temp", "value": "value"}
    assert found.rest == ()
    lost = _layout("time,host,a", roles={"ts": "tmie"})
    assert isinstance(lost, Problem)
    assert "column 'tmie' is ts" in lost.reason


def test_a_dump_without_time_or_host_is_read_when_both_are_stated():
    assert isinstance(_layout("gpu,temp", host="n1", taken_at_us=10**15), Layout)
    assert isinstance(_layout("gpu_uuid,temp", taken_at_us=10**15), Layout)


def test_metric_columns():
    names = [
        "gpu_temp:3",
        "temp:3",
        "power [kW]",
        'util{gpu="1",mode="x"}',
        '{__name__="up",host="n1"}',
        "a{b}",
        "gpu7_clock",
        "value (raw)",
    ]
    stated = Columns(pattern=r"gpu(?P<device>\d+)_(?P<metric>.*)", units={"clock": "MHz"}, kinds={"power": "counter"})
    found, _ = metric_columns(names, stated)
    told = [(c.metric, c.device_kind, c.device, c.host, c.labels, c.unit, c.kind) for c in found]
    assert told == [
        ("gpu_temp", "gpu", "3", None, "{}", None, None),
        ("temp", None, None, None, '{"index":"3"}', None, None),
        ("power", None, None, None, "{}", "kW", "counter"),
        ("util", "gpu", "1", None, '{"mode":"x"}', None, None),
        ("up", None, None, "n1", "{}", None, None),
        ("a{b}", None, None, None, "{}", None, None),
        ("clock", "gpu", "7", None, "{}", "MHz", None),
        ("value (raw)", None, None, None, "{}", None, None),
    ]
