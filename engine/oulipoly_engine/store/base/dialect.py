"""What SQLite says otherwise than PostgreSQL: the one place, so that queries are written once for both."""

from __future__ import annotations

import json
from collections.abc import Collection

from oulipoly_engine.store.base.compiled import Parameter
from oulipoly_engine.store.base.orm import Case, ColumnBase, Context, Expression, Function, Node, ValueLiterals, fn

# PostgreSQL's word and SQLite's: queries use the first, `Connections` tells peewee the second.
SQLITE_WORDS = {"IS DISTINCT FROM": "IS NOT", "GREATEST": "MAX", "LEAST": "MIN"}


def each_of(values: Collection[str] | Collection[int] | Parameter) -> Node:
    """Return the values of a list as one parameter, for `in_`: the SQL is the same however long the list is."""
    return _EachOf(values.as_list() if isinstance(values, Parameter) else json.dumps(list(values)))


def is_distinct(one: ColumnBase, other: object) -> Expression:
    """Return whether two values differ, where NULL is a value like any other."""
    return Expression(one, "IS DISTINCT FROM", other)


def has_type(column: ColumnBase, *types: str) -> Expression:
    """Return whether a value has one of SQLite's types: integer, real, text, blob or null. PostgreSQL has no others."""
    return fn.TYPEOF(column).in_(types)


def greatest(*values: object) -> Function:
    """Return the greatest of some values, of which none may be NULL: there the databases differ."""
    return _Renamed("GREATEST", values)


def least(*values: object) -> Function:
    """Return the least of some values, of which none may be NULL."""
    return _Renamed("LEAST", values)


def begins(column: ColumnBase, pattern: Parameter) -> Function:
    """Return whether a text begins as a pattern of `beginning` says, as `startswith` does for a text that is known."""
    return fn.LIKE(pattern, column, "\\")


def beginning(text: str) -> str:
    """Return the pattern of what begins with a text, in letters of either case."""
    return text.replace("\\", r"\\").replace("_", r"\_").replace("%", r"\%") + "%"


def literal(condition: Expression) -> Node:
    """Write a condition with its values in the SQL, as that of a partial index has to be for the index to be used."""
    return ValueLiterals(condition)


def count_where(condition: Expression) -> Function:
    """Return in how many rows a condition holds."""
    return fn.COUNT(Case(None, [(condition, 1)]))


class _EachOf(Node):
    """PostgreSQL's form is `(SELECT unnest(?))`."""

    def __init__(self, values: object) -> None:
        self._values = values

    def __sql__(self, ctx: Context) -> Context:
        ctx.literal("(SELECT value FROM json_each(")
        ctx.value(self._values, converter=False)
        return ctx.literal("))")


class _Renamed(Function):
    def __sql__(self, ctx: Context) -> Context:
        name = ctx.state.operations.get(self.name, self.name)
        Function(name, self.arguments).__sql__(ctx)
        return ctx
