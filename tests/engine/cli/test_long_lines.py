"""A line of a transcript that is longer than the limit: a damaged line with its place, which nobody holds in memory."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
LONG = 60 << 20  # bytes
# Runs our command and writes into a file how many MB its process took at most.
_MEASURED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv.pop(1))
peak = Path(sys.argv.pop(1))
from peak import peak_kb
from oulipoly_tui.__main__ import main
try:
    code = main()
finally:
    peak.write_text(str(peak_kb() // 1024))
sys.exit(code)
"""


class Transcript:
    """A session whose second line is long, in a world where 1 MB is allowed."""

    def __init__(self, world):
        self.world = world
        root = world.home / ".a" / "projects"
        self.path = root / "-work" / f"{SESSION}.jsonl"
        self.path.parent.mkdir(parents=True)
        self.path.write_bytes(self.line("first"))
        self.begin = self.path.stat().st_size
        calls = {"cwd_script": "claude-code-cwd", "transcript_script": "claude-code-locate-transcript"}
        lines = "".join(f"{key} = {json.dumps(f'{call} {root}')}\n" for key, call in calls.items())
        world.account("a", "true", f"[a.session_storage]\nkind = 'script'\nstorage_type = 'claude_code'\n{lines}")
        (world.config / "sessions.toml").write_text(f"[a]\nturn_script = 'claude-code-turns {root}'\n")
        (world.config / "config.toml").write_text("transcript_line_limit_mb = 1\n")

    def line(self, text):
        record = {"sessionId": SESSION, "type": "user", "uuid": text[:5], "timestamp": "2026-04-17T08:00:00Z"}
        record |= {"cwd": str(self.world.home), "message": {"content": text}}
        return json.dumps(record).encode() + b"\n"

    def lengthen(self):
        with self.path.open("ab") as file:
            file.writelines([self.line("x" * LONG), self.line("last")])

    def run(self, *arguments, stdin=b""):
        """Run a command and return it with the peak of its memory in MB."""
        peak = self.world.home / "peak"
        done = subprocess.run(
            [sys.executable, "-c", _MEASURED, FIXTURES, peak, *arguments],
            input=stdin,
            capture_output=True,
            cwd=self.world.home,
            timeout=60,
            check=False,
        )
        return done, int(peak.read_text())


@pytest.fixture
def transcript(world):
    return Transcript(world)


def test_every_reader_passes_over_a_long_line_with_flat_memory_and_says_where_it_is(transcript):
    transcript.run("session-scan")
    canonical, _ = transcript.run("session", "export", SESSION)
    transcript.lengthen()
    scan, scanned = transcript.run("session-scan", "--json")
    peaks = [scanned]
    found = {}
    for name, arguments in {
        "canonical": ("session", "export", SESSION),
        "markdown": ("session", "export", SESSION, "--format", "markdown"),
        "replace": ("session", "import-replace", SESSION),
        "report": ("report",),
        "archive": ("session", "archive"),
        "bundle": ("session", "bundle", SESSION, "--output", "it.bundle"),
    }.items():
        found[name], peak = transcript.run(*arguments, stdin=canonical.stdout)
        peaks.append(peak)

    place = f"{transcript.path}:2: longer than {1 << 20} bytes (from byte {transcript.begin} on)"
    (account,) = json.loads(scan.stdout)["accounts"]
    assert (1, 1, [f"{place}, left out"]) == (account["new_turns"], account["damaged_lines"], account["notes"])
    assert place in found["report"].stderr.decode()
    refused = json.loads(found["canonical"].stderr)["error"]
    assert (15, 2) == (found["canonical"].returncode, refused["line"])
    assert f"from byte {transcript.begin} on it has" in refused["message"]
    assert "transcript_line_limit_mb of config.toml" in refused["message"]
    assert b"1 lines of the transcript (2)" in found["markdown"].stdout
    assert (15, 2) == (found["replace"].returncode, json.loads(found["replace"].stderr)["error"]["line"])
    assert [0, 0] == [found[name].returncode for name in ("archive", "bundle")]
    assert max(peaks) < 90


def test_long_line_that_is_given_is_refused_before_it_is_held(transcript):
    transcript.run("session-scan")
    canonical, _ = transcript.run("session", "export", SESSION)
    given = transcript.world.home / "given.jsonl"
    given.write_bytes(canonical.stdout + b"x" * LONG + b"\n")
    before = transcript.path.read_bytes()

    done, peak = transcript.run("session", "import-replace", SESSION, "--from-file", str(given))

    assert (15, 2) == (done.returncode, json.loads(done.stderr)["error"]["line"])
    assert (before, True) == (transcript.path.read_bytes(), peak < 90)
