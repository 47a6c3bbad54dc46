"""The Transcript pane: one session, live, with everything in it folded to what a reader wants first."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.markup import escape
from textual.timer import Timer
from textual.widgets import Input

from oulipoly_engine.core.commands.needs import Need
from oulipoly_engine.records import replace
from oulipoly_tui.base.app_interface import app_of, engine_of
from oulipoly_tui.base.pane import Pane, bindings
from oulipoly_tui.commands.sessions import find_session
from oulipoly_tui.driver.copying import copy
from oulipoly_tui.keys.keymap import format_first_key
from oulipoly_tui.panes.session_keys import SessionKeys
from oulipoly_tui.panes.transcript.jobs import (
    entry_from,
    find_around,
    inside_of,
    open_followed,
    read_page,
    returned_of,
)
from oulipoly_tui.screens import dialogs
from oulipoly_tui.view import row_values
from oulipoly_tui.view.transcript.spans import Line, Row, wrap_lines
from oulipoly_tui.view.transcript.transcript import (
    Target,
    code_of,
    damage_text,
    is_users,
    message_text,
    provenance_lines,
    says,
)
from oulipoly_tui.widgets.lines import Lines
from oulipoly_tui.widgets.places.transcript_view import TranscriptView
from oulipoly_tui.widgets.transcript_entries import PAGE

if TYPE_CHECKING:
    from oulipoly_engine.core.artifacts.versions import Version
    from oulipoly_engine.core.sessions.sessions import Session
    from oulipoly_engine.core.transcripts.dialogue import Entry
    from oulipoly_engine.events import Event
    from oulipoly_engine.facade.sessions.types import (
        Inside,
        ListedSession,
        PlacedEntry,
        TranscriptFollower,
        TranscriptGrew,
    )
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_tui.actions.action import Action
    from oulipoly_tui.base.app_interface import AppInterface

_EMPTY: tuple[Line, ...] = (
    (("No session is open.", "strong"),),
    (),
    (("Choose one under Sessions: ", ""), ("3", "key"), (", then ", ""), ("enter", "key"), (".", "")),
)
_LOOK_S = 1.0  # at most so often is it looked for what was returned
_RETURNED, _TALL = 3, 20  # artifacts that are told, in a pane of so many rows; in a lower one the newest alone
_OF_SESSION = frozenset(("resume", "resume_elsewhere", "fork", "move", "export", "import_file", "edit_file"))
_NEEDS_TERMINALS = frozenset(("resume", "resume_elsewhere", "fork"))
_NEEDS_ENTRY = frozenset(("copy", "copy_code", "provenance", "unfold"))


class TranscriptPane(Pane):
    """One session."""

    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = bindings("transcript")

    def __init__(self, id: str = "transcript") -> None:
        super().__init__(id=id)
        self.parts = (SessionKeys(self, self._with_session, lambda: self.live_session_id),)
        self.target: Target | None = None
        self._follower: TranscriptFollower | None = None
        self._is_opening = False
        self._wanted: Target | None = None  # while another one is being opened
        self._above: list[Target] = []  # out of which sub-agent sessions were stepped into
        self._needle = ""
        self._new = 0  # turns that came while the user reads further up
        self._shows_secrets = False
        self._told = ("", "")
        self._returned: tuple[Version, ...] | Exception = ()
        self._returned_timer: Timer | None = None

    def compose(self) -> ComposeResult:
        """Lay out the view and the line to find with."""
        yield TranscriptView(self._ask, id="transcript-view")
        yield Lines(_EMPTY, id="transcript-empty")
        yield Lines(id="transcript-returned")
        yield Input(placeholder="find …", id="transcript-find")

    def on_mount(self) -> None:
        """Show that nothing is open."""
        self.set_class(self.target is None, "-empty")

    def row_values(self) -> Mapping[str, str]:
        """Return what the session that is shown has for the user's own commands."""
        return {} if self.target is None else row_values.of_transcript(self.target)

    def on_unmount(self) -> None:
        """Let go of the file."""
        if self._follower is not None:
            self._follower.close()

    @property
    def view(self) -> TranscriptView:
        """Return the view."""
        return self.query_one("#transcript-view", TranscriptView)

    # ---- what comes from outside

    def take(self, snapshot: Snapshot) -> None:  # noqa: ARG002, RUF100 - every pane is given it
        """Show what the cursor of the list is on, while nothing is open."""
        app = app_of(self)
        pane: Any = app.frame.find("sessions")
        if self.is_empty and pane is not None:
            pane.preview()

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing is open, nor being opened."""
        return self.target is None and not self._is_opening

    def open_target(self, target: Target) -> None:
        """Open a session, at an entry or at its end; one that is open already stays where it is.

        Unless what is open of it is less than the CLI's own file, and that is there now.
        """
        app = app_of(self)
        is_same = self.target is not None and target.key == self.target.key and self._follower is not None
        if is_same and self._wanted is None and not self._has_better(target):
            if target.entry_id and self._follower is not None:
                self._find_entry(self._follower, target)
            return
        if not target.side:
            self._above.clear()
        if self._is_opening:
            self._wanted = target
            return
        self._is_opening, self._wanted = True, None
        opened = partial(self._take_follower, target)
        app.work("transcript", partial(open_followed, app.engine, target), opened, opened)

    def take_event(self, event: Event) -> None:
        """Take what was appended, and look for what was returned when a run may have ended."""
        if type(event).__name__ == "StateChanged" and self._returned_timer is None and self.target is not None:
            self._returned_timer = self.set_timer(_LOOK_S, self.look_for_returned)
        if type(event).__name__ != "TranscriptGrew":
            return
        grew = cast("TranscriptGrew", event)
        growth = grew.growth
        if self.target is None or grew.key != self.target.key:
            return
        if growth.is_new_file:
            self.view.restart(growth.length)
        else:
            if not self.view.is_following:
                self._new += max(0, growth.length - max(self.view.length, growth.first_changed))
            placed_entries = () if self._shows_secrets else grew.placed_entries
            self.view.grew(growth.length, growth.first_changed, placed_entries)
        self._tell()

    def state(self) -> Mapping[str, object]:
        """Return nothing: what is shown follows the list."""
        return {}

    def leave(self) -> bool:
        """Close the find line, forget what was found, step out of a sub-agent session."""
        if self.has_class("-find"):
            self.remove_class("-find")
            self.focus_inside()
            return True
        if self._above:
            self._step_out()
            return True
        return False

    def focus_inside(self) -> None:
        """Give the keys to the view."""
        self.view.focus()

    def reason_against(self, action: Action) -> str | None:
        """Say why an action does nothing now: all of them are about the session that is open."""
        if self.target is None or self._follower is None:
            return Need.SESSION.value
        return super().reason_against(action)

    def lacks(self, need: Need) -> bool:
        """Return whether there is nothing to take back."""
        return need is Need.UNDO and not (self._list is not None and self._list.actions.can_undo(self._listed))

    def obstacle(self, action: str) -> str | None:
        """Say why an action does nothing now."""
        if action in _NEEDS_ENTRY and self._entry is None:
            return "there is no turn here"
        if action == "copy_code" and self._code is None:
            return "there is no code block in this turn"
        if action in ("find_next", "find_before") and not self._needle:
            return "nothing is searched for: / finds"
        if self.target is None or action not in _OF_SESSION:
            return None
        return self._session_obstacle(action, self.target)

    # ---- keys

    def action_unfold(self) -> None:
        """Unfold what is under the cursor, or fold it."""
        if not self.view.toggle():
            app = app_of(self)
            app.say("Nothing is folded here")

    def action_unfold_all(self) -> None:
        """Unfold everything, or fold it."""
        self.view.toggle_all()

    def action_find(self) -> None:
        """Type what to find."""
        self.add_class("-find")
        self.query_one("#transcript-find", Input).focus()

    def action_find_next(self) -> None:
        """Go to the next place."""
        self._find(1)

    def action_find_before(self) -> None:
        """Go to the place before."""
        self._find(-1)

    def action_turn_next(self) -> None:
        """Go to the next entry."""
        self._go_entry(1, says)

    def action_turn_before(self) -> None:
        """Go to the entry before."""
        self._go_entry(-1, says)

    def action_user_next(self) -> None:
        """Go to the user's next entry."""
        self._go_entry(1, is_users)

    def action_user_before(self) -> None:
        """Go to the user's entry before."""
        self._go_entry(-1, is_users)

    def action_copy(self) -> None:
        """Copy the message."""
        if self._entry is not None:
            copy(self.app, message_text(self._entry))

    def action_copy_code(self) -> None:
        """Copy the code block."""
        if self._code is not None:
            copy(self.app, self._code)

    def action_pager(self) -> None:
        """Read it all in the pager."""

        def on_paged(sessions: Any, text: str) -> str | None:  # noqa: ANN401 - engine.sessions, deferred
            return None if sessions.files.page(text.split("\n")) else "there is no pager: set PAGER"

        self._with_document(on_paged)

    def action_editor(self) -> None:
        """Open a copy in the editor."""
        name = f"{'' if self.target is None else self.target.session_id[:8]}.md"
        self._with_document(lambda sessions, text: sessions.files.edit_copy(text, name))

    def action_provenance(self) -> None:
        """Show where the entry comes from."""
        found, target, follower = self.view.here, self.target, self._follower
        if found is None or target is None or follower is None:
            return
        app = app_of(self)
        entry = self._entry

        def on_told(where: Any) -> None:  # noqa: ANN401 - a Provenance
            dialogs.read(app, "Where this turn comes from", provenance_lines(entry, where, target))

        app.work("provenance", partial(follower.provenance, found[0]), on_told)

    def action_side_chains(self) -> None:
        """Choose a sub-agent's session and step into it."""
        app = app_of(self)
        target = self._above[0] if self._above else self.target
        if target is not None:
            app.work("sub-agent sessions", partial(inside_of, app.engine, target), partial(self._offer, target))

    def action_secrets(self) -> None:
        """Show secrets, or hide them."""
        app = app_of(self)
        self._shows_secrets = not self._shows_secrets
        app.say("Secrets are shown" if self._shows_secrets else "Secrets are hidden")
        self.view.restart(self.view.length)

    def action_artifacts(self) -> None:
        """Show what the session's runs have returned, received, sent and kept."""
        if self.target is not None:
            self.wish("session artifacts", self.target.chain_id or self.target.session_id)

    def action_undo(self) -> None:
        """Take back what was done last with a session, or the latest replacement of this one's turns."""
        pane = self._list
        if pane is not None:
            pane.actions.undo(self._listed)

    def _with_session(self, act: Callable[[Session], None]) -> None:
        """Act on the session that is shown."""
        if self.target is not None:
            find_session(cast("AppInterface", self.app), self.target.chain_id or self.target.session_id, act)

    @property
    def live_session_id(self) -> str | None:
        """Return the live session that the session shown is."""
        pane = self._list
        session_id: str | None = None if pane is None else pane.reading.find_live(self._listed)
        return session_id

    # ---- what the widgets say

    def on_resize(self) -> None:
        """Fit what was returned."""
        self._draw_returned()

    @on(Input.Submitted, "#transcript-find")
    def _handle_find_submit(self, event: Input.Submitted) -> None:
        self.remove_class("-find")
        self.focus_inside()
        if event.value:
            self._needle = event.value
            self._find(1, is_first=True)

    @on(TranscriptView.Moved)
    def _handle_move(self) -> None:
        if self.view.is_following or self.view.is_at_end:
            self._new = 0
        self._tell()
        self.show_keys_soon()

    # ---- opening

    def _take_follower(self, target: Target, follower: TranscriptFollower | Exception) -> None:
        app = app_of(self)
        self._is_opening = False
        waiting = self._wanted
        if isinstance(follower, Exception):
            self._close()
            self.target, self._told = None, ("", "")
            self.border_subtitle = ""
            text = str(getattr(follower, "message", follower))
            lines: tuple[Line, ...] = (((target.title, "strong"),), (), ((text, "warn"),))
            self.query_one("#transcript-empty", Lines).show_lines(wrap_lines(lines, max(20, self.size.width - 6)))
            self.add_class("-empty")
        else:
            self._close()
            self._follower, self.target, self._new = follower, target, 0
            self.remove_class("-empty")
            self.view.begin(len(follower), is_side=bool(target.side))
            if target.entry_id:
                self._find_entry(follower, target)
            self._tell()
        self._show_returned(())
        if self.target is not None:
            self.look_for_returned()
        if waiting is not None:
            self._wanted = None
            self.open_target(waiting)
        app.show_keys()

    def _close(self) -> None:
        if self._follower is not None:
            app = app_of(self)
            app.work("close", self._follower.close)  # it may be reading
            self._follower = None

    def _ask(self, number: int, question: int) -> None:
        app = app_of(self)
        follower = self._follower
        if follower is None:
            return
        work = partial(read_page, follower, number, redacting=not self._shows_secrets)
        app.work("page", work, partial(self._got, follower, number, question))

    def _got(
        self, follower: TranscriptFollower, number: int, question: int, placed_entries: tuple[PlacedEntry, ...]
    ) -> None:
        if follower is self._follower:
            self.view.give(number, question, placed_entries)

    def _find_entry(self, follower: TranscriptFollower, target: Target) -> None:
        app = app_of(self)

        def on_found(place: int | None) -> None:
            if place is not None and follower is self._follower:
                self._land(follower, place)

        app.work("find turn", partial(follower.place_of, target.entry_id, target.at), on_found)

    def _land(self, follower: TranscriptFollower, place: int, text: str = "") -> None:
        """Go to a place once its page is there, so that its lines are known."""
        app = app_of(self)
        if self.view.entry(place) is not None:
            self.view.go_to(place, text)
            self._tell()
            return
        number = place // PAGE

        def on_came(placed_entries: tuple[PlacedEntry, ...]) -> None:
            if follower is self._follower:
                self.view.put(number, placed_entries)
                self.view.go_to(place, text)
                self._tell()

        app.work("page", partial(read_page, follower, number, redacting=not self._shows_secrets), on_came)

    # ---- what was returned

    def look_for_returned(self) -> None:
        """Tell what the session's runs have returned by now."""
        app = app_of(self)
        self._returned_timer = None
        app.work_newest("returned", self._ask_for_returned)

    def _ask_for_returned(self) -> None:
        app = app_of(self)
        target = self.target
        if target is None or target.side:
            return

        def on_came(found: tuple[Version, ...] | Exception) -> None:
            if self.target is not None and self.target.key == target.key:
                self._show_returned(found)

        app.work("returned", partial(returned_of, app.engine, target), on_came)

    def _show_returned(self, found: tuple[Version, ...] | Exception) -> None:
        self._returned = found
        self._draw_returned()

    def _draw_returned(self) -> None:
        shown = self.query_one("#transcript-returned", Lines)
        if not self._returned:
            shown.display = False
            return
        from oulipoly_tui.view.sessions.artifacts import returned_lines  # noqa: PLC0415 - few sessions have any

        app = app_of(self)
        width = max(20, self.size.width - 2)
        row = app.keys.find("transcript.artifacts")
        most = _RETURNED if self.size.height >= _TALL else 1
        lines = returned_lines(self._returned, width, "c" if row is None else format_first_key(row.keys), most)
        shown.styles.height = len(lines) + 1
        shown.display = True
        shown.show_lines(lines)

    # ---- parts

    @property
    def _list(self) -> Any:  # noqa: ANN401 - SessionsPane, which a single pane's app has not
        app = app_of(self)
        return app.frame.find("sessions")

    @property
    def _listed(self) -> ListedSession | None:
        """Return the session that is shown as the list has it."""
        pane, target = self._list, self.target
        if pane is None or pane.reading.board is None or target is None:
            return None
        listed: ListedSession | None = pane.reading.board.of_chain(target.chain_id)
        return listed

    def _session_obstacle(self, action: str, target: Target) -> str | None:
        """Say why nothing can be done with the session now; the list knows who has it open, and its kept copy."""
        app = app_of(self)
        if target.side and action != "resume":
            return "this is a sub-agent session: esc steps out of it"
        if action in _NEEDS_TERMINALS and not app.has_pane("repl"):
            return "this version has no terminals yet"
        listed = self._listed
        if listed is None:
            is_gone = action != "export" and self._follower is not None and self._follower.pages.is_gone
            return "its transcript is gone" if is_gone else None
        reason: str | None = self._list.actions.obstacle_of(action, listed, "B under Sessions")
        return reason

    def _has_better(self, target: Target) -> bool:
        """Tell whether a target's file is there while a copy or a part of it is shown, or a file that is gone."""
        if target.path is None or self._follower is None:
            return False
        pages = self._follower.pages
        is_itself = pages.origin.name == "TRANSCRIPT" and getattr(pages, "path", None) == Path(target.path)
        return (pages.is_gone or not is_itself) and os.path.isfile(target.path)  # noqa: PTH113 - raises nothing

    @property
    def _entry(self) -> Entry | None:
        found = self.view.here
        placed = None if found is None else self.view.entry(found[0])
        return None if placed is None else placed.entry

    @property
    def _code(self) -> str | None:
        found, entry = self.view.here, self._entry
        return None if found is None or entry is None else code_of(entry, found[1].part, found[1].block)

    def _find(self, step: int, *, is_first: bool = False) -> None:
        app = app_of(self)
        app.work_newest("find", partial(self._begin_find, step, is_first=is_first))

    def _begin_find(self, step: int, *, is_first: bool) -> None:
        app = app_of(self)
        follower, found = self._follower, self.view.here
        if follower is None:
            return
        place = 0 if found is None else found[0]
        start = place if is_first else place + step
        app.work(
            "find", partial(find_around, follower, self._needle, start, step), partial(self._take_find_result, follower)
        )

    def _take_find_result(self, follower: TranscriptFollower, place: int | None) -> None:
        app = app_of(self)
        if follower is not self._follower:
            return
        if place is None:
            app.say(f"{self._needle!r} is not in this session")
        else:
            self._land(follower, place, self._needle)

    def _go_entry(self, step: int, fits: Callable[[Entry | None], bool]) -> None:
        app = app_of(self)
        app.work_newest("turn", partial(self._begin_step, step, fits))

    def _begin_step(self, step: int, fits: Callable[[Entry | None], bool]) -> None:
        """Look for the next entry from where the cursor is now."""
        app = app_of(self)
        follower, found = self._follower, self.view.here
        if follower is None or found is None:
            return

        def on_came(place: int | None) -> None:
            if follower is not self._follower:
                return
            if place is None and step > 0:
                self.view.action_last()
            else:
                self._land(follower, place or 0)

        app.work("turn", partial(entry_from, follower, found[0] + step, step, fits), on_came)

    def _offer(self, target: Target, inside: Inside) -> None:
        app = app_of(self)
        if not inside.side_files:
            app.say("No sub-agent has a file of its own here; turns of sub-agent sessions in this one unfold with o")
            return
        rows = [Row(name, ((name, ""),)) for name, _ in inside.side_files]
        paths = {name: str(path) for name, path in inside.side_files}

        def on_chosen(name: str) -> None:
            if self.target is not None and not self._above:
                self._above.append(self.target)
            self.open_target(replace(target, path=paths[name], side=name, entry_id=""))

        dialogs.choose(app, "Step into which sub-agent session?", rows, on_chosen)

    def _step_out(self) -> None:
        target = self._above.pop()
        self.open_target(target)

    def _with_document(self, act: Callable[[Any, str], str | None]) -> None:
        app = app_of(self)
        target = self.target
        if target is None:
            return

        def on_opened(text: str) -> None:
            with app.suspend():
                problem = act(engine_of(app).sessions, text)
            app.refresh()
            if problem:
                app.say(problem, severity="warning")

        app.work(
            "document", partial(engine_of(app).sessions.files.document, target.chain_id or target.session_id), on_opened
        )

    def _tell(self) -> None:
        """Write title and state into the frame; only what differs, for each costs a whole frame's drawing."""
        target, follower = self.target, self._follower
        if target is None or follower is None:
            return
        side = f" › sub-agent session {target.side}" if target.side else ""  # noqa: RUF001 - a way that was gone
        title = f"4 Transcript · {target.title[:60]}{side}"
        origin = follower.pages.origin.name.lower()
        where = {"transcript": "", "archive": " · kept copy", "state": " · stored turns"}[origin]
        found = self.view.here
        place = 0 if found is None else found[0] + 1
        is_live = self.view.is_following
        state = "live" if is_live else f"{place:,} of {self.view.length:,}"
        if follower.pages.is_gone:
            state = "its file is gone" if is_live else f"{state} · its file is gone"
        new = f" · {self._new:,} new ↓ G" if self._new else ""
        damage = damage_text(follower.pages.damage)
        subtitle = f"{target.account}{where} · {state}{new}{f' · {damage}' if damage else ''}"
        if self._told != (title, subtitle):
            self._told = title, subtitle
            self.border_title, self.border_subtitle = Content(title), escape(subtitle)
