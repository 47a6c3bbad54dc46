"""Models of the engine's records for the OpenAPI document: one definition of each shape, the record itself."""

from __future__ import annotations

import functools
import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from pydantic import BaseModel, Field, create_model


@functools.cache
def model_of(record: type[Any]) -> type[BaseModel]:
    """Return the model of what `msgspec.to_builtins` makes of a record: every field is there."""
    return make_model(record.__name__, record)


def make_model(name: str, record: type[Any], *, without: str = "", **more: object) -> type[BaseModel]:
    """Return a model of a record's fields but one, and more. more: the types of further fields."""
    hints = {field: hint for field, hint in get_type_hints(record).items() if field in record.__struct_fields__}
    hints.pop(without, None)
    fields: dict[str, Any] = {}
    if record.__struct_config__.tag is not None:
        fields["type"] = Literal[record.__struct_config__.tag], ...
    for field, hint in (hints | more).items():
        is_taken = hasattr(BaseModel, field)  # `copy`
        fields[f"{field}_" if is_taken else field] = _translate(hint), Field(alias=field)
    return create_model(name, __doc__=record.__doc__, **fields)


def _translate(hint: Any) -> Any:  # noqa: ANN401 - a type, as annotations have it
    """Return a type with models in place of the records in it."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return model_of(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is None or origin is Literal:
        return hint
    translated = tuple(_translate(argument) for argument in arguments)
    if origin in (Union, types.UnionType):
        return Union[translated]  # noqa: UP007 - made of parts
    if isinstance(origin, type) and issubclass(origin, Mapping):
        key, value = translated
        return dict[key, value]  # type: ignore[valid-type]  # they are types
    return origin[translated]
