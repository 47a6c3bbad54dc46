"""The one import of peewee: every name of it that the store uses comes from here.

peewee imports each driver of PostgreSQL and MySQL that it finds: 43 ms become 180 where psycopg is installed. They are
hidden from it here, and with them pysqlite3, which it would take in place of the standard library's driver, so that
errors would be of another family.

Of the standard library it imports four modules of which SQLite needs next to nothing, 12 ms of a start. Where they are
not loaded yet, it gets stand-ins: two that import the real module when something is asked of it, the one function of
`inspect` that it uses, and a logger that nobody listens to.
"""

import sys
from importlib import import_module
from types import ModuleType

_DRIVERS = ("psycopg", "psycopg2", "psycopg2cffi", "pymysql", "MySQLdb", "pysqlite3")


class _Late(ModuleType):
    """A module that is imported when something of it is asked for."""

    def __getattr__(self, name: str) -> object:
        return getattr(import_module(self.__name__), name)


class _Silent:
    """A logger, and a handler, that take nothing."""

    def addHandler(self, _handler: object) -> None:  # noqa: N802 - the name that logging gave it
        return

    def isEnabledFor(self, _level: int) -> bool:  # noqa: N802 - as above
        return False


def _inspect() -> ModuleType:
    module = ModuleType("inspect")
    module.__dict__["isclass"] = lambda value: isinstance(value, type)
    return module


def _logging() -> ModuleType:
    module = ModuleType("logging")
    module.__dict__.update(getLogger=lambda _name: _Silent(), NullHandler=_Silent, DEBUG=10)
    return module


_STAND_INS = {"inspect": _inspect(), "logging": _logging(), "hashlib": _Late("hashlib"), "socket": _Late("socket")}
_hidden = [name for name in (*_DRIVERS, *_STAND_INS) if name not in sys.modules]
# None: the import system refuses to look for it.
sys.modules.update({name: _STAND_INS.get(name) for name in _hidden})  # type: ignore[misc]
try:
    from peewee import (
        EXCLUDED,
        JOIN,
        SQL,
        AutoField,
        BigIntegerField,
        BlobField,
        Case,
        Check,
        ColumnBase,
        CompositeKey,
        Context,
        Default,
        DoubleField,
        Expression,
        Field,
        Function,
        IntegerField,
        Model,
        ModelSelect,
        Node,
        PeeweeException,
        Query,
        SqliteDatabase,
        TextField,
        Tuple,
        Value,
        ValueLiterals,
        fn,
    )
finally:
    for _name in _hidden:
        sys.modules.pop(_name, None)

__all__ = [
    "EXCLUDED",
    "JOIN",
    "SQL",
    "AutoField",
    "BigIntegerField",
    "BlobField",
    "Case",
    "Check",
    "ColumnBase",
    "CompositeKey",
    "Context",
    "Default",
    "DoubleField",
    "Expression",
    "Field",
    "Function",
    "IntegerField",
    "Model",
    "ModelSelect",
    "Node",
    "PeeweeException",
    "Query",
    "SqliteDatabase",
    "TextField",
    "Tuple",
    "Value",
    "ValueLiterals",
    "fn",
]
