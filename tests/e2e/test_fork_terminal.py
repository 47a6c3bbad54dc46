"""`repl --resume ID --fork`: a new session with an old one's past, in a real terminal with the demo's CLI."""

import os
import sqlite3
from contextlib import closing

import pexpect
import pytest

from oulipoly_demo import world
from oulipoly_demo.world import Options

READY = "╰─+╯"


@pytest.fixture
def demo(tmp_path):
    return world.build(tmp_path / "w", options=Options(pace_s=0, seeded=False))


@pytest.fixture
def talk(demo, commands):
    """Start a command in a terminal, say one thing to it, leave, and return all that it has shown."""

    def talk(*arguments, text, answer):
        env = world.environment_for(demo, os.environ) | {"TERM": "xterm-256color", "NO_COLOR": "1"}
        cli = commands.show(arguments, env, demo.project)
        try:
            cli.expect(READY)
            cli.send(f"{text}\r")
            cli.expect(answer)
            cli.expect(READY)
            cli.send("/exit\r")
            cli.expect(pexpect.EOF)
        finally:
            cli.close(force=True)

    return talk


def rows(demo, query):
    path = demo.home / ".local" / "share" / "oulipoly-agent-runner" / "state.db"
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def test_a_fork_is_a_chain_of_its_own_and_leaves_the_old_one_as_it_is(demo, talk):
    talk("repl", "demo-opus", text="the word is turtle", answer="You said: the word is turtle")
    [(old, account)] = rows(demo, "SELECT session_id, provider_name FROM invocations")
    before = rows(demo, f"SELECT COUNT(*) FROM session_turns WHERE session_id = '{old}'")

    talk("repl", "--resume", old[:8], "--fork", text="and another", answer="You said: and another")

    [(new, on, way)] = rows(
        demo, "SELECT session_id, provider_name, session_capture_method FROM invocations ORDER BY rowid DESC LIMIT 1"
    )
    owners = rows(demo, "SELECT session_id, chain_id FROM session_chain_segments")
    assert new not in (None, old)
    assert (account, "resumed") != (on, way)
    assert {old, new} == {session for session, _ in owners}
    assert 2 == len({chain for _, chain in owners})
    assert before == rows(demo, f"SELECT COUNT(*) FROM session_turns WHERE session_id = '{old}'")
