"""What a query asks of the views it names: which metrics, which time; read from its syntax tree.

Only conditions that are AND-ed in the WHERE of the SELECT that names a view count, and only those
that no row outside of them could pass; for all else the view is given whole. So pruning can save
reading, and never changes an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import duckdb

from workbench.errors import UsageError
from workbench.timebase import parse_time, to_us

__all__ = ["Asked", "asked_of", "words_of"]

SAMPLES, SAMPLES_OF = "samples", "samples_of"
Tree = Any
Span = tuple[int | None, int | None]
_WORD = re.compile(r"[^\W\d]\w*", re.UNICODE)
_ZONE = re.compile(r"(?:Z|[+-]\d\d(?::?\d\d)?)$", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a query asks.

    Attributes
    ----------
    metrics : frozenset of str or None
        Metrics that it can see of ``samples``; None: all.
    spans : mapping of view to (from_us, to_us)
        Time that it can see of a view, both ends inside; None: open. Views that are not in it are
        seen whole.
    """

    metrics: frozenset[str] | None
    spans: Mapping[str, Span]


def words_of(query: str) -> frozenset[str]:
    """Give the words of a query in lower case: a view that is not among them is not asked.

    Examples
    --------
    >>> sorted(words_of('select "Power" from GPU'))
    ['from', 'gpu', 'power', 'select']
    """
    return frozenset(word.lower() for word in _WORD.findall(query))


def asked_of(connection: duckdb.DuckDBPyConnection, query: str, parameters: object) -> Asked:
    """Read what a query asks; whatever is not understood is asked whole."""
    (text,) = connection.execute("select json_serialize_sql(?)", [query]).fetchall()[0]
    tree = json.loads(text)
    if tree.get("error"):
        return Asked(metrics=None, spans={})
    mentions = list(_mentions(tree))
    if sum(1 for node in _walk(tree) if _view_of(node) is not None) != len(mentions):
        return Asked(metrics=None, spans={})  # a view stands where no SELECT of it was found
    metrics: list[frozenset[str] | None] = []
    spans: dict[str, list[Span]] = {}
    for mention in mentions:
        span: Span = (None, None)
        names = mention.names(parameters)
        for condition in mention.conditions:
            names = _both(names, _metrics_of(mention.column("metric"), condition, parameters))
            span = _narrower(span, _span_of(mention.column("ts"), condition, parameters))
        spans.setdefault(mention.view, []).append(span)
        if mention.view == SAMPLES:
            metrics.append(names)
    known = [names for names in metrics if names is not None]
    seen = frozenset().union(*known) if known and len(known) == len(metrics) else None
    return Asked(metrics=seen, spans={view: _hull(listed) for view, listed in spans.items()})


@dataclass(frozen=True, kw_only=True)
class _Mention:
    """A view named in the FROM of a SELECT, and what is AND-ed in its WHERE."""

    view: str
    alias: str
    alone: bool
    node: Mapping[str, Any]
    conditions: Sequence[Mapping[str, Any]]

    def column(self, name: str) -> Callable[[Tree], bool]:
        """Give a test for this view's column; without its alias only where no other table could be meant."""

        def is_it(node: Tree) -> bool:
            if not isinstance(node, dict) or node.get("type") != "COLUMN_REF":
                return False
            path = [str(part).lower() for part in node["column_names"]]
            return path[-1] == name and (path[-2:-1] == [self.alias] or (self.alone and len(path) == 1))

        return is_it

    def names(self, parameters: object) -> frozenset[str] | None:
        """Give the metrics that ``samples_of`` is called with."""
        if self.node.get("type") != "TABLE_FUNCTION":
            return None
        arguments = self.node["function"].get("arguments") or [{}]
        return _texts(arguments[0].get("expression"), parameters)


def _walk(node: Tree) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from _walk(value)
    elif isinstance(node, list):
        for value in node:
            yield from _walk(value)


def _view_of(node: Mapping[str, Any]) -> str | None:
    if node.get("type") == "BASE_TABLE":
        return str(node.get("table_name", "")).lower()
    if (
        node.get("type") == "TABLE_FUNCTION"
        and str(node.get("function", {}).get("function_name", "")).lower() == SAMPLES_OF
    ):
        return SAMPLES
    return None


def _mentions(tree: Tree) -> Iterator[_Mention]:
    for select in _walk(tree):
        if select.get("type") != "SELECT_NODE":
            continue
        tables = list(_tables(select.get("from_table")))
        conditions = list(_conjuncts(select.get("where_clause")))
        for node in tables:
            view = _view_of(node)
            assert view is not None
            alias = str(node.get("alias") or (SAMPLES_OF if node["type"] == "TABLE_FUNCTION" else view)).lower()
            alone = node is select.get("from_table")
            yield _Mention(view=view, alias=alias, alone=alone, node=node, conditions=conditions)


