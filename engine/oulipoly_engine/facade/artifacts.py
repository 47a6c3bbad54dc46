"""What is asked and ordered about artifacts: of the user's own store, and of any other by its file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.clock import Clock
from oulipoly_engine.core.artifacts.addresses import RETURN, SCRATCHPAD, Address, returns_of, scratchpad_of
from oulipoly_engine.core.artifacts.versions import Version
from oulipoly_engine.facade.base.home import Part
from oulipoly_engine.records import Record
from oulipoly_engine.service.artifacts.artifact_store import ArtifactStore, make_store, opened
from oulipoly_engine.service.artifacts.returned import append_receipt, find_channel

if TYPE_CHECKING:
    from oulipoly_engine.store.base.db import Store

__all__ = ["PREVIEW_BYTES", "ArtifactStore", "append_receipt", "find_channel", "open_store"]

_LONGEST_SIDE = 4 << 20  # bytes of a version that is compared line by line
_MOST_LINES = 20_000  # in a stretch that differs
PREVIEW_BYTES = 256 << 10
_CUT_WORD = re.compile(r"(?<=\s)\S{1,4096}\Z")


class RunArtifacts(Record):
    """What runs have made: each list in the order of runs, then names, then versions."""

    kept: tuple[Version, ...] = ()  # for themselves
    sent: tuple[Version, ...] = ()  # into a place where others look
    returned: tuple[Version, ...] = ()  # to their callers
    received: tuple[Version, ...] = ()  # from runs that they started


class Artifacts(Part):
    """The user's own artifact store, which is made when something is put there first."""

    @property
    def path(self) -> Path:
        """Return its file."""
        return self._home.paths.artifacts

    @contextmanager
    def open(self, *, makes: bool = False) -> Iterator[ArtifactStore]:
        """Lend the store. Raises ArtifactStoreUnusable, also where there is none yet. makes: it is made then."""
        if makes:
            make_store(self.path, self._home.clock)[0].file.close()
        with opened(self.path, self._home.clock) as store:
            yield store

    def of_run(self, uuid: str) -> RunArtifacts:
        """Return what a run has kept, sent, returned and received; nothing where there is no store yet."""
        return self._of_runs(lambda _store: (uuid,))

    def of_session(self, session_ids: Sequence[str]) -> RunArtifacts:
        """Return the same of all the runs of a session. session_ids: the CLIs' own ids of its parts."""
        from oulipoly_engine.store.runs import invocations  # noqa: PLC0415 - the tools have no state file

        return self._of_runs(lambda store: invocations.uuids_of_sessions(store, session_ids))

    def returned_of_session(self, session_ids: Sequence[str]) -> tuple[Version, ...]:
        """Return what the runs of a session have returned alone; see `of_session`."""
        from oulipoly_engine.store.runs import invocations  # noqa: PLC0415 - as above

        if not self.path.is_file():
            return ()
        with self._home.lend_store_to_read() as records:
            wanted = invocations.uuids_of_sessions(records, session_ids)
        with self.open() as store:
            return tuple(one for uuid in wanted for one in store.file.versions(returns_of(uuid)))

    def _of_runs(self, find: Callable[[Store], Sequence[str]]) -> RunArtifacts:
        from oulipoly_engine.store.runs import invocations  # noqa: PLC0415 - as above

        if not self.path.is_file():
            return RunArtifacts()
        with self._home.lend_store_to_read() as records:
            wanted = find(records)
            children = invocations.uuids_of_children(records, wanted)
        with self.open() as store:

            def of(places: Iterable[str]) -> tuple[Version, ...]:
                return tuple(one for place in places for one in store.file.versions(place))

            made = (one for uuid in wanted for one in store.file.versions(producer=uuid))
            return RunArtifacts(
                kept=of(map(scratchpad_of, wanted)),
                sent=tuple(one for one in made if not one.address.run.startswith((SCRATCHPAD, RETURN))),
                returned=of(map(returns_of, wanted)),
                received=of(map(returns_of, children)),
            )

    def preview(self, version: Version) -> str | None:
        """Return the beginning of a text, secrets hidden; None: it is not a text. Raises ArtifactMissing."""
        with self.open() as store:
            data = store.head(store.file.find(version.address), PREVIEW_BYTES)  # it may have been removed since
            return as_text(data, is_whole=version.content_len <= PREVIEW_BYTES)

    def diff(self, before: Address, after: Address) -> tuple[str, ...]:
        """Return what changed between two versions; see `diff`."""
        with self.open() as store:
            return diff(store, before, after)

    def find(self, address: Address) -> Version:
        """Return the version that an address names. Raises ArtifactMissing."""
        with self.open() as store:
            return store.file.find(address)

    def save(self, address: Address, path: Path, *, force: bool = False) -> Version:
        """Write a content into a file, as it is. Raises FileExists unless it may be replaced, and as the store does."""
        with self.open() as store:
            return store.save(address, path, force=force)

    def remove(self, address: Address, actor: str, reason: str) -> Version:
        """Mark a version as removed; a collection deletes its content."""
        with self.open() as store:
            return store.remove(address, actor, reason)[0]

    def remove_by_hand(self, address: Address) -> Version:
        """Do the same in the name of whoever sits before the screen."""
        return self.remove(address, user_name(), "removed by hand")


