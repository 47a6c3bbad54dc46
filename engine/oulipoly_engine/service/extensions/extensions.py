"""The extensions of one process: imported at their first use, called within limits, switched off where they fail.

Guards fail closed: where one raises, takes too long or cannot be imported, the thing does not happen, and the error
names the extension and how to switch it off. Observers fail open. The third failure switches an extension off.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from threading import RLock, local
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from oulipoly_engine.clock import Clock
from oulipoly_engine.config.extension_files import read_values
from oulipoly_engine.core.extensions.installed import Installed, Standing, find_state
from oulipoly_engine.core.extensions.manifest import Permission
from oulipoly_engine.core.extensions.settings import fill_settings
from oulipoly_engine.core.extensions.states import MOST_FAILURES, State, advance
from oulipoly_engine.errors import ExtensionRefused
from oulipoly_engine.extension_api import Continue, Handled, PermissionDenied, Session, Transform
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.extensions import loading
from oulipoly_engine.service.extensions.calls import CallDenied, CallFailed, CallMark, CallThread, ExtensionLog
from oulipoly_engine.service.extensions.digests import digest_of
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.extensions import extensions as records

if TYPE_CHECKING:
    from oulipoly_engine.service.extensions.brokers import Context
    from oulipoly_engine.service.extensions.hookspecs import HookManager
    from oulipoly_engine.service.extensions.processes import ProcessExtension

_GOODBYE_S = 1.0  # that `on_unload` may take
_NOBODY = Session()


class Surroundings(Record):
    """Where the extensions of a process work."""

    lend_store: Callable[[], AbstractContextManager[Store]]
    clock: Clock
    timeout_s: float  # of each call
    logs: Path
    settings: Path
    protected: tuple[Path, ...]  # folders that no broker touches
    note: Callable[[str], object]  # shows a person a line
    publish: Callable[[str, Mapping[str, Any]], object] = lambda _topic, _body: None
    home: Path = Path("/")  # whose files those in sandboxes may be allowed to read
    hidden: tuple[Path, ...] = ()  # what they never see of those


class Input(NamedTuple):
    """What has become of a message."""

    text: str
    handled_by: str = ""  # who has taken it; empty: it is to be sent
    answer: str = ""  # of that one, for the person

    @property
    def said(self) -> str:
        """Return what a person is told of a message that was taken."""
        return f"{self.handled_by}: {self.answer}" if self.answer else f"{self.handled_by} has taken the message"


class _Loaded(Record, frozen=False):
    """An extension whose code is imported."""

    installed: Installed
    thread: CallThread
    extension: Any
    state: State
    session: Session = _NOBODY
    process: ProcessExtension | None = None  # of tier `process`: where its code runs


class Extensions:
    """The extensions of one process. Safe to use from any thread; every method may wait for an extension."""

    def __init__(self, find: Callable[[], Sequence[Installed]], surroundings: Surroundings) -> None:
        """find: returns those that are there and switched on; it is asked at each call."""
        self._find = find
        self._surroundings = surroundings
        self._loaded: dict[str, _Loaded] = {}
        self._lock = RLock()
        self._span = local()  # `until`: when the questions of a thread have to be answered
        self._kept_manager: HookManager | None = None

    @contextmanager
    def within(self, until: float) -> Iterator[None]:
        """Have all that is asked in the block, by this thread, be over by a time of `time.monotonic`.

        What is not over then is refused, and no failure of the one that was asked: others before it were slow.
        """
        self._span.until = until
        try:
            yield
        finally:
            del self._span.until

    # What happens ----------------------------------------------------------------------------------------------------
    def guard(self, hook: str, session: Session, **facts: str) -> None:
        """Ask every extension whether something may happen. Raises ExtensionRefused where the first one says no."""
        for loaded in self._each(hook):
            self._ask(loaded, hook, session, facts)

    def take_input(self, text: str, session: Session) -> Input:
        """Return what extensions make of a message before it is sent. Raises ExtensionRefused where one fails."""
        for loaded in self._each("input"):
            answer = self._ask(loaded, "input", session, {"text": text})
            match answer:
                case Transform(text=changed):
                    text = str(changed)
                case Handled(text=shown):
                    return Input(text, loaded.installed.name, str(shown))
                case None | Continue():
                    pass
                case _:
                    with self._explaining(loaded.installed.name):
                        self._fail(loaded.installed, f"`input` returned a {type(answer).__name__}")
        return Input(text)

    def observe(self, hook: str, session: Session, event: Mapping[str, Any]) -> None:
        """Tell extensions what has happened; nobody waits for them, and nothing comes of their failures but a note."""
        for installed in self._declaring(hook):
            with suppress(CallFailed, CallDenied):
                loaded = self._load(installed)
                if loaded is not None:
                    self._call(loaded, hook, session, {"event": event})

    def run_command(self, name: str, command: str, words: str, session: Session) -> Transform | Handled:
        """Do a slash command: a text to be sent, or one to be shown. Raises ExtensionRefused."""
        answer = self._invoke_named(name, lambda extension: extension.commands[command](words), session)
        if isinstance(answer, Transform):
            return answer
        return Handled(str(getattr(answer, "text", answer or "")))

    def call_tool(self, name: str, tool: str, arguments: Mapping[str, Any]) -> Any:  # noqa: ANN401 - the extension's
        """Return what a tool answers. Raises ExtensionRefused."""
        return self._invoke_named(name, lambda extension: extension.tools[tool](dict(arguments)), _NOBODY)

    def _invoke_named(self, name: str, function: Callable[[Any], Any], session: Session) -> Any:  # noqa: ANN401
        installed = next((each for each in self._find() if each.name == name), None)
        with self._explaining(name):
            loaded = None if installed is None else self._load(installed)
            if loaded is None:
                raise ExtensionRefused(f"the extension {name!r} is not active: `agents ext list` says why")
            return self._invoke(loaded, lambda: function(loaded.extension), session)

    def load(self, installed: Installed) -> State:
        """Import an extension and return the state that it has then."""
        try:
            loaded = self._load(installed)
        except CallFailed:
            return "failed"
        return find_state(installed, self._read(installed)) if loaded is None else loaded.state

    def unload(self, name: str) -> None:
        """End an extension in this process; it is imported anew where it is needed again."""
        with self._lock:
            loaded = self._loaded.pop(name, None)
            if loaded is None:
                return
            loaded.state = advance(loaded.state, "unload")
            if not loaded.thread.is_stuck:
                with suppress(CallFailed, CallDenied):
                    goodbye = self._manager.find("on_unload", name)
                    if goodbye is not None:
                        loaded.thread.call(goodbye.function, limit_s=_GOODBYE_S)
            self._manager.unregister(name=name)
            _end(loaded)

    def close(self) -> None:
        """End all of them."""
        for name in tuple(self._loaded):
            self.unload(name)

    # Calls -----------------------------------------------------------------------------------------------------------
    def _declaring(self, hook: str) -> Iterator[Installed]:
        for installed in self._find():
            if hook in installed.manifest.hooks and not installed.problem:
                yield installed

    def _each(self, hook: str) -> Iterator[_Loaded]:
        """Yield those that implement a hook and may run, in pluggy's order. Raises ExtensionRefused."""
        ready = []
        for installed in self._declaring(hook):
            with self._explaining(installed.name):
                loaded = self._load(installed)
            if loaded is not None:
                ready.append(loaded)

        def place(loaded: _Loaded) -> tuple[bool, bool, str]:
            implementation = self._manager.find(hook, loaded.installed.name)
            is_first = implementation is not None and implementation.tryfirst
            is_last = implementation is not None and implementation.trylast
            return not is_first, is_last, loaded.installed.name

        yield from sorted(ready, key=place)

    def _ask(self, loaded: _Loaded, hook: str, session: Session, facts: Mapping[str, Any]) -> Any:  # noqa: ANN401
        with self._explaining(loaded.installed.name):
            return self._call(loaded, hook, session, facts)

    @contextmanager
    def _explaining(self, name: str) -> Iterator[None]:
        """Raise ExtensionRefused where a guard says no or has failed."""
        try:
            yield
        except CallDenied as error:
            raise ExtensionRefused(f"the extension {name!r} refuses it: {error}") from error
        except CallFailed as error:
            message = f"the extension {name!r} has failed, so this does not happen: {error}"
            raise ExtensionRefused(f"{message}; `agents ext disable {name}` switches it off") from error

    def _call(self, loaded: _Loaded, hook: str, session: Session, facts: Mapping[str, Any]) -> Any:  # noqa: ANN401
        implementation = self._manager.find(hook, loaded.installed.name)
        if implementation is None:
            return None
        values = {**facts, "session": session}
        arguments = [values[name] for name in implementation.argnames]
        return self._invoke(loaded, lambda: implementation.function(*arguments), session)

    def _invoke(self, loaded: _Loaded, function: Callable[[], Any], session: Session) -> Any:  # noqa: ANN401
        def run() -> Any:  # noqa: ANN401
            loaded.session = session
            return function()

        limit_s = self._limit_s(loaded.installed)
        try:
            return loaded.thread.call(run, limit_s=limit_s)
        except CallFailed as error:
            is_stuck = loaded.thread.is_stuck
            if is_stuck or (loaded.process is not None and loaded.process.has_ended):
                self.unload(loaded.installed.name)
            if is_stuck:
                self._limit_s(loaded.installed)
            self._fail(loaded.installed, str(error))

    def _limit_s(self, installed: Installed) -> float:
        """Return how long a call may take. Raises ExtensionRefused where the time of all of them is over."""
        limit_s = self._surroundings.timeout_s
        until = getattr(self._span, "until", None)
        if until is None:
            return limit_s
        left_s: float = until - time.monotonic()
        if left_s <= 0:
            raise ExtensionRefused(
                f"the extension {installed.name!r} has not answered, and extensions have taken too long together, "
                "so this does not happen: `agents ext list` lists them"
            )
        return min(limit_s, left_s)

    # Lives -----------------------------------------------------------------------------------------------------------
    @property
    def _manager(self) -> HookManager:
        if self._kept_manager is None:
            from oulipoly_engine.service.extensions.hookspecs import HookManager  # noqa: PLC0415 - pluggy, 25 ms

            self._kept_manager = HookManager()
        return self._kept_manager

    def _read(self, installed: Installed) -> Standing:
        with self._surroundings.lend_store() as store:
            return records.read(store, installed)

    def _fail(self, installed: Installed, reason: str, *, is_broken: bool = False) -> NoReturn:
        """Note a failure, and switch the extension off where it is one too many. Raises CallFailed."""
        with self._surroundings.lend_store() as store:
            count = records.note_failure(store, installed, reason, is_broken=is_broken)
        if count == MOST_FAILURES:
            self.unload(installed.name)
            name = installed.name
            text = f"the extension {name!r} is switched off, for it has failed {count} times, at last: {reason}"
            self._surroundings.note(f"{text}; `agents ext enable {name}` switches it on again")
        raise CallFailed(reason)

    def _load(self, installed: Installed) -> _Loaded | None:
        """Return an extension that is active, imported where it was not; None: it may not run. Raises CallFailed."""
        with self._lock:
            loaded = self._loaded.get(installed.name)
            standing = self._read(installed)
            if loaded is not None and _is_outdated(loaded, installed, standing):
                self.unload(installed.name)
                loaded = None
            if find_state(installed, standing) in ("disabled", "pending"):
                self.unload(installed.name)
                return None
            if loaded is not None:
                return loaded
            current = _count_again(installed)
            if current.digest != installed.digest and find_state(current, self._read(current)) == "pending":
                raise CallFailed("its files have changed since it was allowed")
            return self._import(current)

    def _import(self, installed: Installed) -> _Loaded:
        name = installed.name
        limit_s = self._limit_s(installed)
        log = ExtensionLog(self._surroundings.logs / f"{name}.log", self._surroundings.clock)
        mark = CallMark(self._surroundings.logs, name)
        if mark.count_left():
            self._fail(installed, "the process ended while it was called")
        thread = CallThread(name, log, mark)
        loaded = _Loaded(installed, thread, None, "pending")
        began_at = time.monotonic()

        def begin() -> None:
            loaded.extension = self._make_extension(loaded)
            self._manager.register(loaded.extension, name)
            self._require_hooks(installed)
            welcome = self._manager.find("on_load", name)
            if welcome is not None:
                welcome.function(*[self._make_context(loaded) for _ in welcome.argnames])

        try:
            thread.call(begin, limit_s=limit_s)
        except (CallFailed, CallDenied) as error:
            loaded.state = advance(loaded.state, "fail")
            with suppress(AssertionError, ValueError):  # it was not registered
                self._manager.unregister(name=name)
            _end(loaded)
            if thread.is_stuck:
                self._limit_s(installed)
            self._fail(installed, f"it cannot be loaded: {error}", is_broken=True)
        loaded.state = advance(loaded.state, "activate")
        self._loaded[name] = loaded
        with self._surroundings.lend_store() as store:
            records.note_load(store, installed, round((time.monotonic() - began_at) * 1000, 1))
        return loaded

    def _make_extension(self, loaded: _Loaded) -> Any:  # noqa: ANN401 - the extension's own
        installed = loaded.installed
        if installed.manifest.tier != "process":
            return loading.make_extension(installed)
        from oulipoly_engine.service.extensions import processes  # noqa: PLC0415 - few extensions have one

        given = self._surroundings
        confinement = processes.Confinement(given.home, (*given.protected, *given.hidden))
        granted = self._read(installed).granted
        loaded.process = processes.ProcessExtension(
            installed, granted, confinement, loaded.thread.log, self._publisher(installed)
        )
        loaded.process.greet(installed.name, self._read_settings(installed))
        return processes.StandIn(installed.manifest, loaded.process)

    def _read_settings(self, installed: Installed) -> Mapping[str, Any]:
        values = read_values(self._surroundings.settings / f"{installed.manifest.name}.toml")
        return fill_settings(installed.manifest.config_schema, values)

    def _publisher(self, installed: Installed) -> Callable[[str, Mapping[str, Any]], None]:
        def publish(topic: str, body: Mapping[str, Any]) -> None:
            self._surroundings.publish(f"{installed.name}:{topic}", body)

        return publish

    def _require_hooks(self, installed: Installed) -> None:
        for hook in installed.manifest.hooks:
            implementation = self._manager.find(hook, installed.name)
            if implementation is None:
                raise ValueError(f"it declares the hook `{hook}` and has no method of that name")
            if implementation.hookwrapper or implementation.wrapper:
                raise ValueError(f"`{hook}` is a wrapper, which is not called here")

    def _make_context(self, loaded: _Loaded) -> Context:
        from oulipoly_engine.service.extensions import brokers  # noqa: PLC0415 - only what is imported needs them

        installed = loaded.installed
        name = installed.name

        def has(permission: Permission) -> bool:
            return permission in self._read(installed).granted

        def check(permission: Permission) -> None:
            if not has(permission):
                raise PermissionDenied(f"{name} is not allowed to {permission.right}: `agents ext enable {name}` asks")

        return brokers.Context(
            name,
            brokers.Files(check, self._surroundings.protected),
            brokers.Network(check),
            brokers.Commands(check, has),
            brokers.Environment(check),
            self._read_settings(installed),
            self._publisher(installed),
            brokers.make_log_writer(loaded.thread.log),
            lambda: loaded.session,
        )


def _is_outdated(loaded: _Loaded, installed: Installed, standing: Standing) -> bool:
    """Tell whether an extension has other files now, or a sandbox in which it may do more or less than it was."""
    has_other_rights = loaded.process is not None and loaded.process.granted != standing.granted
    return has_other_rights or loaded.installed.digest != installed.digest


def _end(loaded: _Loaded) -> None:
    """End the thread of an extension behind what it does, and its process at once."""
    if loaded.process is not None and loaded.thread.is_stuck:
        loaded.process.kill()  # which ends the call in the thread too
    elif loaded.process is not None:
        loaded.process.close()
    loaded.thread.end()
    loading.forget(loaded.installed)


def _count_again(installed: Installed) -> Installed:
    """Return an extension with its files as they are now. Raises CallFailed."""
    try:
        digest = digest_of(Path(installed.place), skips_bytecode=installed.source == "installed")
    except (OSError, ValueError) as error:
        raise CallFailed(f"its files cannot be read: {error}") from error
    return replace(installed, digest=digest)
