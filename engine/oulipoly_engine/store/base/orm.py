"""The one import of peewee: every name of it that the store uses comes from here.

peewee imports each driver of PostgreSQL and MySQL that it finds: 43 ms become 180 where psycopg is installed. They are
hidden from it here, and with them pysqlite3, which it would take in place of the standard library's driver, so that
errors would be of another family.
"""

import sys

_DRIVERS = ("psycopg", "psycopg2", "psycopg2cffi", "pymysql", "MySQLdb", "pysqlite3")
_hidden = [name for name in _DRIVERS if name not in sys.modules]
sys.modules.update(dict.fromkeys(_hidden))  # type: ignore[arg-type]  # None: the import system refuses to look for it
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
