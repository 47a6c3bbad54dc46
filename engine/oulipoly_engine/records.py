"""The one kind of value that the engine passes around. Imports msgspec and nothing of ours.

Structs, not dataclasses: 83 frozen dataclasses took 105 to 133 of the 246 ms of a one-shot, because each of them
compiles its methods at import; 83 Structs take 25.
"""

from __future__ import annotations

import sys
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform, overload

# msgspec takes typing_extensions where it is installed and does without where it is not; it costs 7 of 21 ms. Every
# program of ours imports this before it has a second thread, which would meet the None. A module that is run as a
# program takes msgspec from here: its own import would come first.
if "typing_extensions" in sys.modules:
    import msgspec
else:
    sys.modules["typing_extensions"] = None  # type: ignore[assignment]
    try:
        import msgspec
    finally:
        del sys.modules["typing_extensions"]

field = msgspec.field

if TYPE_CHECKING:

    @dataclass_transform(frozen_default=True, field_specifiers=(field,))
    class Record:
        """What type checkers see, which know of no Struct whose subclasses are frozen unless they say otherwise."""

        def __init_subclass__(  # noqa: D105
            cls,
            *,
            frozen: bool = True,
            eq: bool = True,
            order: bool = False,
            kw_only: bool = False,
            tag: str | None = None,
            tag_field: str | None = None,
            omit_defaults: bool = False,
        ) -> None: ...

else:

    class Record(msgspec.Struct, frozen=True):
        """A frozen value with typed fields; equal where kind and fields are.

        A class that must change in place says `frozen=False`, and is not a value: it stays within its module.
        """


RecordT = TypeVar("RecordT", bound=Record)

__all__ = ["Record", "asdict", "field", "msgspec", "prepare", "replace"]

_T = TypeVar("_T")
_preparing = Lock()
_types: dict[Any, Any] = {}  # which have been prepared


@overload
def prepare(kind: type[_T]) -> type[_T]: ...
@overload
def prepare(kind: Any) -> Any: ...  # noqa: ANN401 - a union, which is no type[...]
def prepare(kind: Any) -> Any:
    """Return a type that may be decoded in any thread; whoever has msgspec make values of a type asks for it so.

    msgspec describes a Struct when it first decodes one. A second thread that comes meanwhile takes the half of the
    description and ends the process by a segmentation fault, so that one thread does it at a time.
    """
    if kind not in _types:
        with _preparing:
            if kind not in _types:
                msgspec.msgpack.Decoder(kind)
                _types[kind] = kind
    return _types[kind]  # an equal generic type that is another object would be described anew


def replace(record: RecordT, /, **changes: Any) -> RecordT:  # noqa: ANN401 - the fields' own types
    """Return a copy of a record with some fields changed."""
    changed: RecordT = msgspec.structs.replace(record, **changes)  # type: ignore[type-var]
    return changed


def asdict(record: Record) -> dict[str, Any]:
    """Return a record's fields by name in the order of its class; records inside of it become dicts as well."""
    document: dict[str, Any] = _plain(record)
    return document


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a field holds
    if isinstance(value, msgspec.Struct):
        return {name: _plain(each) for name, each in msgspec.structs.asdict(value).items()}
    if type(value) is dict:
        return {name: _plain(each) for name, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_plain, value))
    return value
