"""The one import of peewee: every name of it that the store uses comes from here.

peewee imports each driver of PostgreSQL and MySQL that it finds: 43 ms become 180 where psycopg is installed. It finds
none here, nor pysqlite3, which it would take in place of the standard library's driver, so that errors would be of
another family. Of the standard library it imports five modules of which SQLite needs next to nothing, 14 ms of a
start: it gets stand-ins for those that are not loaded yet.

That holds for peewee alone, by an `__import__` of its own: `sys.modules` stays as it is, for other threads import at
the same time.
"""

import builtins
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType

_DRIVERS = frozenset({"psycopg", "psycopg2", "psycopg2cffi", "pymysql", "MySQLdb", "pysqlite3"})


class _LateModule(ModuleType):
    """A module that is imported when something of it is asked for."""

    def __getattr__(self, name: str) -> object:
        return getattr(import_module(self.__name__), name)


class _SilentLogger:
    """A logger, and a handler, that take nothing."""

    def __getattr__(self, _name: str) -> Callable[..., None]:
        return lambda *_, **__: None


def _module(name: str, **contents: object) -> ModuleType:
    """Return a stand-in that has some of a module's names at hand."""
    module = _LateModule(name)
    module.__dict__.update(contents)
    return module


_STAND_INS = {
    "inspect": _module("inspect", isclass=lambda value: isinstance(value, type)),
    "logging": _module("logging", getLogger=lambda _name: _SilentLogger(), NullHandler=_SilentLogger, DEBUG=10),
    "calendar": _LateModule("calendar"),
    "hashlib": _LateModule("hashlib"),
    "socket": _LateModule("socket"),
}


def _import(name: str, *more: object) -> ModuleType:
    """Import for peewee."""
    package = name.partition(".")[0]
    if package in _DRIVERS:
        raise ImportError(name=name)
    if name in _STAND_INS and name not in sys.modules:
        return _STAND_INS[name]
    real: Callable[..., ModuleType] = builtins.__import__
    return real(name, *more)


def _load_peewee() -> None:
    spec = find_spec("peewee")
    if "peewee" in sys.modules or spec is None or spec.loader is None:
        return  # the import below says what is wrong
    module = module_from_spec(spec)
    module.__dict__["__builtins__"] = vars(builtins) | {"__import__": _import}
    spec.loader.exec_module(module)
    sys.modules["peewee"] = module  # whole, so that nobody sees half of it


_load_peewee()

from peewee import (  # noqa: E402 - loaded above, in our way
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
    ModelBase,
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
    "ModelBase",
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
