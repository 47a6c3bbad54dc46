"""What the Transcript pane has done in threads. Nothing of the screen here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from oulipoly_engine.core.transcripts.dialogue import Kind
from oulipoly_engine.core.transcripts.document_head import split_fences
from oulipoly_tui.view.transcript.transcript import Target
from oulipoly_tui.widgets.transcript_entries import PAGE

if TYPE_CHECKING:
    from oulipoly_engine.core.artifacts.versions import Version
    from oulipoly_engine.core.transcripts.dialogue import Entry
    from oulipoly_engine.facade.sessions.types import Inside, PlacedEntry, TranscriptFollower


def open_followed(engine: Any, target: Target) -> TranscriptFollower | Exception:  # noqa: ANN401 - the Engine, whose import is deferred
    """Open a session and follow it; what is wrong with it is shown where it would stand."""
    from oulipoly_engine.errors import RunnerError  # noqa: PLC0415 - loaded already

    sessions = engine.sessions
    try:
        pages = sessions.transcripts.open(target.account, target.session_id, target.path)
    except (RunnerError, OSError) as error:
        return error
    found: TranscriptFollower = sessions.transcripts.follow(pages, target.key)
    return found


def read_page(follower: TranscriptFollower, number: int, *, redacting: bool) -> tuple[PlacedEntry, ...]:
    """Read a page, and load what its blocks of code are drawn with."""
    from oulipoly_tui.view.transcript.code import prepare  # noqa: PLC0415 - not before a session is read

    placed_entries = follower.page(number * PAGE, PAGE, redacting=redacting)
    parts = (part for placed in placed_entries if placed.entry is not None for part in placed.entry.parts)
    texts = (part.text for part in parts if part.kind is Kind.TEXT)
    for language in {language for text in texts for language, _ in split_fences(text) if language}:
        prepare(language)
    return placed_entries


def inside_of(engine: Any, target: Target) -> Inside:  # noqa: ANN401 - as above
    """Return the branches and sub-agent sessions of a target's session."""
    sessions = engine.sessions
    found: Inside = sessions.catalogue.inside(sessions.catalogue.find(target.chain_id or target.session_id))
    return found


def returned_of(engine: Any, target: Target) -> tuple[Version, ...] | Exception:  # noqa: ANN401 - as above
    """Return what the runs of a target's session have returned; nothing of a session that no run was started for."""
    from oulipoly_engine.errors import RunnerError, SessionNotFound  # noqa: PLC0415 - loaded already

    try:
        one = engine.sessions.catalogue.find(target.chain_id or target.session_id)
        found: tuple[Version, ...] = engine.artifacts.returned_of_session([part.session_id for part in one.parts])
    except SessionNotFound:
        return ()
    except RunnerError as error:
        return error
    return found


def find_around(follower: TranscriptFollower, text: str, start: int, step: int) -> int | None:
    """Look to the end, then go on from the other one."""
    found = follower.find(text, start, step)
    return follower.find(text, 0 if step > 0 else len(follower) - 1, step) if found is None else found


def entry_from(follower: TranscriptFollower, start: int, step: int, fits: Callable[[Entry | None], bool]) -> int | None:
    """Return the next place whose entry fits, None at the end."""
    place = start
    while 0 <= place < len(follower):
        first = place if step > 0 else max(0, place - PAGE + 1)
        placed_entries = follower.page(first, PAGE if step > 0 else place - first + 1)
        for placed in placed_entries if step > 0 else reversed(placed_entries):
            if fits(placed.entry):
                return placed.place
        place += step * PAGE
    return None
