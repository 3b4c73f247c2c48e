"""A pickle of plain containers, walked opcode by opcode: nothing is imported, called or built by name.

Python's own unpickler is not used: it would call what a pickle names. Of its opcodes only those
that make numbers, texts, bytes, lists, tuples and dicts are known here; any other refuses the file.
"""

from __future__ import annotations

import pickletools  # it takes opcodes apart and runs none
from collections.abc import Callable
from typing import Any

__all__ = ["PickleRefusedError", "plain_pickle"]

_MOST_OPCODES = 20_000_000
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_VALUES = frozenset(
    {"BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"}
    | {"SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "SHORT_BINSTRING", "BINSTRING"}
)
_PUTS = frozenset({"BINPUT", "LONG_BINPUT"})
_GETS = frozenset({"BINGET", "LONG_BINGET"})
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_LONGEST_INT = 1000  # bytes
_MARK = object()


class PickleRefusedError(Exception):
    """The bytes are no pickle, or one that holds more than plain containers."""


def plain_pickle(data: bytes) -> tuple[Any, int]:
    r"""Give the value of a pickle, and how many bytes it took.

    Parameters
    ----------
    data : bytes

    Raises
    ------
    PickleRefusedError
        Where it is cut or broken, or has an opcode that names a class, a function or an object of
        elsewhere.

    Examples
    --------
    >>> import pickle
    >>> plain_pickle(pickle.dumps({"a": [1, (2.5, None)]}))[0]
    {'a': [1, (2.5, None)]}
    >>> plain_pickle(pickle.dumps(print))
    Traceback (most recent call last):
    ...
    workbench.readers.plainpickle.PickleRefusedError: opcode STACK_GLOBAL at byte 30: only plain containers are read
    """
    machine = _Machine()
    try:
        for count, (opcode, argument, place) in enumerate(pickletools.genops(data)):
            if count > _MOST_OPCODES:
                raise PickleRefusedError(f"more than {_MOST_OPCODES} opcodes")
            if opcode.name == "STOP":
                return machine.result(), (place or 0) + 1
            machine.step(opcode.name, argument, place or 0)
    except (ValueError, IndexError, KeyError, TypeError, OverflowError) as error:
        raise PickleRefusedError(f"no whole pickle: {str(error)[:200]}") from None
    raise PickleRefusedError("no whole pickle: it has no end")


class _Machine:
    """The stack and the memo of a pickle."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def result(self) -> Any:
        """Give what is left on the stack."""
        if len(self._stack) != 1 or self._stack[0] is _MARK:
            raise ValueError("the stack does not hold one value at the end")
        return self._stack[0]

    def step(self, name: str, argument: Any, place: int) -> None:
        """Do one opcode."""
        if name in _VALUES:
            if isinstance(argument, int) and argument.bit_length() > 8 * _LONGEST_INT:
                raise ValueError("a number beyond reason")
            self._stack.append(argument)
        elif name in _CONSTANTS:
            self._stack.append(_CONSTANTS[name])
        elif name in _PUTS or name == "MEMOIZE":
            self._memo[len(self._memo) if argument is None else argument] = self._top()
        elif name in _GETS:
            self._stack.append(self._memo[argument])
        elif name in _TUPLES:
            self._stack[-_TUPLES[name] :] = [tuple(self._taken(_TUPLES[name]))]
        elif name not in ("PROTO", "FRAME"):
            self._build(name, place)

    def _build(self, name: str, place: int) -> None:
        made: dict[str, Callable[[], None]] = {
            "MARK": lambda: self._stack.append(_MARK),
            "EMPTY_DICT": lambda: self._stack.append({}),
            "EMPTY_LIST": lambda: self._stack.append([]),
            "EMPTY_TUPLE": lambda: self._stack.append(()),
            "TUPLE": lambda: self._stack.append(tuple(self._to_mark())),
            "LIST": lambda: self._stack.append(self._to_mark()),
            "DICT": lambda: self._stack.append(_paired(self._to_mark())),
            "APPEND": lambda: self._extend([self._stack.pop()]),
            "APPENDS": lambda: self._extend(self._to_mark()),
            "SETITEM": lambda: self._update([self._stack.pop(-2), self._stack.pop()]),
            "SETITEMS": lambda: self._update(self._to_mark()),
            "POP": lambda: _dropped(self._stack.pop()),
            "POP_MARK": lambda: _dropped(self._to_mark()),
        }
        if name not in made:
            raise PickleRefusedError(f"opcode {name} at byte {place}: only plain containers are read")
        made[name]()

    def _top(self) -> Any:
        if self._stack[-1] is _MARK:
            raise ValueError("a mark is no value")
        return self._stack[-1]

    def _taken(self, count: int) -> list[Any]:
        found = self._stack[-count:]
        if len(found) < count or any(value is _MARK for value in found):
            raise ValueError("the stack is too short")
        return found

    def _to_mark(self) -> list[Any]:
        place = next((n for n in range(len(self._stack) - 1, -1, -1) if self._stack[n] is _MARK), None)
        if place is None:
            raise ValueError("no mark on the stack")
        found = self._stack[place + 1 :]
        del self._stack[place:]
        return found

    def _extend(self, values: list[Any]) -> None:
        target = self._top()
        if not isinstance(target, list):
            raise TypeError("no list to append to")
        target.extend(values)

    def _update(self, values: list[Any]) -> None:
        target = self._top()
        if not isinstance(target, dict):
            raise TypeError("no dict to set items of")
        target.update(_paired(values))


def _paired(values: list[Any]) -> dict[Any, Any]:
    if len(values) % 2:
        raise ValueError("a key without a value")
    keys = values[::2]
    if not all(isinstance(key, (str, int, bytes, float, type(None))) for key in keys):
        raise TypeError("a key that is neither text nor number")
    return dict(zip(keys, values[1::2], strict=True))


def _dropped(value: object) -> None:
    del value