def _tables(node: Tree) -> Iterator[dict[str, Any]]:
    """Give the views in a FROM, through joins but not into sub-queries."""
    if not isinstance(node, dict):
        return
    if _view_of(node) is not None:
        yield node
    elif node.get("type") == "JOIN":
        yield from _tables(node.get("left"))
        yield from _tables(node.get("right"))


def _conjuncts(node: Tree) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict) and node.get("type") == "CONJUNCTION_AND":
        for child in node["children"]:
            yield from _conjuncts(child)
    elif isinstance(node, dict):
        yield node


def _metrics_of(
    is_metric: Callable[[Tree], bool], condition: Mapping[str, Any], parameters: object
) -> frozenset[str] | None:
    if condition.get("type") == "COMPARE_EQUAL":
        for one, other in (("left", "right"), ("right", "left")):
            value = _constant(condition.get(other), parameters)
            if is_metric(condition.get(one)) and isinstance(value, str):
                return frozenset({value})
    if condition.get("type") == "COMPARE_IN":
        first, *rest = condition.get("children") or [None]
        values = [_constant(node, parameters) for node in rest]
        if is_metric(first) and all(isinstance(value, str) for value in values):
            return frozenset(str(value) for value in values)
    return None


def _both(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other


_LOW, _HIGH = ("COMPARE_GREATERTHAN", "COMPARE_GREATERTHANOREQUALTO"), ("COMPARE_LESSTHAN", "COMPARE_LESSTHANOREQUALTO")


def _span_of(is_ts: Callable[[Tree], bool], condition: Mapping[str, Any], parameters: object) -> Span:
    kind = condition.get("type")
    if kind == "COMPARE_BETWEEN" and is_ts(condition.get("input")):
        return _moment(condition.get("lower"), parameters), _moment(condition.get("upper"), parameters)
    for one, other, low, high in (("left", "right", _LOW, _HIGH), ("right", "left", _HIGH, _LOW)):
        if not is_ts(condition.get(one)):
            continue
        at = _moment(condition.get(other), parameters)
        if kind == "COMPARE_EQUAL":
            return at, at
        if kind in low:
            return at, None
        if kind in high:
            return None, at
    return None, None


def _narrower(one: Span, other: Span) -> Span:
    lows = [low for low in (one[0], other[0]) if low is not None]
    highs = [high for high in (one[1], other[1]) if high is not None]
    return max(lows, default=None), min(highs, default=None)


def _hull(spans: Sequence[Span]) -> Span:
    lows, highs = [low for low, _ in spans], [high for _, high in spans]
    low = None if None in lows else min(one for one in lows if one is not None)
    return low, None if None in highs else max(one for one in highs if one is not None)


def _moment(node: Tree, parameters: object) -> int | None:
    """Give microseconds of a time that is written out; None where it is not, or not understood."""
    value = _constant(node, parameters)
    if isinstance(value, datetime):
        return to_us(value) if value.tzinfo is not None else None
    if isinstance(value, date) or not isinstance(value, str):
        return None
    try:
        return parse_time(
            value if _ZONE.search(value[10:]) else value + "Z" if len(value) > 10 else value + "T00:00:00Z"
        )
    except UsageError:
        return None


def _constant(node: Tree, parameters: object) -> object:
    """Give the value of a constant, parameter, or a cast to a time of one of them."""
    if not isinstance(node, dict):
        return None
    if node.get("type") == "OPERATOR_CAST":
        to = str(node.get("type_expr", {}).get("type_name", "")).lower()
        return _constant(node.get("child"), parameters) if to in ("timestamptz", "timestamp with time zone") else None
    if node.get("type") == "VALUE_CONSTANT":
        told = node.get("literal") or {}
        return told.get("text") if told.get("kind") == "STRING" else None
    if node.get("type") == "VALUE_PARAMETER":
        return _parameter(str(node.get("identifier", "")), parameters)
    return None


def _texts(node: Tree, parameters: object) -> frozenset[str] | None:
    """Give the texts of a list that is written out, or bound to a parameter."""
    if not isinstance(node, dict):
        return None
    if node.get("type") == "VALUE_PARAMETER":
        values: Sequence[object] = _parameter(str(node.get("identifier", "")), parameters) or ()  # type: ignore[assignment]
    elif str(node.get("function_name", "")).lower() == "list_value":
        values = [_constant(argument.get("expression"), parameters) for argument in node.get("arguments", ())]
    else:
        return None
    if isinstance(values, str) or not all(isinstance(value, str) for value in values):
        return None
    return frozenset(str(value) for value in values)


def _parameter(name: str, parameters: object) -> object:
    if isinstance(parameters, Mapping):
        return parameters.get(name)
    if isinstance(parameters, Sequence) and name.isdigit() and 0 < int(name) <= len(parameters):
        return parameters[int(name) - 1]
    return None
