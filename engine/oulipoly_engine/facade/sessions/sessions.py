"""The door to everything about sessions. Each part is loaded when it is asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from oulipoly_engine.facade.base.home import Part

if TYPE_CHECKING:
    from oulipoly_engine.facade.sessions.archive import SessionArchive
    from oulipoly_engine.facade.sessions.branches import SessionBranches
    from oulipoly_engine.facade.sessions.bundles import SessionBundles
    from oulipoly_engine.facade.sessions.catalogue import SessionCatalogue
    from oulipoly_engine.facade.sessions.edits import SessionEdits
    from oulipoly_engine.facade.sessions.files import SessionFiles
    from oulipoly_engine.facade.sessions.locations import SessionLocations
    from oulipoly_engine.facade.sessions.moves import SessionMoves
    from oulipoly_engine.facade.sessions.notes import SessionNotes
    from oulipoly_engine.facade.sessions.scans import SessionScans
    from oulipoly_engine.facade.sessions.transcripts import SessionTranscripts

# ruff: noqa: PLC0415 - a command needs one part, and the app's first frame none


class Sessions(Part):
    """The sessions of one user."""

    @cached_property
    def catalogue(self) -> SessionCatalogue:
        """Return the list, the search, and what finds one session."""
        from oulipoly_engine.facade.sessions.catalogue import SessionCatalogue

        return SessionCatalogue(self._home)

    @cached_property
    def notes(self) -> SessionNotes:
        """Return names, notes and pins."""
        from oulipoly_engine.facade.sessions.notes import SessionNotes

        return SessionNotes(self._home)

    @cached_property
    def transcripts(self) -> SessionTranscripts:
        """Return what reads sessions."""
        from oulipoly_engine.facade.sessions.transcripts import SessionTranscripts

        return SessionTranscripts(self._home)

    @cached_property
    def branches(self) -> SessionBranches:
        """Return the trees: branches, labels and leaves."""
        from oulipoly_engine.facade.sessions.branches import SessionBranches

        return SessionBranches(self._home)

    @cached_property
    def scans(self) -> SessionScans:
        """Return what stores the new entries of the CLIs' transcripts."""
        from oulipoly_engine.facade.sessions.scans import SessionScans

        return SessionScans(self._home)

    @cached_property
    def files(self) -> SessionFiles:
        """Return exports, for programs and for people."""
        from oulipoly_engine.facade.sessions.files import SessionFiles

        return SessionFiles(self._home)

    @cached_property
    def bundles(self) -> SessionBundles:
        """Return what packs sessions for other machines, and unpacks theirs."""
        from oulipoly_engine.facade.sessions.bundles import SessionBundles

        return SessionBundles(self._home)

    @cached_property
    def archive(self) -> SessionArchive:
        """Return the kept copies."""
        from oulipoly_engine.facade.sessions.archive import SessionArchive

        return SessionArchive(self._home)

    @cached_property
    def edits(self) -> SessionEdits:
        """Return what replaces entries, and takes that back."""
        from oulipoly_engine.facade.sessions.edits import SessionEdits

        return SessionEdits(self._home)

    @cached_property
    def moves(self) -> SessionMoves:
        """Return what lets sessions go on on other accounts."""
        from oulipoly_engine.facade.sessions.moves import SessionMoves

        return SessionMoves(self._home)

    @cached_property
    def locations(self) -> SessionLocations:
        """Return where sessions lie, and the right to change them."""
        from oulipoly_engine.facade.sessions.locations import SessionLocations

        return SessionLocations(self._home)
