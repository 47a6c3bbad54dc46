"""Which extensions one user has, which of them are switched on, and those that this process has imported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oulipoly_engine.clock import Clock
from oulipoly_engine.core.extensions.hooks import OBSERVERS
from oulipoly_engine.core.extensions.installed import Installed, Standing, find_state
from oulipoly_engine.core.live.sessions import LiveSession
from oulipoly_engine.errors import InputHandled, RunnerError
from oulipoly_engine.extension_api import Handled, Session, Transform
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import replace
from oulipoly_engine.service.extensions.session_hooks import GUARDED_ORDERS, ExtensionOrder, describe_session, is_on

if TYPE_CHECKING:
    from oulipoly_engine.config.base.problem import Problem
    from oulipoly_engine.core.accounts.accounts import Account, Settings
    from oulipoly_engine.service.extensions.extensions import Extensions
    from oulipoly_engine.service.extensions.handover import HandOver
    from oulipoly_engine.service.extensions.offer import Active
    from oulipoly_engine.service.extensions.processes import Confinement
    from oulipoly_engine.store.base.db import Store

_OF_HOSTS = {*GUARDED_ORDERS.values(), "before_tool", *OBSERVERS}  # hooks that a session's own process calls

# ruff: noqa: PLC0415 - who has no extension loads none of them


class ExtensionSet:
    """The extensions of one user. Safe to use from any thread."""

    def __init__(
        self,
        paths: Paths,
        clock: Clock,
        read_settings: Callable[[], Settings],
        read_accounts: Callable[[], Iterable[Account]],
        lend_store: Callable[[], AbstractContextManager[Store]],
        note: Callable[[str], object],
    ) -> None:
        self._paths = paths
        self._clock = clock
        self._read_settings = read_settings
        self._read_accounts = read_accounts
        self._lend_store = lend_store
        self._note = note
        self._discovered: tuple[object, tuple[Installed, ...]] | None = None

    def discover(self) -> tuple[Installed, ...]:
        """Return all that are there, read anew, whether they are switched on or not."""
        from oulipoly_engine.config.extension_files import list_trusted
        from oulipoly_engine.config.packages_file import enabled_resources
        from oulipoly_engine.service.extensions.discovery import Places, discover

        entries = self._read_settings().extensions
        packages = tuple(each.path for each in enabled_resources(self._paths, "extensions", entries))
        project = list_trusted(self._paths)
        return discover(self._paths, Places(self._paths.above.extensions, entries, packages, project))

    def survey(self) -> tuple[tuple[Installed, Standing], ...]:
        """Return all that are there, each with what is known of it."""
        from oulipoly_engine.store.extensions import extensions as records

        pairs = []
        installed = self.discover()
        if not installed:
            return ()
        with self._lend_store() as store:
            for each in installed:
                standing = records.read(store, each)
                pairs.append((each, replace(standing, is_off=self.is_off(each.name))))
        return tuple(pairs)

    def find_problems(self) -> Iterator[Problem]:
        """Yield what is wrong with those that are switched on, as problems of files."""
        from oulipoly_engine.config.base.problem import Level, Problem

        try:
            pairs = self.survey()
        except RunnerError:  # a broken configuration, or a state file that cannot be opened, is told by others
            return
        for installed, standing in pairs:
            state = find_state(installed, standing)
            message = installed.problem or standing.last_failure
            if not standing.is_off and message and state in ("failed", "disabled"):
                fix = f"correct it, or switch it off by `agents ext disable {installed.name}`"
                text = f"the extension {installed.name} is {state}: {message}"
                yield Problem(Level.WARNING, Path(installed.place), None, "", text, fix)

    def is_off(self, name: str) -> bool:
        """Tell whether the settings switch an extension off."""
        return not is_on(name, self._read_settings())

    def list_on(self) -> tuple[Installed, ...]:
        """Return those that are switched on, as they were when a folder of them has changed last."""
        settings = self._read_settings()
        if not settings.extensions_enabled:
            return ()
        from oulipoly_engine.config.extension_files import list_trusted
        from oulipoly_engine.service.extensions.discovery import mark_installed, mark_places

        places = (mark_places(self._paths), settings.extensions, list_trusted(self._paths))
        known = self._discovered
        if known is None or known[0] != (places, *map(mark_installed, known[1])):
            installed = self.discover()
            known = ((places, *map(mark_installed, installed)), installed)
            self._discovered = known
        return tuple(each for each in known[1] if is_on(each.name, settings))

    def list_active(self) -> tuple[Active, ...]:
        """Return those that may run, with what is known of each."""
        from oulipoly_engine.service.extensions.offer import Active
        from oulipoly_engine.store.extensions import extensions as records

        with self._lend_store() as store:
            extensions = [Active(each, records.read(store, each)) for each in self.list_on()]
        return tuple(each for each in extensions if find_state(each.installed, each.standing) == "active")

    def list_skill_folders(self) -> tuple[Path, ...]:
        """Return the folders of skills that packages bring and that the settings name."""
        from oulipoly_engine.config.packages_file import enabled_resources
        from oulipoly_engine.core.accounts.resource_lists import is_path
        from oulipoly_engine.paths import expand_user

        settings = self._read_settings()
        if not settings.extensions_enabled:
            return ()
        named = (expand_user(entry) for entry in settings.skills if is_path(entry))
        packages = enabled_resources(self._paths, "skills", settings.skills)
        return (*named, *(resource.path for resource in packages))

    def make_hand_over(self) -> HandOver | None:
        """Return what CLIs get that are started; None: nothing."""
        from oulipoly_engine.process.command import inherited_environment
        from oulipoly_engine.service.extensions.handover import HandOver
        from oulipoly_engine.service.extensions.offer import list_skills, make_servers

        options = [word for path in self._paths.above.extensions for word in ("--extension", str(path))]
        active = self.list_active()
        has_skills = bool(list_skills(active, self.list_skill_folders()))
        servers = make_servers(active, self._paths, inherited_environment(), options, has_skills=has_skills)
        return HandOver(servers, self._paths.home, self._paths.linked_homes) if servers else None

    @property
    def order(self) -> ExtensionOrder:
        """Return what the host of a live session gets: the extensions that have something to do there."""
        installed = tuple(each for each in self.list_on() if _OF_HOSTS.intersection(each.manifest.hooks))
        if not installed:
            return ExtensionOrder()
        paths = self._paths
        return ExtensionOrder(
            installed,
            self._read_settings().extension_timeout_seconds,
            str(self._paths.extension_logs),
            str(self._paths.extension_settings),
            tuple(map(str, self._protected)),
            (str(paths.config), str(paths.data), str(paths.home), str(paths.cache or "")),
            tuple(map(str, self._list_hidden(installed))),
        )

    @property
    def _protected(self) -> tuple[Path, ...]:
        folders = (self._paths.config, self._paths.data, self._paths.cache)
        return tuple(folder.resolve() for folder in folders if folder is not None)

    def _list_hidden(self, installed: Iterable[Installed]) -> tuple[Path, ...]:
        """Return what those in sandboxes never see of the home."""
        if not any(each.manifest.tier == "process" for each in installed):
            return ()
        from oulipoly_engine.process.command import inherited_environment
        from oulipoly_engine.service.extensions.processes import list_hidden

        return list_hidden(self._read_accounts(), self._paths.home, inherited_environment())

    @property
    def confinement(self) -> Confinement:
        """Return what the sandboxes of all extensions have in common."""
        from oulipoly_engine.service.extensions.processes import Confinement

        return Confinement(self._paths.home, (*self._protected, *self._list_hidden(self.list_on())))

    @cached_property
    def running(self) -> Extensions:
        """Return those of this process."""
        from oulipoly_engine.service.extensions.extensions import Extensions, Surroundings

        surroundings = Surroundings(
            self._lend_store,
            self._clock,
            self._read_settings().extension_timeout_seconds,
            self._paths.extension_logs,
            self._paths.extension_settings,
            self._protected,
            self._note,
            self._publish,
            self._paths.home,
            self._list_hidden(self.list_on()),
        )
        return Extensions(self.list_on, surroundings)

    def _publish(self, name: str, body: Mapping[str, Any]) -> None:
        from oulipoly_engine.service.extensions.session_hooks import publish

        with self._lend_store() as store:
            publish(store, self._clock, "", name, body)

    def guard(self, hook: str, session: Session, **facts: str) -> None:
        """Ask every extension whether something may happen. Raises ExtensionRefused."""
        if any(hook in each.manifest.hooks for each in self.list_on()):
            self.running.guard(hook, session, **facts)

    def take_input(self, text: str, session: LiveSession) -> str:
        """Return what extensions make of a message that nobody's host asks them about.

        Raises ExtensionRefused, and InputHandled where one has taken it.
        """
        if not any("input" in each.manifest.hooks for each in self.list_on()):
            return text
        taken = self.running.take_input(text, describe_session(session))
        if taken.handled_by:
            raise InputHandled(taken.said)
        return taken.text

    def guard_live(self, hook: str, session: LiveSession, **facts: str) -> None:
        """Do the same for a live session."""
        self.guard(hook, describe_session(session), **facts)

    def guard_recorded(self, hook: str, session_id: str, **facts: str) -> None:
        """Do the same for a session of which no more is asked."""
        self.guard(hook, Session(session_id), **facts)

    def run_command(self, name: str, command: str, words: str, session: LiveSession) -> Transform | Handled:
        """Do a slash command of an extension. Raises ExtensionRefused."""
        return self.running.run_command(name, command, words, describe_session(session))

    def close(self) -> None:
        """End those of this process."""
        if "running" in self.__dict__:
            self.running.close()