def user_name() -> str:
    """Return who we work for: the user's name, or the number where a container has no name for it."""
    import getpass  # noqa: PLC0415 - for removals alone

    try:
        return getpass.getuser()
    except (KeyError, OSError):  # Python 3.13 raises the latter
        return str(os.getuid())


def as_text(data: bytes, *, is_whole: bool = True) -> str | None:
    """Return bytes as a text that may be shown, None for what is not UTF-8 or has NULs.

    Its secrets are hidden, and its control characters are made visible. is_whole: else the word that is cut at the end
    is left out: nobody can tell whether it is a secret.
    """
    from oulipoly_engine.core.transcripts.sanitize import Visible  # noqa: PLC0415 - for previews alone

    if b"\0" in data:
        return None
    for cut in range(1 if is_whole else 4):  # the last character may be cut
        try:
            text = data[: len(data) - cut].decode()
        except UnicodeDecodeError:
            continue
        return Visible().text(text if is_whole else _CUT_WORD.sub("", text))
    return None


def diff(store: ArtifactStore, before: Address, after: Address) -> tuple[str, ...]:
    """Return what changed between two versions, as lines of a unified diff with secrets hidden.

    Nothing: they are equal. Sizes and hashes of what is not a text, has more than 4 MB, or differs in a stretch of more
    than 20,000 lines: that would be compared for minutes. Raises ArtifactMissing.
    """
    old, new = store.file.find(before), store.file.find(after)
    if old.sha256 == new.sha256:
        return ()
    texts = [
        as_text(store.head(one, _LONGEST_SIDE)) if one.content_len <= _LONGEST_SIDE else None for one in (old, new)
    ]
    sides = [[] if text is None else text.splitlines() for text in texts]
    if None in texts or _differing(sides[0], sides[1]) > _MOST_LINES:
        return tuple(f"{sign} {one.content_len} bytes {one.sha256}" for sign, one in (("-", old), ("+", new)))
    from difflib import unified_diff  # noqa: PLC0415 - as above

    told = unified_diff(sides[0], sides[1], old.address.text, new.address.text, lineterm="")
    return tuple(told) or ("  only secrets, line ends or the last newline differ",)


def _differing(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many lines the longer side has between what both begin and end with."""
    least = min(len(old), len(new))
    begin = next((at for at in range(least) if old[at] != new[at]), least)
    end = next((at for at in range(least - begin) if old[-1 - at] != new[-1 - at]), least - begin)
    return max(len(old), len(new)) - begin - end


def initialise(path: Path, clock: Clock) -> bool:
    """Make a store where there is none; return whether it was made. Raises ArtifactStoreUnusable."""
    store, is_new = make_store(path, clock)
    store.file.close()
    return is_new


open_store = opened
