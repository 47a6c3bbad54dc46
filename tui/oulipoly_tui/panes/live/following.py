"""Which session the pane shows: opened, followed, read back to its beginning."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oulipoly_engine.core.commands.slash.lines import CliCommand, Known
from oulipoly_engine.core.live.events import ControlChanged, Notice, describe_control
from oulipoly_engine.core.live.orders import AskClients, AskStatus
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_tui.base.app_interface import app_of, engine_of
from oulipoly_tui.panes.live.connection import LiveConnection
from oulipoly_tui.panes.live.jobs import WINDOW, Opened, open_session
from oulipoly_tui.view.live.conversation import Conversation, OpenRequest
from oulipoly_tui.widgets.standing import is_standing

if TYPE_CHECKING:
    from oulipoly_engine.core.live.events import AnyEvent, Numbered
    from oulipoly_engine.core.live.sessions import LiveSession
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_tui.panes.live.base import LiveBase

_DRAFTS = 20  # that are kept


class LiveFollowing:
    """The session that is open, and what comes from its host."""

    def __init__(self, pane: LiveBase) -> None:
        self._pane = pane
        self.session: LiveSession | None = None
        self.talk = Conversation()
        self.connection: LiveConnection | None = None
        self.capabilities: Mapping[str, bool] = {}
        self.snapshot: Snapshot | None = None
        self.sent: list[str] = []  # beside those that the conversation holds
        self.opening = ""  # the id of the session that is being opened
        self._is_reading_older = self._has_all = False
        self._wanted_session = ""  # of the last time
        self._begun = ""  # the session that its user has just begun, until it is shown
        self._drafts: dict[str, str] = {}  # what is written and not sent, by session
        self.runtimes: tuple[str, ...] = ()  # that are enabled
        self._own = Known()  # prompt files, and commands of extensions

    @property
    def request(self) -> OpenRequest | None:
        """Return the request that is shown: the oldest."""
        return next(iter(self.talk.requests.values()), None)

    @property
    def known(self) -> Known:
        """Return what can stand behind a slash here, beside our own commands."""
        return self._own._replace(cli=tuple(CliCommand(*command) for command in self.talk.commands))

    def read_own(self) -> None:
        """Read prompt files and commands of extensions anew."""
        app = app_of(self._pane)
        workspace = None if self.session is None else Path(self.session.workspace)
        app.work("prompts", partial(engine_of(app).slash.read_own, workspace), self._take_own)

    def _take_own(self, own: Known) -> None:
        self._own = own

    def state(self) -> Mapping[str, object]:
        """Return what is open, and what is written and not sent."""
        self._keep_draft()
        session = self._wanted_session if self.session is None else self.session.session_id
        return {"session": session, "drafts": dict(list(self._drafts.items())[-_DRAFTS:])}

    def restore(self, state: Mapping[str, object]) -> None:
        """Take them; the session is opened with the first data."""
        session, drafts = state.get("session"), state.get("drafts")
        self._wanted_session = session if isinstance(session, str) else ""
        if isinstance(drafts, dict):
            self._drafts = {str(key): text for key, text in drafts.items() if isinstance(text, str)}

    def _keep_draft(self) -> None:
        """Remember what is written to the session that is shown."""
        if self.session is None:
            return
        self._drafts.pop(self.session.session_id, None)
        if self._pane.composer.text.strip():
            self._drafts[self.session.session_id] = self._pane.composer.text

    def take(self, snapshot: Snapshot) -> None:
        """Open what was open the last time; show how the account's windows are used now."""
        self.snapshot = snapshot
        if self._wanted_session:
            wanted, self._wanted_session = self._wanted_session, ""
            self.open_session(wanted, is_quiet=True)
        self._pane.draw_working()

    def open_begun(self, identity: str) -> None:
        """Show a session that its user has just begun, and give the keys to the line that is written on."""
        self._begun = identity
        self.open_session(identity)

    def open_session(self, identity: str, *, anew: bool = False, is_quiet: bool = False) -> None:
        """Show a session. anew: also where it is shown already. is_quiet: one that is gone is not told."""
        app = app_of(self._pane)
        is_same = self.session is not None and self.session.session_id == identity
        if self.opening == identity or (is_same and not anew and self.connection is not None):
            return
        self.opening = identity

        def on_failed(error: Exception) -> None:
            self.opening = ""
            if not is_quiet:
                app.say(str(getattr(error, "message", error)), severity="error")

        app.work("live session", partial(open_session, engine_of(app), identity), self._take_opened, on_failed)
        self._pane.draw_working()

    def _take_opened(self, opened: Opened) -> None:
        self.opening = ""
        self.disconnect()
        if not is_standing(self._pane):
            if opened.client is not None:
                opened.client.close()
            return
        talk = Conversation(engine_of(app_of(self._pane)).live.name)
        talk.take_status(opened.status)  # first: the events were read after it
        source = opened.status.session.forked_from
        if source and len(opened.events) < WINDOW:
            talk.tell_source(source)
        talk.apply(opened.events)
        talk.take_requests(OpenRequest(one.request_id, one.kind, one.prompt) for one in opened.requests)
        if opened.client is None:
            talk.lose_process()
        is_same = self.session is not None and self.session.session_id == opened.status.session.session_id
        if not is_same:
            self._keep_draft()
            self._pane.composer.put(self._drafts.get(opened.status.session.session_id, ""))
            self._pane.keep_soon()
        self.session, self.talk = opened.status.session, talk
        self.capabilities = opened.status.capabilities
        self.runtimes = opened.runtimes
        self._own = opened.own
        self._has_all = len(opened.events) < WINDOW
        self.sent = self.sent if is_same else []
        self._pane.remove_class("-empty")
        self._pane.view.begin(talk)
        if opened.client is not None:
            self.connection = LiveConnection(opened.client, self._take_events, self._take_end)
            self.connection.order(AskClients(tell=True), self._take_clients)
        self._pane.draw()
        app = app_of(self._pane)
        is_shown = app.frame.current.id == "live" and app.screen is app.frame
        if is_shown and opened.status.session.session_id == self._begun:  # its first message is what it was begun for
            self._pane.composer.focus()
        elif is_shown and not (is_same and self._pane.composer.has_focus):
            if not is_same:  # what was written to another session is no reason to stay on the line
                self._pane.view.focus()
            self._pane.focus_inside()
        self._begun = ""
        app.show_keys()

    def _take_events(self, events: list[Numbered]) -> None:
        """Take all that came in one look, and draw once."""
        had_turn, asked = self.talk.turn, self.request
        before = len(self.talk.blocks)
        self._pane.view.changed(self.talk.apply(events))
        for one in events:
            self._tell_control(one.event)
            self._compact_when_due(one.event)
        self._pane.draw()
        app = app_of(self._pane)
        if had_turn != self.talk.turn or asked != self.request or before == 0:
            app.show_keys()
            if had_turn is None or self.talk.turn is None:
                self._read_capabilities()

    def _take_clients(self, answer: Mapping[str, Any], wrong: str) -> None:
        """Take who else is there; hosts of earlier releases cannot say it."""
        if not wrong:
            self.talk.take_clients(answer)
            self._pane.draw()

    def _tell_control(self, event: AnyEvent) -> None:
        """Say who has taken control from us."""
        if isinstance(event, ControlChanged) and event.before == self.talk.reader:
            app_of(self._pane).say(visible_line(describe_control(event, self.talk.reader)), severity="warning")

    def _compact_when_due(self, event: AnyEvent) -> None:
        """Have a model compact the session that has just told that its context is almost full."""
        if isinstance(event, Notice) and event.code == "compaction_due" and self.session is not None:
            live = engine_of(app_of(self._pane)).live
            app_of(self._pane).work("live compact", partial(live.compact_when_due, self.session.session_id))

    def _read_capabilities(self) -> None:
        """Ask what the driver can do, once it has opened: its status knows."""
        if self.connection is None or any(self.capabilities.values()):
            return

        def on_answered(answer: Mapping[str, Any], _wrong: str) -> None:
            self.capabilities = answer.get("capabilities") or {}
            self._pane.draw()

        self.connection.order(AskStatus(), on_answered)

    def _take_end(self, _text: str) -> None:
        """Take the end of the host: what came last is in the store."""
        self.connection = None
        app = app_of(self._pane)
        session = self.session
        if session is None:
            return
        work = partial(engine_of(app).live.events_after, session.session_id, self.talk.last)
        app.work("live events", work, partial(self._take_last, session.session_id))

    def _take_last(self, session_id: str, events: tuple[Numbered, ...]) -> None:
        if self.session is None or self.session.session_id != session_id or self.connection is not None:
            return
        self._pane.view.changed(self.talk.apply(events) | self.talk.lose_process())
        self._pane.draw()
        app = app_of(self._pane)
        app.show_keys()

    def need_older(self) -> None:
        """Ask for what is before the oldest event that is there."""
        session = self.session
        if session is None or self._has_all or self._is_reading_older or self.talk.first <= 1:
            return
        app = app_of(self._pane)
        self._is_reading_older = True
        work = partial(engine_of(app).live.events, session.session_id, before=self.talk.first, limit=WINDOW)
        app.work("older events", work, partial(self._take_older, self.talk), self._skip_older)

    def _take_older(self, talk: Conversation, events: tuple[Numbered, ...]) -> None:
        self._is_reading_older = False
        if talk is not self.talk:
            return
        self._has_all = len(events) < WINDOW
        self._pane.view.grew_before(talk.prepend(events))

    def _skip_older(self, _error: Exception) -> None:
        self._is_reading_older = False

    def disconnect(self) -> None:
        """Let go of the session: it goes on."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None
