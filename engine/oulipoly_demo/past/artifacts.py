"""What the past's runs have kept, sent and returned: files in the world's artifact store, and receipts of them.

The service stores them, at the instants of the runs. Built anew each time: the same files at the same addresses.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from oulipoly_demo.past.homes import Past, PastRun
from oulipoly_engine.core.artifacts.addresses import Address, returns_of, scratchpad_of
from oulipoly_engine.core.artifacts.receipts import ReturnedArtifact
from oulipoly_engine.core.artifacts.versions import NewVersion, Version
from oulipoly_engine.service.artifacts.artifact_store import ArtifactStore, make_store
from oulipoly_engine.service.artifacts.returned import append_receipt

_SESSION = "cookbook"  # the workspace of the conversation whose run has kept, sent and returned something
_BREAD = "# Bread\n\n| | 2 loaves |\n|---|---|\n| flour | 1000 g (100 %) |\n| water | 700 g (70 %) |\n"
_SIX = (
    "# Bread\n\n| | 6 loaves |\n|---|---|\n| flour | 3000 g (100 %) |\n| water | 2100 g (70 %) |\n\n"
    "The percentages are as they were.\n"
)
_REVIEW = "# Review\n\n- the retry has no upper bound\n- a test sleeps where it could wait\n\nVerdict: two remarks.\n"
_REPORT = "# Report\n\nThree agents were asked. The review has two remarks, and neither is urgent.\n"


class _Gift(NamedTuple):
    run: PastRun
    place: str  # run id in the store
    name: str
    text: str
    verdict: str | None = None
    share: float = 0.9  # of the run's time that has passed by then


class _Instant:
    """A clock that stands where it is set."""

    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.at, UTC)

    def monotonic(self) -> float:
        return self.at


def write(path: Path, past: Past) -> Mapping[str, tuple[ReturnedArtifact, ...]]:
    """Fill the store at a path; return what was handed back, by the uuids of the runs. Raises ArtifactStoreUnusable."""
    for old in path.parent.glob(f"{path.name}*"):
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    clock, returned = _Instant(), dict[str, tuple[ReturnedArtifact, ...]]()
    store, _ = make_store(path, clock)
    try:
        for gift in _gifts(past):
            clock.at = gift.run.begin + gift.share * (gift.run.end - gift.run.begin)
            version = _put(store, gift)
            if gift.place == returns_of(gift.run.uuid):
                returned[gift.run.uuid] = (*returned.get(gift.run.uuid, ()), _receipt(version, gift.run.uuid))
    finally:
        store.file.close()
    return returned


def _gifts(past: Past) -> Iterator[_Gift]:
    parent = max(
        (run for run in past.runs if any(one.parent == run.uuid for one in past.runs)), key=lambda run: run.begin
    )
    while parent.parent is not None:
        parent = next(run for run in past.runs if run.uuid == parent.parent)
    child = next(run for run in past.runs if run.parent == parent.uuid)
    yield _Gift(child, returns_of(child.uuid), "review.md", _REVIEW, "two remarks, none urgent")
    yield _Gift(parent, returns_of(parent.uuid), "report.md", _REPORT, "READY: nothing is left to do")
    ids = {one.session_id for one in past.sessions if one.story.workspace == _SESSION and one.story.model}
    writer = max((run for run in past.runs if run.session_id in ids), key=lambda run: run.begin)
    yield _Gift(writer, scratchpad_of(writer.uuid), "draft", _BREAD, share=0.2)
    yield _Gift(writer, scratchpad_of(writer.uuid), "draft", _SIX, share=0.6)
    yield _Gift(writer, _SESSION, "bread.md", _BREAD, "as it was, for two", 0.3)
    yield _Gift(writer, _SESSION, "bread.md", _SIX, "six loaves, same percentages", 0.8)
    yield _Gift(writer, returns_of(writer.uuid), "bread.md", _SIX, "six loaves, same percentages")


def _put(store: ArtifactStore, gift: _Gift) -> Version:
    new = NewVersion(Address(gift.place, gift.name), gift.run.uuid, "text/markdown", gift.verdict)
    return store.put(new, gift.text.encode())


def _receipt(version: Version, uuid: str) -> ReturnedArtifact:
    with tempfile.NamedTemporaryFile() as channel:
        return append_receipt(Path(channel.name), version, {"kind": "inline_bytes"}, uuid)
