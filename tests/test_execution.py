"""Tasks over engines: the same answers in the same order, whoever does them."""

import operator
import os

import pytest

from workbench.errors import ResourceError, UsageError
from workbench.execution import check_engine, map_tasks


def test_processes_give_the_answers_in_the_order_of_the_tasks():
    tasks = list(range(-5, 6))
    assert list(map_tasks(operator.neg, tasks, engine="processes:2")) == [-task for task in tasks]
    assert list(map_tasks(operator.neg, [], engine="processes:2")) == []


def test_what_goes_wrong_in_a_process_goes_wrong_here():
    with pytest.raises(TypeError):
        list(map_tasks(operator.neg, ["x"], engine="processes:1"))


def test_a_worker_that_dies_is_told():
    with pytest.raises(ResourceError, match="ended by itself"):
        list(map_tasks(os._exit, [1, 1], engine="processes:1"))


@pytest.mark.parametrize(
    "engine", ["", "there", "processes", "processes:0", "processes:-1", "processes:x", "dask", "dask:", "Here"]
)
def test_what_is_no_engine_is_refused(engine):
    with pytest.raises(UsageError, match="no engine"):
        check_engine(engine)
    with pytest.raises(UsageError, match="no engine"):
        map_tasks(operator.neg, [1], engine=engine)


def test_a_dask_that_is_not_there_is_told():
    with pytest.raises(UsageError, match=r"Dask is not installed|No Dask scheduler"):
        list(map_tasks(operator.neg, [1], engine="dask:tcp://127.0.0.1:9"))


def test_dask_gives_the_answers_in_the_order_of_the_tasks():
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address
        assert list(map_tasks(operator.neg, [3, 1, 2], engine=f"dask:{address}")) == [-3, -1, -2]
