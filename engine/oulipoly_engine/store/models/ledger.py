"""The ledger of API calls, cursors of transcripts, and prices."""

from __future__ import annotations

from oulipoly_engine.store.base.orm import (
    BigIntegerField,
    BlobField,
    CompositeKey,
    DoubleField,
    IntegerField,
    TextField,
)
from oulipoly_engine.store.models.base import Row


class PlaceRow(Row, table_name="ledger_places"):
    """Where calls were made; the number is a digest."""

    id = BigIntegerField(primary_key=True)
    account = TextField()
    cli = TextField()
    session = TextField()
    project = TextField()
    model = TextField()
    is_sidechain = IntegerField()


class CallRow(Row, table_name="ledger_calls"):
    """One API call; the number is a digest. Its index on `at_ms` is made at the end of the first pass."""

    id = BigIntegerField(primary_key=True)
    at_ms = BigIntegerField()
    place = BigIntegerField()
    input = BigIntegerField()
    output = BigIntegerField()
    cache_read = BigIntegerField()
    cache_write = BigIntegerField()
    cache_write_1h = BigIntegerField()
    reasoning = BigIntegerField()


class CursorRow(Row, table_name="ledger_files"):
    """How far a transcript has been read."""

    path = BlobField(primary_key=True)
    device = BigIntegerField()
    inode = BigIntegerField()
    size = BigIntegerField()
    mtime_ns = BigIntegerField()
    offset = BigIntegerField()
    head = BlobField()
    tail = BlobField()
    state = TextField(null=True)
    generation = IntegerField()


class DamageRow(Row, table_name="ledger_errors", primary_key=CompositeKey("path", "offset")):
    """A line that may tell of a call and could not be read."""

    path = BlobField()
    offset = BigIntegerField()
    length = BigIntegerField()
    what = TextField()


class RootRow(Row, table_name="ledger_roots"):
    """The first ancestor of a forked session."""

    session = TextField(primary_key=True)
    root = TextField()


class PriceRow(Row, table_name="model_prices", primary_key=CompositeKey("model", "from_ms", "above_input")):
    """What a price list says of a model, in USD per million tokens."""

    model = TextField()
    from_ms = BigIntegerField()
    above_input = BigIntegerField()
    input = DoubleField(null=True)
    output = DoubleField(null=True)
    cache_read = DoubleField(null=True)
    cache_write = DoubleField(null=True)
    cache_write_1h = DoubleField(null=True)
    list = TextField()
