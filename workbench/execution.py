"""Independent tasks mapped here, over processes, or over a Dask cluster: the same answers in the same order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from workbench.errors import ResourceError, UsageError

__all__ = ["check_engine", "map_tasks"]

Task = TypeVar("Task")
Answer = TypeVar("Answer")

_PROCESSES = re.compile(r"processes:([1-9]\d{0,3})", re.ASCII)
_DASK = re.compile(r"dask:(\S+)")


def check_engine(engine: str) -> str:
    """Give the engine back where it is one.

    Raises
    ------
    UsageError
        Where it is none.

    Examples
    --------
    >>> check_engine("processes:4")
    'processes:4'
    """
    if engine != "here" and not _PROCESSES.fullmatch(engine) and not _DASK.fullmatch(engine):
        raise UsageError(
            f"'{engine}' is no engine; expected here, processes:N (such as processes:4) or dask:ADDRESS "
            "(such as dask:tcp://10.0.0.5:8786)."
        )
    return engine


def map_tasks(function: Callable[[Task], Answer], tasks: Sequence[Task], *, engine: str) -> Iterator[Answer]:
    """Call ``function`` on every task and give the answers in the order of the tasks.

    Parameters
    ----------
    function : callable
        For any engine but ``here`` it must be importable by name, and its tasks and answers must
        be plain enough to travel.
    tasks : sequence
    engine : str
        ``here``, ``processes:N`` (N workers on this machine) or ``dask:ADDRESS`` (a running
        scheduler; needs the extra ``dask``).

    Returns
    -------
    iterator
        Answers as soon as they and all before them are there. What is not begun when the iterator
        is closed, or when a task fails, is not done.

    Raises
    ------
    UsageError
        Where the engine is none, or cannot be reached.
    ResourceError
        Where a worker process died.

    Examples
    --------
    >>> list(map_tasks(abs, [-2, 1], engine="here"))
    [2, 1]
    """
    check_engine(engine)
    if engine == "here":
        return map(function, tasks)
    many = _PROCESSES.fullmatch(engine)
    if many:
        return _over_processes(function, tasks, int(many[1]))
    return _over_dask(function, tasks, engine.removeprefix("dask:"))


def _over_processes(function: Callable[[Task], Answer], tasks: Sequence[Task], workers: int) -> Iterator[Answer]:
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    if not tasks:
        return
    # Spawned, not forked: a fork copies the locks of Polars' and DuckDB's threads and then waits for ever.
    pool = ProcessPoolExecutor(max_workers=min(workers, len(tasks)), mp_context=get_context("spawn"))
    try:
        futures = [pool.submit(function, task) for task in tasks]
        for future in futures:
            yield future.result()
    except BrokenProcessPool:
        raise ResourceError(
            "A worker process ended by itself, most likely for want of memory. Use fewer processes, or --engine here."
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _over_dask(function: Callable[[Task], Answer], tasks: Sequence[Task], address: str) -> Iterator[Answer]:
    try:
        from distributed import Client
    except ImportError:
        raise UsageError("Dask is not installed; install it with: pip install 'workbench[dask]'.") from None
    try:
        client = Client(address, timeout="10s")
    except (OSError, ValueError, TimeoutError) as error:
        raise UsageError(f"No Dask scheduler answers at {address}: {error}. Start one, or use --engine here.") from None
    with client:
        futures = client.map(function, list(tasks), pure=False)
        try:
            for future in futures:
                yield future.result()
        finally:
            client.cancel(futures)
