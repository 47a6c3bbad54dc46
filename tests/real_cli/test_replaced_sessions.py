"""A session whose turns were replaced goes on in the real CLI, and the model is sent what stands there now."""

import json
import sqlite3
import subprocess
import time
import tomllib
from contextlib import closing, contextmanager
from hashlib import sha256

import pytest

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(240)]

BOTH = pytest.mark.parametrize("cli", ["claude", "codex"])
STORAGE = {"claude": ("claude-code", "projects", "claude_code"), "codex": ("codex", "sessions", "codex_session")}
RESUME = {"claude": (["-p", "--resume"], []), "codex": (["exec", "resume"], ["-"])}


def wait_until(is_so, patience_s=30.0):
    deadline = time.monotonic() + patience_s
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


class Session:
    """A session of one real account, two prompts long, which our commands can find."""

    def __init__(self, world, api, cli):
        self.world, self.api, self.account = world, api, f"{cli}-one"
        world.configure(api.url, **{cli: "capture"})
        self._providers = world.home / ".config" / "oulipoly-agent-runner" / "providers.toml"
        name, folder, kind = STORAGE[cli]
        root = world.home / f".{self.account}" / folder
        block = {"kind": "script", "cwd_script": f"{name}-cwd {root}", "storage_type": kind}
        block["transcript_script"] = f"{name}-locate-transcript {root}"
        lines = [f"[{self.account}.session_storage]", *(f"{key} = {json.dumps(it)}" for key, it in block.items())]
        with self._providers.open("a") as file:
            file.write("\n".join(["", *lines, ""]))
        self.id = world.trace(world.run("-m", self.account, "the secret is turnip"))["session"]["id"]
        self.resume("second prompt")
        self.transcript = next(root.rglob(f"*{self.id}.jsonl"))

    def resume(self, prompt):
        """Go on as its user would, without us, and return the session that the model was sent."""
        done = subprocess.run(
            self._command(), input=prompt.encode(), capture_output=True, timeout=60, check=False, **self._place()
        )
        assert 0 == done.returncode, done.stderr.decode()
        return list(self.api.calls[-1].said)

    def _command(self):
        before, after = RESUME[self.account.partition("-")[0]]
        return [self._block()["command"], *before, self.id, *after]

    def _place(self):
        return {"env": self.world.environment() | self._block()["environment"], "cwd": self.world.project}

    def _block(self):
        return tomllib.loads(self._providers.read_text())[self.account]

    @contextmanager
    def at_work(self, prompt):
        """Have its CLI at work on a prompt for the block."""
        process = subprocess.Popen(
            self._command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **self._place(),
        )
        try:
            process.stdin.write(prompt.encode())
            process.stdin.close()
            wait_until(lambda: self.api.calls and self.api.calls[-1].prompt == prompt)
            yield
        finally:
            process.terminate()
            process.wait(timeout=30)

    def lines(self):
        ran = self.world.run("session", "export", self.id)
        assert 0 == ran.exit_code, ran.stderr
        return ran.stdout.splitlines(keepends=True)

    def replace(self, lines):
        """Import lines in place of what an export shows now."""
        before = sha256("".join(self.lines()).encode()).hexdigest()
        return self.json("import-replace", self.id, "--preimage-sha256", before, stdin="".join(lines).encode())

    def json(self, *words, stdin=b""):
        ran = self.world.run("session", *words, stdin=stdin)
        assert (0, "") == (ran.exit_code, ran.stderr)
        return json.loads(ran.stdout)


@BOTH
def test_edited_text_is_what_the_model_is_sent_until_it_is_undone(world, api, cli):
    session = Session(world, api, cli)
    before = session.transcript.read_bytes()

    session.replace([line.replace("turnip", "carrot") for line in session.lines()])
    edited = session.transcript.read_bytes()
    undone = session.json("undo", session.id)

    assert before != edited
    assert before == session.transcript.read_bytes()
    assert "undo" == undone["operation"]
    session.json("undo", session.id, "--operation", undone["operation_uuid"])
    assert edited == session.transcript.read_bytes()
    assert [
        ("user", "the secret is carrot"),
        ("assistant", f"{cli}-one heard: the secret is carrot"),
        ("user", "second prompt"),
        ("assistant", f"{cli}-one heard: second prompt"),
        ("user", "third prompt"),
    ] == session.resume("third prompt")


@BOTH
def test_removed_and_added_turns_are_gone_and_there(world, api, cli):
    session = Session(world, api, cli)
    lines = [line for line in session.lines() if "second prompt" not in line]
    answer = next(line for line in lines if "heard: the secret" in line)
    record = json.loads(answer)
    question = record | {"role": "user", "turn_id": "0a0a0a0a-0000-4000-8000-000000000001"}
    question["content"] = [{"type": "text", "text": "an added question"}]
    reply = record | {"turn_id": "0a0a0a0a-0000-4000-8000-000000000002"}
    reply["content"] = [{"type": "text", "text": "an added answer"}]
    place = lines.index(answer)
    added = [json.dumps(one) + "\n" for one in (question, reply)]

    session.replace([*lines[: place + 1], *added, *lines[place + 1 :]])

    expected = [
        ("user", "the secret is turnip"),
        ("assistant", f"{cli}-one heard: the secret is turnip"),
        ("user", "an added question"),
        ("assistant", "an added answer"),
        ("user", "third prompt"),
    ]
    assert expected == session.resume("third prompt")
    last = [("assistant", f"{cli}-one heard: third prompt"), ("user", "fourth prompt")]
    assert [*expected, *last] == session.resume("fourth prompt")


@BOTH
def test_turn_added_in_the_middle_is_sent_in_its_place(world, api, cli):
    session = Session(world, api, cli)
    lines = session.lines()
    place = next(place for place, line in enumerate(lines) if '"text":"second prompt"' in line)
    record = json.loads(lines[place]) | {"turn_id": "0a0a0a0a-0000-4000-8000-000000000003"}
    record["content"] = [{"type": "text", "text": "before the second"}]

    session.replace([*lines[:place], json.dumps(record) + "\n", *lines[place:]])

    said = [text for role, text in session.resume("third prompt") if role == "user"]
    expected = ["the secret is turnip", "before the second", "second prompt", "third prompt"]
    assert expected == [text for text in "\n".join(said).split("\n") if text]


def test_codex_reads_a_thread_again_for_its_screens_after_a_replacement(world, api):
    session = Session(world, api, "codex")
    database = session.transcript.parents[4] / "thread_history_1.sqlite"

    def shown():
        with closing(sqlite3.connect(database)) as connection:
            return str(connection.execute("SELECT * FROM thread_items WHERE thread_id = ?", (session.id,)).fetchall())

    before = shown()
    session.replace([line.replace("turnip", "carrot") for line in session.lines()])
    cleared = shown()
    session.resume("third prompt")

    assert "turnip" in before
    assert "[]" == cleared
    assert "carrot" in shown()
    assert "turnip" not in shown()


@BOTH
def test_session_that_its_cli_is_at_work_on_is_busy(world, api, plan, cli):
    session = Session(world, api, cli)
    lines = "".join(session.lines()).replace("turnip", "carrot").encode()
    before = session.transcript.read_bytes()
    api.plans[session.account] = plan(holds_back=True)

    with session.at_work("third prompt"):
        ran = world.run("session", "import-replace", session.id, stdin=lines)

    assert (13, "", "session-busy") == (ran.exit_code, ran.stdout, json.loads(ran.stderr)["error"]["code"])
    assert session.transcript.read_bytes().startswith(before)
