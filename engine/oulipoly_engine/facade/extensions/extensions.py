"""What is asked and ordered about extensions. Every method blocks and may be called from any thread."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from oulipoly_engine.core.extensions.installed import (
    Installed,
    Standing,
    describe_right,
    find_state,
    list_clashes,
    missing_rights,
)
from oulipoly_engine.core.extensions.sandbox import UNCONFINED, describe_reach
from oulipoly_engine.core.extensions.states import MOST_FAILURES, State
from oulipoly_engine.core.live.events import Prompt, RequestKind
from oulipoly_engine.core.live.sessions import LiveRequest
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.core.text.nearest import nearest
from oulipoly_engine.errors import ExtensionNotFound, RequestRefused, RunnerError
from oulipoly_engine.facade.base.home import Home
from oulipoly_engine.records import Record
from oulipoly_engine.store.extensions import extensions as records
from oulipoly_engine.store.grants import grants
from oulipoly_engine.store.live import live_requests

_NO_SANDBOX = "Python in this program is not a sandbox: say yes to code alone that you would run yourself."


class ExtensionStatus(Record):
    """An extension and how it stands; nothing of it was imported for that."""

    installed: Installed
    standing: Standing

    @property
    def state(self) -> State:
        """Return its state."""
        return find_state(self.installed, self.standing)

    @property
    def reason(self) -> str:
        """Return why it is not active; empty: it is."""
        name = self.installed.name
        match self.state:
            case "pending":
                return f"it waits for your word: `agents ext enable {name}`"
            case "failed":
                return self.installed.problem or self.standing.last_failure
            case "disabled" if self.standing.is_off:
                return "it is switched off by the settings"
            case "disabled":
                return f"it has failed {MOST_FAILURES} times, at last: {self.standing.last_failure}"
        return ""

    @property
    def missing(self) -> tuple[str, ...]:
        """Return what it still needs a person's word for."""
        return missing_rights(self.installed, self.standing)

    @property
    def question(self) -> str:
        """Return what a person is asked, in lines."""
        manifest = self.installed.manifest
        description = " ".join(manifest.description.split())[:300]  # in a line: others are ours
        about = f": {description}" if description else ""
        name = f"{self.installed.name} {plain(manifest.version)[:64]}"
        lines = [f"The extension {name}{about} ({self.installed.place}) asks to:"]
        lines += [f"  {describe_right(right, manifest.tier)}" for right in self.missing]
        asked = frozenset(map(str, manifest.permissions))
        sandbox = describe_reach(asked) if manifest.tier == "process" else _NO_SANDBOX
        return "\n".join((*lines, sandbox))

    @property
    def reach(self) -> str:
        """Return in a line what it can do now."""
        if self.installed.manifest.tier == "process":
            return describe_reach(self.standing.granted)
        return UNCONFINED

    @property
    def obstacle(self) -> str:
        """Return why its program cannot be started on this computer; empty: it can."""
        if self.installed.manifest.tier != "process":
            return ""
        from oulipoly_engine.service.extensions.processes import find_obstacle  # noqa: PLC0415 - few have a program

        return find_obstacle()


