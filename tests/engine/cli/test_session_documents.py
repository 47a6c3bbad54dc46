"""Export for people, bundles and the archive as a user meets them: exit code, stdout, stderr."""

import json
import shlex
from datetime import UTC, datetime

import pytest

from oulipoly_engine.cli.main import main
from oulipoly_engine.clock import to_text
from oulipoly_engine.facade import output
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.sessions import chains

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
SECRET = "sk-ant-api03-abcdefgh12345678"


class Sessions:
    """A world with one Claude session, found by the bundled scripts."""

    def __init__(self, world):
        self.world = world
        self.root = world.home / ".claude1" / "projects"
        self.transcript = self.root / "-work" / f"{SESSION}.jsonl"
        self.transcript.parent.mkdir(parents=True)
        record = {"sessionId": SESSION, "type": "user", "uuid": "u", "timestamp": "2026-04-17T08:00:00Z"}
        record |= {"cwd": str(world.home), "message": {"content": f"hello <b> {SECRET}"}}
        self.transcript.write_text(json.dumps(record) + "\n")
        root = shlex.quote(str(self.root))
        block = {
            "kind": "script",
            "cwd_script": f"claude-code-cwd {root}",
            "transcript_script": f"claude-code-locate-transcript {root}",
            "storage_type": "claude_code",
        }
        lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in block.items())
        world.account("acc", "true", f"[acc.session_storage]\n{lines}")
        (world.config / "sessions.toml").write_text(f"[acc]\nturn_script = 'claude-code-turns {self.root}'\n")
        store = open_store(world.data / "state.db")
        now = to_text(datetime.now(UTC))
        with store.write():
            chains.insert(store, "acc", SESSION, "m", started_at=now, last_used_at=now, reason="initial")
        store.close()

    def run(self, *arguments, **more):
        return self.world.run("session", *arguments, **more)

    def refused(self, *arguments, **more):
        done = self.run(*arguments, **more)
        assert b"" == done.stdout
        return done.returncode, json.loads(done.stderr)["error"]["code"]


@pytest.fixture
def sessions(world):
    return Sessions(world)


@pytest.mark.parametrize(("format", "mark"), [("markdown", b"# Conversation 5169694d"), ("html", b"<!doctype html>")])
def test_document_is_printed_without_secrets(sessions, format, mark):
    done = sessions.run("export", SESSION[:8], "--format", format)

    assert (0, b"", True) == (done.returncode, done.stderr, done.stdout.startswith(mark))
    assert SECRET.encode() not in done.stdout
    assert SECRET.encode() in sessions.run("export", SESSION, "--format", format, "--no-redact", "--with", "all").stdout


@pytest.mark.parametrize("format", ["canonical-jsonl", "markdown"])
def test_file_is_written_whole_and_never_over_another(sessions, format):
    target = sessions.world.home / "it.out"
    printed = sessions.run("export", SESSION, "--format", format).stdout
    words = ("export", SESSION, "--format", format, "--output", target)

    assert (0, b"") == ((done := sessions.run(*words)).returncode, done.stdout)
    assert printed == target.read_bytes()
    target.write_text("mine")
    assert (2, "file-exists") == sessions.refused(*words)
    assert "mine" == target.read_text()
    assert 0 == sessions.run(*words, "--force").returncode
    assert printed == target.read_bytes()


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (("--format", "pdf"), (2, "invalid-format")),
        (("--with", "all"), (2, "invalid-argument")),
        (("--format", "html", "--with", "much"), (2, "invalid-argument")),
        (("--no-redact",), (2, "invalid-argument")),
        (("--format", "html", "--force"), (2, "invalid-argument")),
        (("--format", "html", "--output", "/nowhere/x"), (1, "operational-error")),
    ],
)
def test_wishes_that_do_not_go_together_are_refused(sessions, words, refusal):
    assert refusal == sessions.refused("export", SESSION, *words)


