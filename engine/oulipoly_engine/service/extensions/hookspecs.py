"""The hooks as pluggy knows them: what each is called with. An implementation takes as many of the names as it needs.

A method whose name is a hook's is one, whether `pluggy.HookimplMarker` marks it or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import Any

import pluggy

from oulipoly_engine.core.extensions.hooks import HOOKS
from oulipoly_engine.extension_api import Continue, Handled, Session, Transform

PROJECT = "oulipoly_agent_runner"
_spec = pluggy.HookspecMarker(PROJECT)


class _Hooks:
    @_spec
    def on_load(self, context: Any) -> None: ...  # noqa: ANN401 - `service.extensions.brokers.Context`

    @_spec
    def on_unload(self) -> None: ...

    @_spec
    def input(self, text: str, session: Session) -> Continue | Transform | Handled | None: ...

    @_spec
    def before_tool(self, session: Session, title: str, detail: str) -> None: ...

    @_spec
    def before_fork(self, session: Session, entry: str) -> None: ...

    @_spec
    def before_compaction(self, session: Session, reason: str) -> None: ...

    @_spec
    def before_tree(self, session: Session, entry: str) -> None: ...

    @_spec
    def before_switch(self, session: Session, target: str) -> None: ...

    @_spec
    def session_started(self, session: Session, event: Mapping[str, Any]) -> None: ...

    @_spec
    def session_ended(self, session: Session, event: Mapping[str, Any]) -> None: ...

    @_spec
    def message_sent(self, session: Session, event: Mapping[str, Any]) -> None: ...

    @_spec
    def message_received(self, session: Session, event: Mapping[str, Any]) -> None: ...

    @_spec
    def tool_used(self, session: Session, event: Mapping[str, Any]) -> None: ...

    @_spec
    def settings_changed(self, session: Session, event: Mapping[str, Any]) -> None: ...

    @_spec
    def error(self, session: Session, event: Mapping[str, Any]) -> None: ...

    @_spec
    def event(self, session: Session, event: Mapping[str, Any]) -> None: ...


def names_of(hook: str) -> tuple[str, ...]:
    """Return what a hook is called with, in order."""
    code = spec_of(hook).__code__
    return code.co_varnames[1 : code.co_argcount]


def spec_of(hook: str) -> FunctionType:
    """Return the method that stands for a hook."""
    spec: FunctionType = getattr(_Hooks, hook)
    return spec


class HookManager(pluggy.PluginManager):
    """Knows the hooks of the extensions that are loaded."""

    def __init__(self) -> None:
        super().__init__(PROJECT)
        self.add_hookspecs(_Hooks)

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        """Return how a method hooks in; None: it does not."""
        options = super().parse_hookimpl_opts(plugin, name)
        if options is None and name in HOOKS and callable(getattr(plugin, name, None)):
            return pluggy.HookimplMarker(PROJECT)(lambda: None).oulipoly_agent_runner_impl  # type: ignore[attr-defined, no-any-return]
        return options

    def find(self, hook: str, name: str) -> pluggy.HookImpl | None:
        """Return how an extension implements a hook; None: it does not."""
        implementations = getattr(self.hook, hook).get_hookimpls()
        return next((each for each in implementations if each.plugin_name == name), None)
