import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.clock import to_text

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
OTHER = "9e69e8cc-616d-4640-bf1d-96f5391b1a2e"


class Found:
    """A world with two sessions of one Claude account, scanned."""

    def __init__(self, world):
        self.world = world
        self.root = world.home / ".claude" / "projects" / "-work"
        self.root.mkdir(parents=True)
        world.account("acc", "true")
        (world.config / "sessions.toml").write_text(f"[acc]\nturn_script = 'claude-code-turns {self.root.parent}'\n")
        self.write(SESSION, "find the needle", "token=abcdefghij0123456789 was in it\x1b[31m", hours_ago=2)
        self.write(OTHER, "something else", [{"type": "tool_result", "content": "row\n" * 50}], hours_ago=1)
        done = world.run("session-scan")
        assert 0 == done.returncode, done.stderr

    def write(self, session, *contents, hours_ago):
        at = datetime.now(UTC) - timedelta(hours=hours_ago, minutes=1)
        with (self.root / f"{session}.jsonl").open("w") as file:
            for number, content in enumerate(contents):
                record = {"type": ("user", "assistant")[number % 2], "uuid": f"{session[:4]}-{number}", "cwd": "/work"}
                record |= {"sessionId": session, "timestamp": to_text(at + timedelta(seconds=number))}
                file.write(json.dumps(record | {"message": {"content": content}}) + "\n")

    def run(self, *arguments, expects=0):
        done = self.world.run("session", *arguments)
        assert expects == done.returncode, done.stderr
        return (done.stderr if expects else done.stdout).decode()

    def json(self, *arguments):
        return json.loads(self.run(*arguments, "--json"))


@pytest.fixture
def found(world):
    return Found(world)


def test_list_shows_every_conversation_the_latest_used_first(found):
    head, first, second = found.run("list").splitlines()

    assert ["last", "used", "id", "account", "model", "turns", "workspace", "name"] == head.split()
    assert re.search(r"1 h \d+ m ago", first)  # a busy machine takes its minutes
    assert "something else" in first
    assert "find the needle" in second
    assert "/work" in second


def test_list_gives_scripts_the_same_as_json(found):
    document = found.json("list", "needle")
    (one,) = document["conversations"]

    assert (1, SESSION, "acc", "claude", "/work", 2, "available") == (
        document["total"],
        *(one[key] for key in ("session_id", "account", "cli", "workspace", "turns", "transcript_state")),
    )
    assert 29 < one["at_risk_in_days"] < 30.1
    assert [True] == [segment["is_active"] for segment in one["segments"]]


def test_questions_know_what_a_cli_wrote_since_the_last_scan(found):
    found.write("7" * 8 + OTHER[8:], "a brand-new thing", hours_ago=0)

    assert 2 == found.json("list", "--no-scan")["total"]
    assert "nothing was found" in found.run("search", "brand", "--no-scan")
    assert "a brand-new thing" in found.run("show", "77777777")
    found.write("8" * 8 + OTHER[8:], "one more thing", hours_ago=0)
    assert [4, 1] == [found.json("list")["total"], len(found.json("search", '"one more thing"')["hits"])]


@pytest.mark.parametrize(
    ("command", "query", "said"),
    [
        ("list", "account:acme needle", "no account fits 'acme': known are acc"),
        ("search", "account:acme needle", "no account fits 'acme': known are acc"),
        ("list", "cli:codex needle", "no cli fits 'codex': known are claude"),
        ("search", "cli:codex needle", "no cli fits 'codex': known are claude"),
        ("search", "role:bot needle", "no role fits 'bot': known are assistant, user"),
        ("list", "account:acc,acme nothing", "no account fits 'acme': known are acc"),
        ("search", "-account:acc needle", ""),
        ("search", "account:ac* nothing", ""),
    ],
)
def test_what_nobody_has_is_named_where_nothing_was_found(found, command, query, said):
    done = found.world.run("session", command, *query.split(), "--no-scan")

    assert (0, said) == (done.returncode, done.stderr.decode().strip())


def test_list_tells_how_many_more_there_are(found):
    assert "1 more: --all" in found.run("list", "--limit", "1")
    assert 3 == len(found.run("list", "--all").splitlines())


def test_list_warns_of_transcripts_that_are_deleted_soon_or_gone(found):
    old = time.time() - 27.5 * 86_400
    os.utime(found.root / f"{SESSION}.jsonl", (old, old))
    (found.root / f"{OTHER}.jsonl").unlink()
    shown = found.run("list")

    assert "deleted in 2 d, kept" in shown
    assert "transcript gone, a copy kept" in shown


def test_list_says_whether_a_copy_is_kept(found):
    assert [True] == [one["kept_copy"] for one in found.json("list", "needle")["conversations"]]


def test_search_marks_what_it_found(found):
    head, shown = found.run("search", "needle").splitlines()

    assert "    find the «needle»" == shown
    assert "acc" in head
    assert "/work" in head


def test_search_gives_scripts_places_of_marks(found):
    (hit,) = found.json("search", "needle")["hits"]

    assert [[9, 15]] == hit["marks"]
    assert (SESSION, "user", None, "5169-0") == (hit["session_id"], hit["role"], hit["score"], hit["turn_id"])