def test_bundle_through_a_pipe_is_unpacked_again(sessions):
    bundle = sessions.run("bundle", SESSION).stdout
    content = sessions.transcript.read_bytes()
    sessions.transcript.unlink()

    dry = sessions.run("unbundle", "--dry-run", stdin=bundle, cwd=sessions.world.home)
    done = sessions.run("unbundle", "-", "--cwd", sessions.world.home, stdin=bundle)

    assert (0, b"", 0, b"") == (dry.returncode, dry.stderr, done.returncode, done.stderr)
    placed = json.loads(done.stdout)["segments"][0]["files"][0]
    assert ("written", content) == (placed["state"], (sessions.world.home / placed["path"]).read_bytes())
    assert "would-be-written" == json.loads(dry.stdout)["segments"][0]["files"][0]["state"]
    assert placed["path"] == json.loads(sessions.run("locate", SESSION).stdout)["jsonl_path"]


def test_bundle_into_a_file_gives_a_receipt(sessions):
    target = sessions.world.home / "it.bundle"

    receipt = json.loads(sessions.run("bundle", SESSION, "--output", target).stdout)

    assert (str(target), target.stat().st_size, 1, []) == (
        receipt["path"],
        receipt["size_bytes"],
        receipt["files"],
        receipt["missing"],
    )
    assert 0o600 == target.stat().st_mode & 0o777


def test_a_person_reads_what_bundle_and_unbundle_did_and_asks_for_json(sessions, capfd, monkeypatch):
    target = sessions.world.home / "it.bundle"
    monkeypatch.setattr(output, "is_terminal", lambda: True)

    assert 0 == main(["session", "bundle", SESSION, "--output", str(target)])
    assert capfd.readouterr().out.startswith(f"session {SESSION} is in {target}: ")
    assert 0 == main(["session", "unbundle", str(target), "--dry-run"])
    assert capfd.readouterr().out.startswith(f"session {SESSION} would go on on ")
    assert 0 == main(["session", "unbundle", str(target), "--dry-run", "--json"])
    assert SESSION == json.loads(capfd.readouterr().out)["session_id"]
    assert 15 == main(["session", "unbundle", str(sessions.transcript)])
    assert capfd.readouterr().err.startswith("Error: ")


@pytest.mark.parametrize("stdin", [b"", b"no bundle"])
def test_rubbish_is_no_bundle(sessions, stdin):
    assert (15, "invalid-bundle") == sessions.refused("unbundle", stdin=stdin)


def test_scan_keeps_what_it_found_and_restore_brings_it_back(sessions):
    assert 0 == sessions.world.run("session-scan").returncode
    content = sessions.transcript.read_bytes()
    sessions.transcript.unlink()

    listed = json.loads(sessions.run("archive", "--list", "--json").stdout)
    restored = sessions.run("archive", "--restore", SESSION[:8])

    assert ["only-copy"] == [one["state"] for one in listed["transcripts"]]
    assert (0, content) == (restored.returncode, sessions.transcript.read_bytes())


def test_archive_can_be_turned_off_and_used_by_hand(sessions):
    (sessions.world.config / "config.toml").write_text("archive = false\n")
    sessions.world.run("session-scan")
    assert [] == json.loads(sessions.run("archive", "--list", "--json").stdout)["transcripts"]

    done = sessions.run("archive")

    assert (0, b"") == (done.returncode, done.stderr)
    assert done.stdout.startswith(b"1 of 1 files kept anew")


def test_what_is_at_risk_is_listed_with_its_day(sessions):
    listed = json.loads(sessions.run("archive", "--at-risk", "--within", "31", "--json").stdout)

    assert [(SESSION, "not-kept")] == [(one["session_id"], one["state"]) for one in listed["transcripts"]]
    assert b"1 transcripts may be deleted" in sessions.run("archive", "--at-risk", "--within", "31").stdout
    assert b"0 transcripts" in sessions.run("archive", "--at-risk").stdout


def test_prune_says_when_it_gives_up_an_only_copy(sessions):
    sessions.run("archive")
    sessions.transcript.unlink()
    (sessions.world.config / "config.toml").write_text("archive_limit_mb = 1\n")
    assert b"0 copies given up" in sessions.run("archive", "--prune").stdout


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (("--to", "/x"), (2, "invalid-argument")),
        (("--only-copies",), (2, "invalid-argument")),
        (("--list", "--prune"), (2, "invalid-argument")),
        (("--restore", "9e69e8cc-616d-4640-bf1d-96f5391b1a2e"), (10, "session-not-found")),
        (("--at-risk", "--within", "nan"), (2, "invalid-argument")),
    ],
)
def test_archive_refuses_what_it_cannot_do(sessions, words, refusal):
    assert refusal == sessions.refused("archive", *words)
