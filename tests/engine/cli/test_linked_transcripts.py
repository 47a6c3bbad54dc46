"""A link in a transcript's place: nothing that is behind it is shown, packed, copied or changed, and nothing waits."""

import json
import os
import shlex

import pytest

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
SECRET = "the text behind the link"


class Linked:
    """Two accounts with one Claude session, which was read once."""

    def __init__(self, world):
        self.world = world
        self.run = world.run
        self.roots = {name: world.home / f".{name}" / "projects" for name in ("a", "b")}
        self.transcript = self.roots["a"] / "-work" / f"{SESSION}.jsonl"
        self.transcript.parent.mkdir(parents=True)
        self.transcript.write_bytes(self.line("u1", "said before"))
        turns = ""
        for name, root in self.roots.items():
            place = shlex.quote(str(root))
            block = {
                "kind": "script",
                "cwd_script": f"claude-code-cwd {place}",
                "transcript_script": f"claude-code-locate-transcript {place}",
                "storage_type": "claude_code",
            }
            lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in block.items())
            resume = f"[{name}.resume]\nkind = 'flag'\nflag = '--resume'\n"
            world.account(name, "true", f"{resume}[{name}.session_storage]\n{lines}")
            turns += f"[{name}]\nturn_script = {json.dumps(f'claude-code-turns {place}')}\n"
        (world.config / "sessions.toml").write_text(turns)
        (world.config / "config.toml").write_text("archive = false\n")
        assert 0 == self.run("session-scan").returncode

    def line(self, uuid, text):
        record = {"sessionId": SESSION, "type": "user", "uuid": uuid, "timestamp": "2026-04-17T08:00:00Z"}
        record |= {"cwd": str(self.world.home), "message": {"content": text}}
        return json.dumps(record).encode() + b"\n"

    def replace_by_link(self, target):
        self.transcript.unlink()
        self.transcript.symlink_to(target)


@pytest.fixture
def linked(world):
    return Linked(world)


def test_no_command_follows_a_link_to_another_file(linked):
    target = linked.world.home / "private.jsonl"
    target.write_bytes(linked.line("u2", SECRET))
    canonical = linked.run("session", "export", SESSION).stdout
    linked.replace_by_link(target)

    scan = linked.run("session-scan")
    bundle = linked.run("session", "bundle", SESSION)
    move = linked.run("session", "move", SESSION, "b")
    replace = linked.run("session", "import-replace", SESSION, stdin=canonical.replace(b"said before", b"wanted"))
    read = [linked.run("session", "export", SESSION), linked.run("session", "export", SESSION, "--format", "markdown")]
    read += [linked.run("session", "show", SESSION), linked.run("session", "search", "behind"), linked.run("report")]

    assert f"{linked.transcript}: it is a link, not a regular file" in scan.stdout.decode()
    assert [12, 12, 12] == [bundle.returncode, move.returncode, replace.returncode]
    assert all(b"it is a link, not a regular file" in refused.stderr for refused in (bundle, move, replace))
    assert all(SECRET.encode() not in done.stdout + done.stderr for done in (*read, bundle))
    assert b"said before" in read[0].stdout  # of what was stored while it was the session's own
    assert [] == list(linked.roots["b"].rglob("*"))
    assert linked.line("u2", SECRET) == target.read_bytes()
    assert linked.transcript.is_symlink()


@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_nothing_waits_for_a_pipe_or_fills_its_memory_from_a_device(linked, kind):
    pipe = linked.world.home / "pipe"
    os.mkfifo(pipe)
    linked.replace_by_link("/dev/zero" if kind == "device" else pipe)

    commands = (["session-scan"], ["session", "show", SESSION], ["session", "move", SESSION, "b"], ["report"])

    assert [0, 0, 12, 0] == [linked.run(*command, timeout=60).returncode for command in commands]


def test_an_account_whose_home_and_projects_are_links_works_as_before(linked):
    home = linked.roots["a"].parent
    home.rename(linked.world.home / "elsewhere")
    home.symlink_to(linked.world.home / "elsewhere")
    linked.roots["a"].rename(home / "other")
    linked.roots["a"].symlink_to(home / "other")
    with linked.transcript.open("ab") as file:
        file.write(linked.line("u2", "said later"))

    scan = linked.run("session-scan")
    exported = linked.run("session", "export", SESSION)
    bundled = linked.run("session", "bundle", SESSION)
    moved = linked.run("session", "move", SESSION, "b")

    assert (b"", 2, 0, 0) == (scan.stderr, exported.stdout.count(b"\n"), bundled.returncode, moved.returncode)
    assert linked.transcript.read_bytes() == next(linked.roots["b"].rglob("*.jsonl")).read_bytes()