@pytest.mark.parametrize("arguments", [("-needle", "--limit", "9"), ("--", "-needle"), ("-needle else",)])
def test_words_to_leave_out_are_no_options(found, arguments):
    assert "something" in found.run("search", *arguments)


def test_new_turns_are_searched_without_a_command_of_their_own(found):
    found.write(SESSION, "find the needle", "answer", "a haystack now", hours_ago=2)
    found.world.run("session-scan")

    assert "«haystack»" in found.run("search", "haystack")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("search", "acount:x"), "did you mean account:"),
        (("search", "->"), "holds no word"),
        (("search", ""), "something to search for"),
        (("list", "date:soon"), "is not a date"),
        (("list", "--limit", "0"), "--limit must be 1 or more"),
        (("search", "x", "--limt", "3"), "did you mean --limit"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_plain_words(found, arguments, message):
    error = found.run(*arguments, expects=2)

    assert error.startswith("Error: ")
    assert message in error


def test_show_prints_head_and_turns_without_secrets_and_terminal_codes(found):
    shown = found.run("show", SESSION[:6])

    assert f"segment    {SESSION}  acc (claude), active, 2 turns" in shown
    assert "    find the needle\n" in shown
    assert "    token=[redacted] was in it[31m\n" in shown
    assert "abcdefghij" not in shown


def test_show_keeps_secrets_only_when_asked(found):
    assert "abcdefghij0123456789" in found.run("show", SESSION, "--raw")


def test_show_summarises_what_tools_gave(found):
    assert "[tool_result: 51 lines, 200 characters] row row" in found.run("show", OTHER)


def test_show_prints_as_many_turns_as_asked(found):
    last = found.run("show", SESSION, "--turns", "1")

    assert "… 1 earlier messages" in last
    assert "find the needle\n\n" not in last
    assert [1] == [entry["position"] for entry in found.json("show", SESSION, "--turns", "1")["shown_turns"]]
    assert 2 == len(found.json("show", SESSION, "--all")["shown_turns"])


def test_show_tells_scripts_the_tree(found):
    document = found.json("show", SESSION)
    tree = [(entry["turn_id"], entry["parent_id"], entry["kind"]) for entry in document["shown_turns"]]

    assert [("5169-0", None, "message"), ("5169-1", "5169-0", "message")] == tree
    assert ("5169-1", None) == (document["leaf"], document["shown_turns"][0]["live_turn_id"])


def test_show_of_an_unknown_id_tells_the_way_out(found):
    assert "session scan" in found.run("show", "ffff", expects=10)
    error = json.loads(found.run("show", "ffff", "--json", expects=10))
    assert "session-not-found" == error["error"]["code"]


def test_names_notes_and_pins_are_kept_and_taken_away(found):
    found.run("name", SESSION[:8], "The", "clock")
    found.run("note", SESSION[:8], "ask Ada first")
    assert "The clock  pinned  note: ask Ada first" in found.run("pin", SESSION[:8])
    (first, _) = found.json("list")["conversations"]
    assert ("The clock", "ask Ada first", True) == (first["name"], first["note"], first["pinned"])
    assert 1 == found.json("list", "is:pinned")["total"]
    assert SESSION != found.json("tree")["session_id"]  # the one that was used last
    found.run("unpin", SESSION)
    found.run("note", SESSION, "")

    assert ("The clock", None, False) == tuple(
        found.json("list", "clock")["conversations"][0][key] for key in ("name", "note", "pinned")
    )


def test_before_anything_is_stored_the_way_in_is_told(world):
    world.account("acc", "cat")
    assert b"session scan" in world.run("session", "list").stdout
    assert b"no session is known yet" in world.run("session", "search", "x").stdout
    assert b"no session is known yet" in world.run("session", "tree").stderr
    assert 10 == world.run("session", "show", "abcd").returncode
    assert not world.data.exists()


def test_broken_configuration_hides_no_conversation(found):
    (found.world.config / "providers.toml").write_text("[acc\n")

    assert 2 == found.json("list")["total"]


def test_a_terminal_gets_a_pager_and_a_table_of_its_width(found, world):
    code = (
        "import fcntl, termios, struct, sys; fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 60, 0, 0));"
        "from oulipoly_engine.cli.main import main; main(['session', 'list']); main(['session', 'show', sys.argv[1]])"
    )
    master, slave = pty.openpty()
    env = dict(os.environ) | {"PAGER": "sed s/^/PAGED:/"}
    child = subprocess.Popen([sys.executable, "-c", code, SESSION], stdin=slave, stdout=slave, stderr=slave, env=env)
    os.close(slave)
    seen = b""
    while select.select([master], [], [], 20)[0]:
        try:
            seen += os.read(master, 4096)
        except OSError:
            break
    os.close(master)

    assert 0 == child.wait()
    lines = seen.decode().splitlines()
    assert all(len(line) <= 60 for line in lines if "ago" in line)
    assert any(line.startswith("PAGED:find the needle") for line in lines)
