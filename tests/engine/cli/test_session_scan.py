import json

import pytest

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.sessions import scan as scan_command
from oulipoly_engine.errors import AccountUnusable


@pytest.fixture
def scan(home, capfdbinary):
    """Run the command over a sessions.toml; gives exit code, stdout and stderr."""

    def run(sessions, *arguments):
        folder = home / ".config" / "oulipoly-agent-runner"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "sessions.toml").write_text(sessions)
        code = scan_command.run(Context(), "session-scan", list(arguments))
        return code, *capfdbinary.readouterr()

    return run


LINE = '{"session_id": "S", "turn_id": "%s", "timestamp": "2026-04-17T08:00:00Z", "role": "assistant"}'
GOOD = f"""[a]
turn_script = '''echo '{LINE % 1}'; echo '{LINE % 2}'; echo oops'''
"""
BAD = """[b]
turn_script = "exit 7"
"""


def test_counts_are_shown_for_every_account(scan):
    code, out, err = scan(GOOD)

    assert (0, b"") == (code, err)
    assert b"a: 3 script lines, 2 new turns, 1 new sessions, 1 errors" in out
    assert b"  ! line 3: the line is not JSON: 'oops'\n" in out
    assert b"  2 turns in all, 2 assistant turns since the first" in out


def test_failing_script_is_told_and_makes_the_command_fail(scan):
    code, out, _ = scan(GOOD + BAD)

    assert 1 == code
    assert b"b: FAILED\n  ! the turn script `exit 7` failed with exit 7" in out
    assert b"a: 3 script lines" in out


def test_json_holds_the_same(scan):
    _, out, _ = scan(GOOD + BAD, "--json", "a")
    (found,) = json.loads(out)["accounts"]

    assert ("a", "done", 3, 2, 1, 2, 2) == tuple(
        found[key]
        for key in ("account", "kind", "script_lines", "new_turns", "error_count", "all_turns", "turns_since_refresh")
    )
    assert [{"line": 3, "text": "the line is not JSON: 'oops'"}] == found["errors"]


def test_unknown_account_is_refused_by_name(scan):
    with pytest.raises(AccountUnusable, match="'nobody'; it has: a"):
        scan(GOOD, "nobody")


def test_without_turn_scripts_the_way_out_is_named(scan):
    code, out, _ = scan("")

    assert 0 == code
    assert b"sessions.toml" in out