class Extensions:
    """The extensions of one user."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def list(self) -> tuple[ExtensionStatus, ...]:
        """Return all extensions by name."""
        return tuple(ExtensionStatus(*pair) for pair in self._home.extensions.survey())

    def find(self, name: str) -> ExtensionStatus:
        """Return one. Raises ExtensionNotFound."""
        statuses = {each.installed.name: each for each in self.list()}
        if name not in statuses:
            near = nearest(name, statuses)
            hint = f"did you mean {near[0]!r}?" if near else "`agents ext list` lists them"
            raise ExtensionNotFound(f"there is no extension {name[:64]!r}: {hint}")
        return statuses[name]

    def clashes(self, statuses: Sequence[ExtensionStatus]) -> tuple[str, ...]:
        """Return a sentence for each name that several have."""
        return list_clashes([each.installed for each in statuses])

    # Rights ----------------------------------------------------------------------------------------------------------
    def questions(self) -> tuple[ExtensionStatus, ...]:
        """Return those that nobody has said yes or no to yet, as their files are, and have each in the inbox."""
        if not self._home.extensions.list_on():
            return ()
        asked = []
        for status in self.list():
            if status.state not in ("pending", "active") or status.standing.granted or not status.missing:
                continue
            if self._ask(status) is not None:
                asked.append(status)
        return tuple(asked)

    def post_questions(self) -> None:
        """Have what nobody was asked about yet in the inbox, for a face that begins whatever comes of it."""
        with suppress(RunnerError):
            self.questions()

    def _ask(self, status: ExtensionStatus) -> LiveRequest | None:
        """Return the request for what an extension asks for; None: somebody has said no to it."""
        installed = status.installed
        asker = installed.subject
        native_id = _describe_rights(status)
        rights = "; ".join(describe_right(right, status.installed.manifest.tier) for right in status.missing)
        manifest = installed.manifest
        prompt = Prompt(
            f"extension {installed.name} {plain(manifest.version)[:64]} asks to {rights}",
            cwd=installed.place,
            reason=plain(manifest.description)[:500],
        )
        with self._home.lend_store() as store:
            if self._home.read_only or live_requests.was_denied(store, "extension", asker, native_id):
                return None
            kind: RequestKind = "permission_approval"
            return live_requests.ask_once(store, "extension", asker, native_id, kind, prompt, self._home.now())

    def allow(self, status: ExtensionStatus) -> None:
        """Note that a person allows an extension what it asks for, as its files are."""
        self._home.refuse_if_read_only("allow an extension something")
        if status.installed.problem:
            raise RequestRefused(f"the extension {status.installed.name!r} cannot be used: {status.installed.problem}")
        self._settle(status, "approve")

    def refuse(self, status: ExtensionStatus) -> None:
        """Note that a person has said no: nobody is asked again until its files change."""
        self._home.refuse_if_read_only("refuse an extension something")
        self._ask(status)
        self._settle(status, "deny")

    def _settle(self, status: ExtensionStatus, decision: str) -> None:
        installed = status.installed
        from oulipoly_engine.facade.live.requests import own_client  # noqa: PLC0415 - 80 ms, seldom anything is allowed

        by = own_client(is_app=self._home.is_app).name
        now = self._home.now()
        with self._home.lend_store() as store, store.write():
            if decision == "approve":
                grants.drop_older(store, installed.subject, installed.digest)
                grants.allow(store, installed.subject, installed.digest, now, status.missing)
            live_requests.settle_asked(
                store, "extension", installed.subject, _describe_rights(status), now, decision=decision, by=by
            )

    # On and off ------------------------------------------------------------------------------------------------------
    def enable(self, name: str) -> ExtensionStatus:
        """Switch an extension on, its failures forgotten, and return how it stands. Raises ExtensionNotFound."""
        status = self.find(name)
        self._switch(status, is_on=True)
        with self._home.lend_store() as store:
            records.forget(store, name)
        return self.find(name)

    def disable(self, name: str) -> ExtensionStatus:
        """Switch an extension off and return how it stands. Raises ExtensionNotFound."""
        status = self.find(name)
        self._switch(status, is_on=False)
        if "running" in vars(self._home.extensions):
            self._home.extensions.running.unload(name)
        return self.find(name)

    def _switch(self, status: ExtensionStatus, *, is_on: bool) -> None:
        from oulipoly_engine.service.accounts.resources import switch_resource  # noqa: PLC0415 - seldom one is switched
        from oulipoly_engine.service.accounts.settings import Settings  # noqa: PLC0415 - see above

        home = self._home
        home.refuse_if_read_only("switch an extension")
        if status.standing.is_off is is_on:
            settings = Settings(home.paths, home.models_dir, home.read_only, home.find_app_faults, home.lend_store)
            switch_resource(settings, "extension", status.installed.name, is_on=is_on, is_known=True)

    def close(self) -> None:
        """End those that this process has imported."""
        self._home.extensions.close()


def _describe_rights(status: ExtensionStatus) -> str:
    """Return what a request for them is about: the digest and the rights, which an approval notes."""
    return " ".join((status.installed.digest, *status.missing))


def status_document(status: ExtensionStatus) -> dict[str, Any]:
    """Return an extension as scripts get it (docs/json.md)."""
    installed = status.installed
    standing = status.standing
    manifest = installed.manifest
    return {
        "name": installed.name,
        "version": manifest.version,
        "description": manifest.description,
        "author": manifest.author,
        "state": status.state,
        "reason": status.reason or None,
        "tier": manifest.tier,
        "source": installed.source,
        "path": installed.place or None,
        "digest": installed.digest or None,
        "reach": status.reach,
        "permissions": [{"name": str(each), "granted": each in standing.granted} for each in manifest.permissions],
        "hooks": list(manifest.hooks),
        "tools": [f"{installed.name}:{each.name}" for each in manifest.tools],
        "commands": [f"{installed.name}:{each.name}" for each in manifest.commands],
        "skills": list(manifest.skills),
        "mcp_servers": [f"{installed.name}:{each.name}" for each in manifest.mcp_servers],
        "load_ms": standing.load_ms,
        "failures": standing.failures,
        "last_failure": standing.last_failure or None,
    }
