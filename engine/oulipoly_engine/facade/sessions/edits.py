"""Other entries in place of a session's own, and taking that back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from oulipoly_engine.adapters.transcript_file import lines_of
from oulipoly_engine.core.sessions.resolve import ResolvedSession
from oulipoly_engine.core.transcripts.canonical import LongLine
from oulipoly_engine.errors import ReplacementInvalid, RunnerError
from oulipoly_engine.facade.sessions.base import SessionPart
from oulipoly_engine.facade.sessions.values import Import, file_names
from oulipoly_engine.records import Record
from oulipoly_engine.regular_files import open_regular
from oulipoly_engine.service.reading import drafts
from oulipoly_engine.service.reading.drafts import Draft
from oulipoly_engine.service.rewrite.replace import Plan, Receipt, Replacer
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.rewrite.replacements import Replacement
from oulipoly_engine.store.sessions.sessions import list_sessions

__all__ = ["Plan", "Receipt"]


class History(Record):
    """The replacements of a session."""

    session: ResolvedSession
    replacements: tuple[Replacement, ...]
    undoable: frozenset[str]  # the operations whose former transcript is still kept


class SessionEdits(SessionPart):
    """The replacements of one user's sessions."""

    def plan(self, session_id: str, give: Callable[[], BinaryIO], preimage_sha256: str | None = None) -> Plan:
        """Say what canonical lines would change in a session; nothing is touched.

        session_id: a full one. give: opens the lines, once the session is known. preimage_sha256: that the present
        export must have.
        """
        with self._exact_session(session_id) as (store, session):
            replacer = self._replacer(store)
            return replacer.plan(session, replacer.parse(session, self._read(give())), preimage_sha256)

    def replace(self, session_id: str, give: Callable[[], BinaryIO], preimage_sha256: str | None = None) -> Receipt:
        """Put canonical lines in place of a session's entries. Arguments as for `plan`."""
        self._home.refuse_if_read_only("replace turns")
        with self._exact_session(session_id, writes=True) as (store, session):
            replacer = self._replacer(store)
            receipt = replacer.carry_out(session, replacer.parse(session, self._read(give())), preimage_sha256)
        self._tell()
        return receipt

    def read_import(self, text: str, path: Path) -> Import:
        """Read canonical lines for a session and say what they would change; nothing is touched."""
        try:
            lines = self._read(open_regular(path))
        except OSError as error:
            raise RunnerError(f"{path} cannot be read: {error.strerror or error}") from error
        with self._session(text) as (store, session):
            replacer = self._replacer(store)
            return Import(session, path, replacer.plan(session, replacer.parse(session, lines)), lines)

    def _read(self, file: BinaryIO) -> bytes:
        """Read canonical lines and close their file. Raises ReplacementInvalid for a line that is too long."""
        longest, lines = self._home.wiring.longest_line(), []
        with file:
            for number, line in enumerate(lines_of(file, longest), 1):
                if isinstance(line, LongLine):
                    message = (
                        f"line {number} of the lines that were given has {line.size_bytes} bytes, more than "
                        f"`transcript_line_limit_mb` of config.toml allows ({longest >> 20} MB): take it out, or raise "
                        "that"
                    )
                    raise ReplacementInvalid(message, line=number)
                lines.append(line)
        return b"".join(lines)

    def carry_out(self, wish: Import) -> Receipt:
        """Do an import that was shown: with the lease, and only while the transcript is what it was then."""
        self._home.refuse_if_read_only("replace turns")
        with self._home.lend_store() as store:
            replacer = self._replacer(store)
            lines = replacer.parse(wish.session, wish.lines)
            receipt = replacer.carry_out(wish.session, lines, wish.plan.preimage_sha256)
        self._tell()
        return receipt

    def draft(self, text: str) -> Draft:
        """Write the canonical lines to a private file that may be edited; close the draft in the end.

        Raises what an import of it would raise, before anybody has edited in vain.
        """
        self._home.refuse_if_read_only("replace turns")
        with self._session(text, writes=True) as (store, session):
            (name,) = file_names([one.active for one in list_sessions(store, (session.chain_id,))], "jsonl")
            replacer = self._replacer(store)
            with self._home.wiring.exporter(store, replacer.locator).export(session) as export:
                made = drafts.begin(self._home.paths.data / "tmp", name, export.blocks())
            try:
                replacer.plan(session, replacer.parse(session, made.path.read_bytes()))
            except BaseException:
                made.close()
                raise
        return made

    def edit_draft(self, draft: Draft) -> str | None:
        """Open a draft in the user's editor; the app has let go of the terminal. Returns a problem."""
        from oulipoly_engine.process.user_programs import edit  # noqa: PLC0415 - only who opens one needs it

        return edit(draft.path)

    def plan_undo(self, text: str, operation_uuid: str | None = None) -> Plan:
        """Say what taking back a replacement, the latest by default, would do. Raises RequestRefused without one."""
        with self._session(text) as (store, session):
            return self._replacer(store).plan_undo(session, operation_uuid)

    def undo(self, text: str, operation_uuid: str | None = None) -> Receipt:
        """Put a replaced transcript back as it was before a replacement, the latest by default."""
        self._home.refuse_if_read_only("replace turns")
        with self._session(text, writes=True) as (store, session):
            receipt = self._replacer(store).undo(session, operation_uuid)
        self._tell()
        return receipt

    def history(self, text: str) -> History:
        """Return the replacements of a session."""
        with self._session(text) as (store, session):
            replacer = self._replacer(store)
            known = replacer.history(session)
            undoable = frozenset(one.operation_uuid for one in known if replacer.can_undo(one))
        return History(session, known, undoable)

    def _replacer(self, store: Store) -> Replacer:
        settings = self._home.quiet_files.settings()
        return self._home.wiring.replacer(store, self._locator(), settings)
