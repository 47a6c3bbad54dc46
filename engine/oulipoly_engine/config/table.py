"""A TOML table as a class of typed keys, and plain values read as one, with every fault at once. Pure.

Written here, since a checking library's import would cost each run several times what the rest of reading costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from oulipoly_engine.config.problem import Fault, KeyPath, Level, nearest, shown

T = TypeVar("T")
TableT = TypeVar("TableT", bound="Table")
Reader: TypeAlias = Callable[[Any, KeyPath], T]  # a plain value and where it stands; raises Refused

_NEEDED: Any = object()


class Refused(Exception):
    """A value that cannot be taken, with everything that is wrong in it."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__(*faults)
        self.faults = faults


class Table:
    """A checked TOML table; its keys are class attributes."""

    later: ClassVar[frozenset[str]] = frozenset()  # keys of newer configurations that have no effect here
    closed: ClassVar[bool] = False  # an unknown key is an error, not a warning
    known: ClassVar[Mapping[str, Key[Any]]] = {}

    def __init_subclass__(cls) -> None:
        """Note the keys, in their order."""
        cls.known = {name: key for name, key in vars(cls).items() if isinstance(key, Key)}

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def refusals(self) -> Iterator[Fault]:
        """Find keys that do not fit together, their paths beginning here; only the first counts."""
        return iter(())


class Key(Generic[T]):
    """A key of a table: how its value is read, and what a missing one means; without a default it is needed."""

    def __init__(self, read: Reader[T], default: T = _NEEDED, table: type[Table] | None = None) -> None:
        self.read = read
        self.default = default
        self.table = table  # what the value, or each of its items, is a table of
        self.name = ""

    def stand_in(self, _: object, at: KeyPath) -> T:
        """Take the default for a missing value."""
        if self.default is _NEEDED:
            raise Refused(Fault(at, f"`{self.name}` is missing", f"add `{self.name}`"))
        return self.default

    def __set_name__(self, owner: type[Table], name: str) -> None:
        """Take the attribute's name as the key's."""
        self.name = name

    def __get__(self, table: Table, owner: type[Table]) -> T:
        """Return the key's value in a table."""
        value: T = table._values[self.name]
        return value


def optional(read: Reader[T]) -> Key[T | None]:
    """Return a key that may be missing."""
    return Key(read, None)


def items(item: Reader[T]) -> Key[Sequence[T]]:
    """Return a key that holds a list, empty when missing."""
    return Key(list_of(item), ())


def section(table: type[TableT]) -> Key[TableT | None]:
    """Return a key that holds a table, and may be missing."""
    return Key(partial(read_table, table), None, table)


def sections(table: type[TableT], *, needed: bool = False) -> Key[Sequence[TableT]]:
    """Return a key that holds a list of tables, at least one of them if needed."""
    item = partial(read_table, table)
    return Key(not_empty(item), table=table) if needed else Key(list_of(item), (), table)


def string(value: object, at: KeyPath) -> str:
    """Take any text."""
    if not isinstance(value, str):
        raise _wrong(value, at, "a text in quotes")
    return value


def text(value: object, at: KeyPath) -> str:
    """Take a text that a program can be given."""
    taken = string(value, at)
    if "\0" in taken:
        raise Refused(Fault(at, "it holds a NUL character, which no program can be given", "remove it"))
    return taken


def filled(value: object, at: KeyPath) -> str:
    """Take a text that is not blank."""
    taken = text(value, at)
    if not taken.strip():
        raise Refused(Fault(at, "it is blank", "write something, or remove the entry"))
    return taken


def variable(value: object, at: KeyPath) -> str:
    """Take the name of an environment variable."""
    name = string(value, at)
    if not name or "=" in name:
        raise Refused(Fault(at, f"{name!r} cannot be the name of a variable", "use letters, digits and _"))
    return text(name, at)


def boolean(value: object, at: KeyPath) -> bool:
    """Take true or false."""
    if not isinstance(value, bool):
        raise _wrong(value, at, "true or false, without quotes")
    return value


def count(value: object, at: KeyPath) -> int:
    """Take a whole number from 0."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong(value, at, "a whole number")
    if value < 0:
        raise _out_of_bounds(value, at, "greater than or equal to 0")
    return value


def number(value: object, at: KeyPath) -> float:
    """Take a finite number, whole or not."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise _wrong(value, at, "a number")
    try:
        taken = float(value)
    except OverflowError:
        taken = math.inf
    if not math.isfinite(taken):
        raise _out_of_bounds(value, at, "a finite number")
    return taken


def above_zero(value: object, at: KeyPath) -> float:
    """Take a number above 0."""
    taken = number(value, at)
    if taken <= 0:
        raise _out_of_bounds(value, at, "greater than 0")
    return taken


