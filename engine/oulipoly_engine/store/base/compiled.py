"""Queries whose SQL is written once: peewee takes 50 to 150 us to write what SQLite answers in 5."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from oulipoly_engine.store.base.orm import Field, Model, Query, SqliteDatabase, Value


class _Place:
    """Where a value goes that is known when the query is asked."""

    __slots__ = ("is_list", "position")

    def __init__(self, position: int, *, is_list: bool) -> None:
        self.position = position
        self.is_list = is_list

    def fill(self, values: Sequence[object]) -> object:
        value = values[self.position]
        return json.dumps(list(value)) if self.is_list else value  # type: ignore[call-overload]


class Parameter(Value):
    """A value of a compiled query, to be used in it like any other."""

    def __init__(self, position: int) -> None:
        super().__init__(_Place(position, is_list=False), converter=False, unpack=False)
        self._position = position

    def as_list(self) -> object:
        """Return what stands for all the values of a list, as `dialect.each_of` writes them."""
        return _Place(self._position, is_list=True)


class Compiled:
    """A function that builds a query out of its arguments; called, it gives the query with them filled in."""

    def __init__(self, build: Callable[..., Query], values: int) -> None:
        self._build = build
        self._values = values  # how many it takes
        self._written: dict[type[SqliteDatabase], tuple[str, tuple[object, ...]]] = {}  # by kind of database

    def __call__(self, *values: object) -> BoundQuery:
        """Fill in the values, in the order of the function's parameters."""
        return BoundQuery(self, values)

    def render(self, database: SqliteDatabase) -> tuple[str, tuple[object, ...]]:
        """Return the SQL and its parameters, some of them places that values go to."""
        kind = type(database)
        if kind not in self._written:
            places = [Parameter(position) for position in range(self._values)]
            sql, parameters = database.get_sql_context().parse(self._build(*places))
            self._written[kind] = sql, tuple(parameters)
        return self._written[kind]

    def many(
        self, database: SqliteDatabase, rows: Iterable[Sequence[object]]
    ) -> tuple[str, Iterable[Sequence[object]]]:
        """Return the SQL and the parameters for each of some rows of values."""
        sql, template = self.render(database)
        if [each.position if type(each) is _Place else None for each in template] == list(range(len(template))):
            return sql, rows  # as they come: putting each together would take longer than writing it
        return sql, (_fill(template, row) for row in rows)


def _fill(template: Sequence[object], values: Sequence[object]) -> list[object]:
    return [each.fill(values) if type(each) is _Place else each for each in template]


class BoundQuery:
    """A compiled query with its values."""

    __slots__ = ("_compiled", "_values")

    def __init__(self, compiled: Compiled, values: Sequence[object]) -> None:
        self._compiled = compiled
        self._values = values

    def render(self, database: SqliteDatabase) -> tuple[str, list[object]]:
        """Return the SQL and its parameters."""
        sql, template = self._compiled.render(database)
        return sql, _fill(template, self._values)


def compile_query(build: Callable[..., Query]) -> Compiled:
    """Make a query that is written once out of a function that builds it; its parameters are `Parameter`s."""
    return Compiled(build, build.__code__.co_argcount)  # `inspect` would cost 6 ms


def insertion(*columns: Field[Any], conflict: Literal["fail", "ignore", "update"] = "fail") -> Compiled:
    """Return the insertion of rows of values in the order of some columns of a table.

    conflict: what to do where the table has such a row: ignore the new one, or give the old one its values.
    """

    def build(*values: Parameter) -> Query:
        query = model.insert(dict(zip(columns, values, strict=True)))
        if conflict == "fail":
            return query
        if conflict == "ignore":
            return query.on_conflict(action="nothing")
        keys = model._meta.get_primary_keys()
        others = {each.name for each in columns} - {key.name for key in keys}  # names: fields compare to expressions
        return query.on_conflict(conflict_target=keys, preserve=[each for each in columns if each.name in others])

    model: type[Model] = columns[0].model
    return Compiled(build, len(columns))
