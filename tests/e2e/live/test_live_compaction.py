"""A session whose CLI cannot compact is compacted by a model: what goes, who waits, and how it is undone."""

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from oulipoly_engine.cli.main import main
from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.events import Notice
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.facade.sessions.branches import to_json
from oulipoly_engine.facade.sessions.values import ExportOptions
from oulipoly_engine.host.link import HostUnreachable
from oulipoly_engine.records import replace
from oulipoly_engine.service.live import hosts
from oulipoly_engine.service.live.forks import ContextSize, guess_context
from oulipoly_engine.web.access.gate import Serving
from oulipoly_engine.web.app import make_app

THINGS = ("one", "two", "three", "four", "five")


@pytest.fixture
def echo(live):
    """A session of a CLI that only reads lines, in which five things were said."""
    live.sums_up("They spoke of one, two and three.")
    runtime = live.echoes()
    session, turn = live.begin_turn("the thing one", runtime=runtime)
    live.live.wait(session, turn)
    for thing in THINGS[1:]:
        live.live.send(session, f"the thing {thing}", waits=True)
    return session


def write(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def heard(live):
    return live.log.read_text().splitlines()


def home_file(name):
    return Path(os.environ["HOME"]) / name


def said_to_next_process(live, session, text):
    """Send a message; return the line that the session's CLI has got with it."""
    live.live.send(session, text, waits=True)
    return heard(live)[-1]


def things_in(line):
    return [thing for thing in THINGS if f"the thing {thing} " in line]


def test_a_model_sums_up_and_the_next_process_goes_on_with_that(live, echo):
    plan = live.live.plan_compaction(echo)
    done = live.live.order(echo, orders.Compact(), starts=True)
    line = said_to_next_process(live, echo, "the next thing")
    tree = live.engine.sessions.branches.tree(echo)
    (entry,) = [each for each in tree.entries if each.kind == "compaction"]

    assert (6, 4) == (len(plan.hidden), len(plan.kept))
    assert (6, entry.entry_id) == (done["entries"], done["entry_id"])
    assert ("They spoke of one, two and three." in line, ["four", "five"]) == (True, things_in(line))
    assert line.endswith("the next thing")
    assert {"the thing one", "the thing five", "the next thing"} <= {each.preview for each in tree.entries}
    asked = home_file("asked").read_text()
    assert (True, False) == ("user 1: the thing one" in asked, "the thing four" in asked)
    file = live.engine.sessions.files.export(echo, ExportOptions("session-v3"), live.root / "out").path
    lines = {line["id"]: line for line in map(json.loads, file.read_text().splitlines())}
    (compaction,) = [line for line in lines.values() if line["type"] == "compaction"]
    assert "the thing four" in str(lines[compaction["firstKeptEntryId"]])
    assert ["--tools", ""] == home_file("words").read_text().splitlines()[:2]  # it can do nothing but answer


def test_a_compaction_is_undone_by_going_back_before_it_and_again(live, echo):
    done = live.live.order(echo, orders.Compact(), starts=True)
    undo = done["message"].partition("agents session branch ")[2].split("`")[0].split()
    live.engine.sessions.branches.branch(*undo)
    said = said_to_next_process(live, echo, "without it")
    live.engine.sessions.branches.branch(echo, done["entry_id"])

    assert ([*THINGS], False) == (things_in(said), "They spoke of" in said)
    assert ["four", "five"] == things_in(said_to_next_process(live, echo, "and with it"))


def test_another_name_changes_nothing_that_is_sent(live, echo):
    tree = live.engine.sessions.branches.tree(echo)
    live.engine.sessions.branches.branch(echo, tree.entry_ids[3])
    live.engine.sessions.notes.rename(echo, "a walk")
    assert ["one", "two"] == things_in(said_to_next_process(live, echo, "back there"))

    live.engine.sessions.branches.branch(echo, tree.leaf)
    live.live.order(echo, orders.Compact(), starts=True)
    live.engine.sessions.notes.rename(echo, "a long walk")
    line = said_to_next_process(live, echo, "and on")
    assert (True, ["four", "five"]) == ("They spoke of" in line, things_in(line))


def test_a_second_compaction_goes_on_with_the_first_summary(live, echo):
    live.live.order(echo, orders.Compact(), starts=True)
    for thing in ("six", "seven", "eight"):
        live.live.send(echo, f"the thing {thing}", waits=True)
    live.live.order(echo, orders.Compact(), starts=True)

    asked = home_file("asked").read_text()
    assert (True, False) == ("<summary>\nThey spoke of one, two and three." in asked, "the thing one" in asked)
    assert [] == things_in(said_to_next_process(live, echo, "the next thing"))


def test_messages_wait_for_the_summary_and_run_behind_it(live, echo):
    os.mkfifo(home_file("answer"))
    thread = threading.Thread(target=live.live.order, args=(echo, orders.Compact()), kwargs={"starts": True})
    thread.start()
    live.until(echo, lambda event: isinstance(event, Notice) and event.code == "compacting")
    other = live.open_engine().live
    sent = other.send(echo, "a message meanwhile")
    with pytest.raises(RunnerError, match="a turn runs"):
        live.engine.sessions.branches.branch(echo, "")
    home_file("answer").write_text("a short summary")
    thread.join()

    assert ("queued", "completed") == (sent.status, other.wait(echo, sent.turn_id).status)
    assert "a short summary" in heard(live)[-1]
    assert heard(live)[-1].endswith("a message meanwhile")


@pytest.mark.parametrize("end", ["fails", "interrupted"])
def test_without_a_summary_all_stays_and_what_waits_goes_on(live, echo, end):
    before = live.engine.sessions.branches.tree(echo)
    os.mkfifo(home_file("answer"))
    failures = []

    def compact():
        try:
            live.live.order(echo, orders.Compact(), starts=True)
        except RunnerError as error:
            failures.append(error.message)

    thread = threading.Thread(target=compact)
    thread.start()
    live.until(echo, lambda event: isinstance(event, Notice) and event.code == "compacting")
    host = live.host_of(echo)
    sent = live.live.send(echo, "a message meanwhile")
    if end == "interrupted":
        live.live.order(echo, orders.Interrupt(), starts=False)
    home_file("answer").write_text("" if end == "fails" else "too late")
    thread.join()
    live.live.wait(echo, sent.turn_id)

    assert "nothing was compacted" in failures[0] or "answered nothing" in failures[0]
    assert ("a message meanwhile", host) == (heard(live)[-1], live.host_of(echo))
    assert before.entry_ids == live.engine.sessions.branches.tree(echo).entry_ids[: len(before.entry_ids)]


def test_whoever_is_killed_while_a_model_sums_up_has_changed_nothing(live, echo, tmp_path):
    before = live.engine.sessions.branches.tree(echo)
    os.mkfifo(home_file("answer"))
    command = [sys.executable, "-m", "oulipoly_tui", "session", "compact", echo]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    live.until(echo, lambda event: isinstance(event, Notice) and event.code == "compacting")
    waiting = live.live.send(echo, "a message meanwhile")
    process.kill()
    process.wait()

    assert "completed" == live.live.wait(echo, waiting.turn_id).status
    assert "a message meanwhile" == heard(live)[-1]
    home_file("answer").unlink()
    live.live.order(echo, orders.Compact(), starts=True)
    assert before.entry_ids == live.engine.sessions.branches.tree(echo).entry_ids[: len(before.entry_ids)]


def test_a_host_that_is_killed_meanwhile_has_changed_nothing(live, echo):
    before = to_json(live.engine.sessions.branches.tree(echo))
    os.mkfifo(home_file("answer"))
    failures = []

    def compact():
        try:
            live.live.order(echo, orders.Compact(), starts=True)
        except RunnerError as error:
            failures.append(error.message)

    thread = threading.Thread(target=compact)
    thread.start()
    live.until(echo, lambda event: isinstance(event, Notice) and event.code == "compacting")
    live.kill(live.host_of(echo).pid)
    live.until_closed(echo)
    home_file("answer").write_text("too late")
    thread.join()

    assert "nothing was compacted: the session's process has ended" in failures[0]
    assert before == to_json(live.engine.sessions.branches.tree(echo))
    assert [*THINGS] == things_in(said_to_next_process(live, echo, "and on"))


def test_after_a_failure_nobody_compacts_unasked(live, echo):
    settings = live.demo.config / "config.toml"
    settings.write_text(f"compaction_window = 50\n{settings.read_text()}")
    live.live.order(echo, orders.Close(), starts=False)
    live.until_closed(echo)
    live.live.send(echo, "the thing six", waits=True)
    home_file("answer").write_text("")

    for text in ("seven", "eight"):
        assert "completed" == live.live.send(echo, text, waits=True).status
    codes = [numbered.event.code for numbered in live.live.events(echo) if isinstance(numbered.event, Notice)]
    assert 1 == codes.count("compaction_failed")
    assert "paused" == live.live.find(echo).opening.compaction


def test_a_full_context_is_told_and_compacted_before_the_next_message(live, echo):
    settings = live.demo.config / "config.toml"
    settings.write_text(f"compaction_window = 50\n{settings.read_text()}")
    live.live.order(echo, orders.Close(), starts=False)
    live.until_closed(echo)
    live.live.send(echo, "the thing six", waits=True)
    notices = [numbered.event.text for numbered in live.live.events(echo) if isinstance(numbered.event, Notice)]
    line = said_to_next_process(live, echo, "the thing seven")

    assert "of the context is used: it is compacted before the next message" in notices[-1]
    assert ("They spoke of" in line, ["five"]) == (True, things_in(line))


def test_what_is_compacted_by_itself_follows_the_settings_of_the_sessions_project(live, echo):
    folder = Path(live.live.find(echo).workspace) / ".agent-runner"
    folder.mkdir()
    (folder / "settings.toml").write_text('compaction_instructions = "Name the walrus."\n')
    live.engine.configuration.trust(live.engine.configuration.project(folder.parent))
    fill(live, echo)
    live.live.send(echo, "the thing six", waits=True)
    live.live.send(echo, "the thing seven", waits=True)

    assert "Name the walrus." in home_file("asked").read_text()


def fill(live, session, window=50):
    settings = live.demo.config / "config.toml"
    settings.write_text(f"compaction_window = {window}\n{settings.read_text()}")
    live.live.order(session, orders.Close(), starts=False)
    live.until_closed(session)


def codes(live, session):
    return [numbered.event.code for numbered in live.live.events(session) if isinstance(numbered.event, Notice)]


def test_a_context_that_fills_up_while_messages_wait_is_compacted_before_the_next(live, echo):
    fill(live, echo)
    first = live.live.send(echo, "the thing six")
    sent = [live.live.send(echo, f"the thing {thing}") for thing in ("seven", "eight", "nine")]
    for message in (first, *sent):
        assert "completed" == live.live.wait(echo, message.turn_id).status

    places = [codes(live, echo).index(code) for code in ("compaction_due", "compacting")]
    lines = [line for line in heard(live) if line.endswith(("six", "seven", "eight", "nine"))]
    assert places == sorted(places)
    assert ["six", "seven", "eight", "nine"] == [line.rpartition(" ")[2] for line in lines]
    assert ["They spoke of" in line for line in lines][:2] == [False, True]


def test_a_wait_that_begins_between_two_processes_goes_on_with_the_next(live, echo, monkeypatch):
    sent = send_while_it_is_compacted(live, echo)
    reach = hosts.reach

    def miss_once(*given):
        monkeypatch.setattr(hosts, "reach", reach)
        home_file("answer").write_text("a short summary")
        raise HostUnreachable("nobody listens")

    monkeypatch.setattr(hosts, "reach", miss_once)

    assert "completed" == live.live.wait(echo, sent.turn_id).status


def test_whoever_sends_by_rest_waits_for_no_compaction(live, echo):
    fill(live, echo)
    live.live.send(echo, "the thing six", waits=True)
    os.mkfifo(home_file("answer"))
    token = live.engine.web.redeem(live.engine.web.make_code("a test", ("view", "operate")).code, "", "here").token
    app = make_app(live.engine, Serving(port=8787))
    client = TestClient(app, "http://localhost:8787", headers={"authorization": f"Bearer {token}"})
    answer = client.post(f"/sessions/{echo}/queue", json={"content": "the thing seven"})

    assert "queued" == answer.json()["status"]
    live.until(echo, lambda event: isinstance(event, Notice) and event.code == "compacting")
    home_file("answer").write_text("a short summary")
    assert "completed" == live.live.wait(echo, answer.json()["turn_id"]).status
    assert ("a short summary" in heard(live)[-1], ["five"]) == (True, things_in(heard(live)[-1]))


def send_while_it_is_compacted(live, session):
    """Send a message that waits for a compaction, whose model does not answer; return it."""
    fill(live, session)
    live.live.send(session, "the thing six", waits=True)
    os.mkfifo(home_file("answer"))
    sent = live.live.send(session, "the thing seven")
    live.until(session, lambda event: isinstance(event, Notice) and event.code == "compacting")
    return sent


def test_an_interrupted_automatic_compaction_lets_the_message_through(live, echo):
    sent = send_while_it_is_compacted(live, echo)
    live.live.order(echo, orders.Interrupt(), starts=False)

    assert "completed" == live.live.wait(echo, sent.turn_id).status
    assert (1, "idle") == (codes(live, echo).count("compaction_aborted"), live.live.find(echo).opening.compaction)
    home_file("answer").write_text("too late")


def test_a_killed_compactor_lets_the_message_through(live, echo):
    sent = send_while_it_is_compacted(live, echo)
    (worker,) = [pid for pid, words in live.processes().items() if "session_worker" in words]
    live.kill(worker)

    assert "completed" == live.live.wait(echo, sent.turn_id).status
    assert "compaction_aborted" in codes(live, echo)
    assert "the thing seven" == heard(live)[-1]
    with suppress(OSError):  # nobody reads it any more
        os.close(os.open(home_file("answer"), os.O_WRONLY | os.O_NONBLOCK))


def test_only_what_was_said_since_is_read_to_guess_the_length_of_a_context(live, echo):
    with live.live._home.lend_store() as store:
        before = guess_context(store, live.live.find(echo), ContextSize())
        live.live.send(echo, "the thing six", waits=True)
        after = guess_context(store, live.live.find(echo), ContextSize())

        assert after == guess_context(store, live.live.find(echo), before)
        assert after.tokens > before.tokens > 0
        assert guess_context(store, live.live.find(echo), replace(before, tokens=10**6)).tokens > 10**6


def test_where_nobody_can_compact_the_message_goes_as_it_is(live, echo):
    fill(live, echo)
    live.live.send(echo, "the thing six", waits=True)
    settings = live.demo.config / "config.toml"
    settings.write_text(settings.read_text().replace("compaction_model = 'short'\n", ""))

    assert "completed" == live.live.send(echo, "the thing seven", waits=True).status
    assert "compaction_failed" in codes(live, echo)
    assert "paused" == live.live.find(echo).opening.compaction


def test_the_command_tells_what_it_would_hide(live, echo, capfdbinary):
    assert 0 == main(["session", "compact", echo, "--preview", "--json"])
    document = json.loads(capfdbinary.readouterr().out)
    assert ("the thing one", 6, 4, 1) == (
        document["hidden"][0]["preview"], len(document["hidden"]), document["kept"], document["runs"]
    )  # fmt: skip
    assert 0 == main(["session", "compact", echo])
    assert b"undoes it" in capfdbinary.readouterr().out
    assert 0 != main(["session", "compact", echo, "--preview"])
    assert b"there is nothing to compact" in capfdbinary.readouterr().err


def pi_file(*entries):
    """Return a session file as pi writes it, its entries behind each other. entries: id, type, the rest."""
    at = "2026-11-01T10:00:00.000Z"
    lines = [{"type": "session", "version": 3, "id": "s-1", "timestamp": at, "cwd": "/gone"}]
    for entry_id, kind, rest in entries:
        lines.append({"type": kind, "id": entry_id, "parentId": lines[-1]["id"] if lines[1:] else None} | rest)
        lines[-1]["timestamp"] = at
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def said_by_user(text):
    return {"message": {"role": "user", "content": text}}


IMPORTED = pi_file(
    ("a", "message", said_by_user("the thing one ")),
    ("b", "message", said_by_user("the thing two ")),
    ("c", "compaction", {"summary": "there was one", "firstKeptEntryId": "b", "tokensBefore": 7}),
    ("d", "message", said_by_user("the thing three ")),
)


def test_an_imported_session_goes_on_as_a_fork_with_what_its_compaction_left(live, echo, agents, tmp_path):
    file = write(tmp_path / "there.jsonl", IMPORTED)
    chain_id = live.engine.sessions.files.import_file(file).chain_id
    refused = agents("session", "send", chain_id, "hello")
    done = agents("session", "fork", chain_id, "--to", "echoes", "--json", cwd=live.demo.project)
    fork = json.loads(done.stdout)["session_id"]
    line = said_to_next_process(live, fork, "the next thing")

    assert f"agents session fork {chain_id} --to RUNTIME".encode() in refused.stderr
    assert (True, ["two", "three"]) == ("there was one" in line, things_in(line))
    assert str(live.demo.project) == live.live.find(fork).workspace
    assert ["d"] == [live.engine.sessions.branches.tree(chain_id).leaf]  # it stays as it was
    with pytest.raises(RunnerError, match="the folder of this session is not there"):
        live.live.fork(chain_id, runtime="echoes")
