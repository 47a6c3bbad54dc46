"""What an agent lets be chosen, model, effort and mode, in the two ways in which agents tell it. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from oulipoly_engine.core.live.events import ModelInfo
from oulipoly_engine.core.live.permissions import Profile
from oulipoly_engine.core.live.wires.acp import AGENT_MODES
from oulipoly_engine.drivers.json_values import Json, listing, mapping, text_of

_EFFORTS = ("thought_level", "reasoning_effort", "effort")

Order = tuple[str, dict[str, Json]]  # a method and its parameters, without the session's id


class Settings:
    """What is chosen, and what could be."""

    def __init__(self) -> None:
        self.model, self.mode = "", ""
        self._models: dict[str, tuple[str, str]] = {}  # id: name, description
        self._modes: tuple[str, ...] = ()
        self._options: dict[str, dict[str, Json]] = {}  # by category, else by id
        self._has_model_method = False

    def take(self, told: Mapping[str, Json]) -> None:
        """Take the answer that opened the session, or an update of its options."""
        models, modes = mapping(told.get("models")), mapping(told.get("modes"))
        if models:
            self._has_model_method = True
            self.model = text_of(models.get("currentModelId")) or self.model
            known = [mapping(one) for one in listing(models.get("availableModels"))]
            self._models = {text_of(one.get("modelId")): _named(one) for one in known if text_of(one.get("modelId"))}
        if modes:
            self.mode = text_of(modes.get("currentModeId")) or self.mode
            told_modes = [text_of(mapping(one).get("id")) for one in listing(modes.get("availableModes"))]
            self._modes = tuple(told_modes) or self._modes  # an update names the current one alone
        for option in map(mapping, listing(told.get("configOptions"))):
            self._options[text_of(option.get("category")) or text_of(option.get("id"))] = option
        self.model = self._current("model") or self.model
        self.mode = self._current("mode") or self.mode

    def apply(self, params: Mapping[str, Json], answer: Mapping[str, Json]) -> None:
        """Take an order that was carried out. params: its own. answer: what the agent says of all options."""
        self.take(answer)
        if "configOptions" in answer:
            return
        chosen = {"model": text_of(params.get("modelId")), "mode": text_of(params.get("modeId"))}
        for name, option in tuple(self._options.items()):
            own = text_of(params.get("value")) if option.get("id") == params.get("configId") else chosen.get(name)
            self._options[name] = {**option, "currentValue": own} if own else option
        self.model = self._current("model") or chosen["model"] or self.model
        self.mode = self._current("mode") or chosen["mode"] or self.mode

    @property
    def can_set_model(self) -> bool:
        """Return whether another model can be chosen."""
        return self._has_model_method or "model" in self._options

    def models(self) -> tuple[ModelInfo, ...]:
        """Return the models on offer."""
        known = self._models or dict(self._values("model"))
        efforts = tuple(value for name in _EFFORTS for value, _ in self._values(name))
        return tuple(
            ModelInfo(identity, name, description, is_default=identity == self.model, efforts=efforts)
            for identity, (name, description) in known.items()
        )

    def mode_order(self, profile: Profile) -> Order | None:
        """Return what makes the agent ask as a profile says, or None where it does or knows no such mode."""
        known = self._modes or tuple(value for value, _ in self._values("mode"))
        wanted = next((mode for mode in AGENT_MODES[profile] if mode in known), "")
        if not wanted or wanted == self.mode:
            return None
        return ("session/set_mode", {"modeId": wanted}) if self._modes else self._option_order("mode", wanted)

    def model_order(self, model: str) -> Order | None:
        """Return what chooses a model, or None where none can be chosen."""
        if "model" in self._options and (not self._has_model_method or model not in self._models):
            return self._option_order("model", model)
        return ("session/set_model", {"modelId": model}) if self._has_model_method else None

    def effort_order(self, effort: str) -> Order | None:
        """Return what chooses an effort, or None where none can be chosen."""
        name = next((name for name in _EFFORTS if name in self._options), "")
        return self._option_order(name, effort) if name else None

    def _option_order(self, name: str, value: str) -> Order:
        return "session/set_config_option", {"configId": text_of(self._options[name].get("id")), "value": value}

    def _current(self, name: str) -> str:
        return text_of(self._options.get(name, {}).get("currentValue"))

    def _values(self, name: str) -> list[tuple[str, tuple[str, str]]]:
        """Return the values of an option, those within groups as well."""
        found = []
        for one in map(mapping, listing(self._options.get(name, {}).get("options"))):
            inner = [mapping(each) for each in listing(one.get("options"))] or [one]
            found += [(text_of(each.get("value")), _named(each)) for each in inner if text_of(each.get("value"))]
        return found


def _named(told: Mapping[str, Json]) -> tuple[str, str]:
    return text_of(told.get("name")), text_of(told.get("description"))