def from_zero(value: object, at: KeyPath) -> float:
    """Take a number that is not negative."""
    taken = number(value, at)
    if taken < 0:
        raise _out_of_bounds(value, at, "greater than or equal to 0")
    return taken


def one_of(*choices: str) -> Reader[str]:
    """Return a reader of one of a few words."""

    def read(value: object, at: KeyPath) -> str:
        if isinstance(value, str) and value in choices:
            return value
        found = nearest(value, choices) if isinstance(value, str) else ()
        fix = f'write "{found[0]}"' if found else "write one of these in quotes"
        raise Refused(Fault(at, f"{shown(value)} is not one of {', '.join(choices)}", fix))

    return read


def list_of(item: Reader[T]) -> Reader[Sequence[T]]:
    """Return a reader of a list."""

    def read(value: object, at: KeyPath) -> Sequence[T]:
        if not isinstance(value, list):
            raise _wrong(value, at, "a list in brackets")
        return _read_all((item, entry, (*at, place)) for place, entry in enumerate(value))

    return read


def not_empty(item: Reader[T]) -> Reader[Sequence[T]]:
    """Return a reader of a list with one item at least."""
    read_list = list_of(item)

    def read(value: object, at: KeyPath) -> Sequence[T]:
        if value == []:
            raise Refused(Fault(at, f"the list `{at[-1]}` is empty", f"put something into `{at[-1]}`, or remove it"))
        return read_list(value, at)

    return read


def variables(value: object, at: KeyPath) -> Mapping[str, str]:
    """Take environment variables and their texts."""
    if not isinstance(value, dict):
        raise _wrong(value, at, "a table")
    places = ((name, entry, (*at, name)) for name, entry in value.items())
    _read_all(half for name, entry, here in places for half in ((variable, name, here), (text, entry, here)))
    return value


def read_table(table: type[TableT], raw: object, at: KeyPath) -> TableT:
    """Take a table's values.

    Raises Refused with all faults of its keys; keys that do not fit together are looked for only when there is none.
    """
    if not isinstance(raw, dict):
        raise _wrong(raw, at, "a table")
    readers = {name: key.read if name in raw else key.stand_in for name, key in table.known.items()}
    if table.closed:
        readers |= {name: partial(_strange, table) for name in raw if name not in readers}
    values = _read_all((read, raw.get(name), (*at, name)) for name, read in readers.items())
    checked = table(dict(zip(readers, values, strict=True)))
    for fault in checked.refusals():
        raise Refused(Fault((*at, *fault.path), fault.message, fault.fix))
    return checked


def unknown_keys(table: type[Table], raw: object, at: KeyPath = ()) -> Iterator[Fault]:
    """Find keys that mean nothing here, in nested tables too; tables that refuse them are left to `read_table`."""
    if not isinstance(raw, Mapping) or table.closed:
        return
    for name, value in raw.items():
        place = (*at, name)
        key = table.known.get(name)
        if key is None:
            yield _unknown_key(table, place, Level.WARNING)
        elif key.table is not None and isinstance(value, list):
            for position, item in enumerate(value):
                yield from unknown_keys(key.table, item, (*place, position))
        elif key.table is not None:
            yield from unknown_keys(key.table, value, place)


def _read_all(values: Iterable[tuple[Reader[T], Any, KeyPath]]) -> list[T]:
    """Take every value, or raise all that is wrong with any."""
    taken: list[T] = []
    faults: list[Fault] = []
    for read, value, at in values:
        try:
            taken.append(read(value, at))
        except Refused as refused:
            faults += refused.faults
    if faults:
        raise Refused(*faults)
    return taken


def _strange(table: type[Table], _: object, at: KeyPath) -> Any:  # noqa: ANN401 - stands in for a reader, and never returns
    raise Refused(_unknown_key(table, at, Level.ERROR))


def _unknown_key(table: type[Table], at: KeyPath, level: Level) -> Fault:
    key = str(at[-1])
    if key in table.later:
        return Fault(at, f"`{key}` has no effect in this version", "remove it, or leave it", level)
    found = nearest(key, table.known)
    hint = f"did you mean `{found[0]}`?" if found else f"known here are {', '.join(table.known)}"
    fix = f"rename it to `{found[0]}`" if found else "remove it"
    return Fault(at, f"`{key}` is not a known key ({hint})", fix, level)


def _wrong(value: object, at: KeyPath, wanted: str) -> Refused:
    return Refused(Fault(at, f"it must be {wanted}, not {shown(value)}", f"write {wanted}"))


def _out_of_bounds(value: object, at: KeyPath, wanted: str) -> Refused:
    return Refused(Fault(at, f"{shown(value)} is wrong: it should be {wanted}", "correct the value"))
