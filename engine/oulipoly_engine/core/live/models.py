"""The models that a runtime offers: what a CLI's list says, its pages, and the models that the user adds. Pure (B.4).

Both spellings of each key are read, those of the app-server and those of its earlier versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from oulipoly_engine.core.live.events import ModelInfo
from oulipoly_engine.core.live.wires.table import WIRES
from oulipoly_engine.core.text.nearest import nearest
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.errors import UsageInvalid

_IMAGES = ("image", "vision")
_MOST_PAGES = 100


def decode_models(reply: Mapping[str, Any]) -> tuple[ModelInfo, ...]:
    """Return the models of one reply to `model/list`; what has no id is left out."""
    listed: list[Any] = next((reply[key] for key in ("data", "models") if isinstance(reply.get(key), list)), [])
    found = (_decode(entry) for entry in listed if isinstance(entry, Mapping))
    return tuple(model for model in found if model is not None)


def merge_models(told: Iterable[ModelInfo], custom: Sequence[str]) -> tuple[ModelInfo, ...]:
    """Return the CLI's models and behind them the user's own; each id once, the first of it counts."""
    added = (ModelInfo(name.strip(), name.strip(), is_custom=True) for name in custom if name.strip())
    merged: dict[str, ModelInfo] = {}
    for model in (*told, *added):
        merged.setdefault(model.id, model)
    return tuple(merged.values())


def check_model(
    runtime: str, known: Sequence[ModelInfo], custom: Sequence[str], model: str, effort: str, kind: str
) -> None:
    """Raise UsageInvalid for a model or an effort that a runtime does not have; empty: its own choice.

    known: the models that its CLI has told of; where there are none, nobody can tell. custom: those of the user.
    kind: of its wire, whose CLI may take names that it does not list: it is the judge of them.
    """
    if redact(model) != model or redact(effort) != effort:  # such names are kept and shown
        raise UsageInvalid("the model or the effort holds what looks like a secret: name a model")
    if not known or not model or model in custom:
        return
    info = next((each for each in known if each.id == model), None)
    if info is None and re.fullmatch(WIRES[kind].unlisted_models, model):
        return
    if info is None:
        names = [each.id for each in known]
        near = nearest(model, names, limit=3)
        hint = f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(names[:8])}."
        raise UsageInvalid(
            f"{runtime} tells of no model {model[:80]!r}: {hint} One that is there all the same: name it in "
            f"`custom_models` of [runtimes.{runtime}]"
        )
    if effort and effort not in info.efforts:
        known_efforts = f"it has {', '.join(info.efforts)}" if info.efforts else "it takes none"
        raise UsageInvalid(f"{model} has no effort {effort[:80]!r}: {known_efforts}")


def has_vision(model: ModelInfo) -> bool:
    """Tell whether a model takes images."""
    return any(kind in _IMAGES for kind in model.input_modalities)


def model_json(model: ModelInfo) -> dict[str, Any]:
    """Return a model as `runtime models --json` prints it."""
    return {
        "id": model.id,
        "name": model.name or model.id,
        "description": model.description or None,
        "is_default": model.is_default,
        "is_custom": model.is_custom,
        "effort_options": list(model.efforts),
        "input_modalities": list(model.input_modalities),
        "supports_reasoning": bool(model.efforts),
        "supports_vision": has_vision(model),
        "max_input_tokens": model.max_input_tokens,
        "max_output_tokens": model.max_output_tokens,
    }


class ModelPages:
    """The pages of a list of models: what to ask next, and what was told so far."""

    def __init__(self) -> None:
        self.models: tuple[ModelInfo, ...] = ()
        self.problem = ""  # why the list ends before its end
        self._cursors: set[str] = set()

    def take(self, reply: Mapping[str, Any]) -> Mapping[str, str] | None:
        """Take a reply and return the parameters of the next request; None: there is none, see `problem`."""
        self.models = merge_models((*self.models, *decode_models(reply)), ())
        cursor = reply.get("nextCursor")
        if not isinstance(cursor, str) or not cursor:
            return None
        if cursor in self._cursors or len(self._cursors) >= _MOST_PAGES:
            self.problem = "the list of models comes back to a page that was read already, or never ends"
            return None
        self._cursors.add(cursor)
        return {"cursor": cursor}


def _decode(entry: Mapping[str, Any]) -> ModelInfo | None:
    identity = _text(entry, "model") or _text(entry, "id")
    if not identity or entry.get("hidden") is True:
        return None
    return ModelInfo(
        id=identity,
        name=_text(entry, "displayName") or _text(entry, "name") or identity,
        description=_text(entry, "description"),
        is_default=entry.get("isDefault") is True,
        efforts=_texts(entry.get("supportedReasoningEfforts"), "reasoningEffort"),
        input_modalities=_texts(entry.get("inputModalities"), "type"),
        max_input_tokens=_count(entry, "maxInputTokens", "contextWindow"),
        max_output_tokens=_count(entry, "maxOutputTokens", "maxTokens"),
    )


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    return value.strip() if isinstance(value, str) else ""


def _texts(values: object, key: str) -> tuple[str, ...]:
    """Return texts of a list that holds them bare or in objects; each once."""
    told = values if isinstance(values, list) else []
    found = (
        _text(one, key) if isinstance(one, Mapping) else one.strip() for one in told if isinstance(one, Mapping | str)
    )
    return tuple(dict.fromkeys(text for text in found if text))


def _count(entry: Mapping[str, Any], *keys: str) -> int | None:
    values = (entry.get(key) for key in keys)
    return next(
        (value for value in values if isinstance(value, int) and not isinstance(value, bool) and value > 0), None
    )
