"""Documents are made from whichever source is there, with flat memory, and never half."""

import json
import os
import shlex
import subprocess
import sys
import textwrap
from datetime import UTC, datetime
from pathlib import Path

import pytest

from oulipoly_engine.core.accounts.accounts import Account, StorageSpec, StorageType
from oulipoly_engine.core.sessions.resolve import ResolvedSession
from oulipoly_engine.core.transcripts.dialogue import EVERYTHING
from oulipoly_engine.core.transcripts.document_head import Format, Origin
from oulipoly_engine.errors import StorageUnsupported
from oulipoly_engine.service.archive.archive import Archive
from oulipoly_engine.service.archive.keeper import ArchiveKeeper
from oulipoly_engine.service.reading.documents import Documents, Style
from oulipoly_engine.service.sessions.locate import Locator
from oulipoly_engine.service.transcripts.files import homes
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.testing import FakeClock

FIXTURES = str(Path(__file__).resolve().parents[3] / "fixtures")
SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
FOUND = ResolvedSession("c1", "opus", "acc", SESSION, datetime(2026, 11, 20, 12, tzinfo=UTC))
AT = "2026-11-20T11:00:00.000000Z"


def entry(text, kind="user"):
    content = text if kind == "user" else [{"type": "text", "text": text}]
    return json.dumps({"type": kind, "uuid": "u", "timestamp": AT, "message": {"content": content}}).encode() + b"\n"


class Bench:
    """One account with one session."""

    def __init__(self, folder):
        root = folder / "projects"
        self.transcript = root / "-work" / f"{SESSION}.jsonl"
        self.transcript.parent.mkdir(parents=True)
        self.store = open_store(folder / "state.db")
        storage = StorageSpec(
            "true", f"claude-code-locate-transcript {shlex.quote(str(root))}", StorageType.CLAUDE_CODE
        )
        self.accounts = {"acc": Account("acc", storage=storage)}
        self.locator = Locator(self.accounts, {}, folder, folder, dict(os.environ))
        known = {home.account: home for home in homes(self.accounts, {}, folder)}
        self.archive = Archive(self.store, folder / "archive", known, FakeClock())
        self.documents = Documents(self.store, self.locator, self.archive)

    def text(self, **style):
        return b"".join(self.documents.render(FOUND, Style(**style))).decode()

    def stored(self, body):
        with self.store.write():
            self.store.insert(
                "session_turns",
                provider_name="acc",
                session_id=SESSION,
                turn_id="t",
                timestamp=AT,
                role="user",
                ingested_at=AT,
                body=body,
            )


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path)
    yield made
    made.store.close()


def test_transcript_comes_first_then_the_kept_copy_then_the_stored_turns(bench):
    bench.stored('[{"type": "text", "text": "from the rows"}]')
    bench.transcript.write_bytes(entry("from the file"))
    ArchiveKeeper(bench.archive, 0).keep()
    assert "from the file" in bench.text()

    bench.transcript.unlink()
    assert "from the file" in (kept := bench.text())
    assert Origin.ARCHIVE.value in kept

    ArchiveKeeper(bench.archive, 1).prune(only_copies=True)
    assert "from the rows" in (stored := bench.text())
    assert Origin.STATE.value in stored


def test_session_that_is_nowhere_is_refused(bench):
    with pytest.raises(StorageUnsupported):
        bench.text()


@pytest.mark.parametrize("account", [{}, {"acc": Account("acc")}])
def test_account_that_is_not_configured_any_more_still_has_its_stored_turns(bench, account):
    bench.stored('[{"type": "text", "text": "from the rows"}]')
    documents = Documents(bench.store, Locator(account, {}, bench.transcript, bench.transcript, {}))

    assert b"from the rows" in b"".join(documents.render(FOUND))


@pytest.mark.parametrize("body", [None, "rubbish", "{}"])
def test_stored_turn_without_a_body_is_left_out(bench, body):
    bench.stored(body)

    assert "- **Messages:** 0" in bench.text()


@pytest.mark.parametrize("format", list(Format))
def test_secrets_are_out_unless_they_are_asked_for(bench, format):
    bench.transcript.write_bytes(entry("key sk-ant-api03-abcdefgh12345678 and AKIAABCDEFGHIJKLMNOP"))

    assert "2 redacted" in (shown := bench.text(format=format))
    assert "abcdefgh" not in shown
    assert "abcdefgh" in (bare := bench.text(format=format, redacting=False))
    assert "not redacted" in bare


def test_line_that_is_being_written_is_counted_and_not_shown(bench):
    bench.transcript.write_bytes(entry("whole") + entry("half")[:-20])

    shown = bench.text()

    assert "1 lines of the transcript (2)" in shown
    assert "half" not in shown


def test_preview_reads_no_further_than_it_shows(bench):
    bench.transcript.write_bytes(b"".join(entry(f"text {number}") for number in range(50)))

    preview = bench.documents.preview(FOUND, 3)

    assert ["text 0", "text 1", "text 2"] == [one.parts[0].text for one in preview.entries]
    assert (True, Origin.TRANSCRIPT, 0) == (preview.has_more, preview.origin, preview.secrets)
    assert not bench.documents.preview(FOUND, 50).has_more


def test_same_transcript_gives_the_same_bytes(bench):
    bench.transcript.write_bytes(entry("a") + entry("b", "assistant"))

    assert bench.text(wanted=EVERYTHING) == bench.text(wanted=EVERYTHING)


def test_long_transcript_is_rendered_with_flat_memory(bench, tmp_path):
    line = entry("x" * 20_000, "assistant")
    with bench.transcript.open("wb") as file:
        for _ in range(800):  # 16 MB, twice what a spool holds in memory
            file.write(line)
    program = f"""
        import sys
        sys.path.insert(0, {FIXTURES!r})
        from peak import peak_kb
        from datetime import UTC, datetime
        from oulipoly_engine.core.accounts.accounts import Account, StorageSpec, StorageType
        from oulipoly_engine.core.sessions.resolve import ResolvedSession
        from oulipoly_engine.service.reading.documents import Documents
        from oulipoly_engine.service.sessions.locate import Locator
        from oulipoly_engine.store.base.db import open_store
        from pathlib import Path
        here = Path({str(tmp_path)!r})
        finds = "claude-code-locate-transcript " + str(here / "projects")
        storage = StorageSpec("true", finds, StorageType.CLAUDE_CODE)
        locator = Locator({{"acc": Account("acc", storage=storage)}}, {{}}, here, here, {{}})
        found = ResolvedSession("c1", "m", "acc", {SESSION!r}, datetime.now(UTC))
        before = peak_kb()
        size = sum(map(len, Documents(open_store(here / "state.db"), locator).render(found)))
        print(size, (peak_kb() - before) // 1024)
    """

    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, check=True, text=True)

    size, grown_mb = map(int, done.stdout.split())
    assert size > 15_000_000
    assert grown_mb < 24
