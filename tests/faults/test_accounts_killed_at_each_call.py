"""Accounts added, renamed, removed, and each of these undone, killed before each system call that changes something.

A step is left out where it is the same call on the same file as the one before: the pages of the state file's log, say.
Whatever of ours starts next, everything is as it was before or as it is after, and nothing is left over.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import uuid
from itertools import groupby
from pathlib import Path

import pytest

PARTS = 4  # of each drill, side by side
NAMING = "rename renameat renameat2 unlink unlinkat mkdir mkdirat rmdir link linkat symlink symlinkat"
WRITING = "open openat creat write writev pwrite64 pwritev fallocate ftruncate truncate fsync fdatasync"
CALLS = [*NAMING.split(), *WRITING.split(), "chmod", "fchmod", "fchmodat", "utimensat"]
OPENS = ("open", "openat")
UNDO = ("account", "undo", "--yes")
ADD = ("account", "add", "claude", "b", "--pool", "m", "--no-login", "--no-test", "--yes")
KEY = "sk-ant-" + "k" * 40
RENAME, REMOVE = ("account", "rename", "a", "b", "--yes"), ("account", "remove", "a", "--yes")

# What is done before, and the command that is killed.
DRILLS = {
    "rename": ((), RENAME),
    "remove": ((), REMOVE),
    "remove-home": ((), ("account", "remove", "z", "--delete-home", "--yes")),
    "add": ((), ADD),
    "add-with-key": ((), (*ADD, "--pool", "new", "--api-key-file", "~/key")),
    "undo-rename": ((RENAME,), UNDO),
    "undo-remove": ((REMOVE,), UNDO),
    "undo-add": ((ADD,), UNDO),
}
FIRST = {  # what starts next, by turns
    "list": ("session", "list", "--json"),
    "accounts": ("account", "list", "--json"),
    "doctor": ("doctor", "--json"),
    "scan": ("session", "scan"),
    "why": ("why", "m"),
    "again": None,
    "undo": UNDO,
}

pytestmark = [
    pytest.mark.kills,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace, which kills at a system call, is missing"),
]


class Drill:
    """A world that is brought back to its beginning before each kill."""

    def __init__(self, world, tmp_path, session):
        self._world, self._session = world, session
        self.home_of_z = world.home / ".claude-z"
        self.wrong_before = self.wrong_after = []  # what the doctor tells of the two worlds
        self._saved, self._log = tmp_path / "saved", tmp_path / "log"

    def save(self):
        shutil.copytree(self._world.home, self._saved, symlinks=True)

    def restore(self):
        shutil.rmtree(self._world.home)
        shutil.copytree(self._saved, self._world.home, symlinks=True)

    def run(self, words):
        return self._world.run(*(str(self._world.home / word[2:]) if word.startswith("~/") else word for word in words))

    def find_steps(self, words):
        """Return the calls of an undisturbed run that change something: the call, which of its kind, and the file."""
        done = self._trace(words, "-y", "-e", f"trace={','.join(CALLS)}")
        assert 0 == done.returncode, done.stderr
        counts, steps = dict.fromkeys(CALLS, 0), []
        for line in self._log.read_text().splitlines():
            call, _, rest = line.partition("(")
            if call not in CALLS:
                continue
            counts[call] += 1
            step = (call, counts[call], self._name_file(rest))
            if step[2] and not (call in OPENS and not re.search("O_WRONLY|O_RDWR|O_CREAT", rest)):
                steps.append(step)
        return [next(steps) for _, steps in groupby(steps, key=lambda step: (step[0], step[2]))]

    def kill(self, words, step):
        """Run a command that is killed before a call."""
        call, number, path = step
        tampering = ("-e", f"trace={call}", "-e", f"inject={call}:signal=SIGKILL:when={number}")
        done = self._trace(words, "-y", *tampering)
        killed_at = [line for line in self._log.read_text().splitlines() if line.startswith(f"{call}(")][-1]
        assert "+++ killed by SIGKILL +++" in self._log.read_text(), (step, done.returncode, done.stderr)
        assert path == self._name_file(killed_at), step

    def find_problems(self, command, step, first, old, new):
        """Kill a command before a call and yield what is wrong with what is told then."""
        self.restore()
        self.kill(command, step)
        begins_undo = UNDO == (FIRST[first] or command)
        if begins_undo and not (self._world.data / "configuration-change.json").exists():
            first = "list"  # nothing is cut off: an undo that is done would rightly take back the change before
        wrong = self.find_wrong() if first == "doctor" else []
        begun = self.run(FIRST[first] or command)
        told = begun.stderr.decode()[-300:]
        reached = self.look()
        # A home that is made already is taken by the next addition.
        ignored = {} if "--delete-home" in command else {"homes": ""}
        is_old = {**reached, **ignored} == {**old, **ignored}
        if wrong and wrong != (self.wrong_before if is_old else self.wrong_after):
            yield f"the doctor tells {wrong}"
        if not is_old and reached != new:
            yield f"half\n{differences(old, new, reached)}\n{told}"
        elif is_old:
            again = self.run(command)
            if first == "again" or again.returncode != 0:
                yield f"not done again: {told}{again.stderr.decode()}"
            elif (reached := self.look()) != new:
                yield f"done again, but half\n{differences(old, new, reached)}\n{told}"

    def look(self):
        """Return what a user can see: the files, the lists, and whose the session is."""
        asked = {
            name: json.loads(self.run(words).stdout)
            for name, words in {
                "accounts": ("account", "list", "--json"),
                "sessions": ("session", "list", "--json"),
                "shown": ("session", "show", self._session, "--json"),
            }.items()
        }
        owners = self._world.rows("SELECT provider_name FROM session_chain_segments")
        kept = filter(Path.is_file, sorted(self._world.home.glob(".claude-*/**/[!.]*")))
        homes = {str(path): path.read_text() for path in kept}
        return {"files": self._read_files(), "homes": homes, "owners": owners, **asked}

    def find_wrong(self):
        """Return what the doctor finds wrong."""
        told = json.loads(self.run(FIRST["doctor"]).stdout)
        return [(one["subject"], one["cause"]) for one in told["findings"] if one["severity"] != "ok"]

    def _read_files(self):
        """Return the files of the configuration, and those of changes beside the state file.

        Half a journal that nobody has begun to go by may stay for an hour.
        """
        home, data = self._world.home, self._world.data
        paths = [*self._world.config.rglob("*"), *data.glob("*configuration-*"), *data.glob("removed-homes/*")]
        return {
            str(path.relative_to(home)): path.read_text()
            for path in filter(Path.is_file, paths)
            if not path.name.startswith((".configuration-change.json.new-", "configuration-undo."))
        }

    def _trace(self, words, *options):
        home = self._world.home
        words = [str(home / word[2:]) if word.startswith("~/") else word for word in words]
        command = ["strace", "-qq", "-o", self._log, *options, sys.executable, "-m", "oulipoly_tui", *words]
        # The same calls in the same order each time.
        environment = os.environ | {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, cwd=home, env=environment, timeout=120, check=False
        )

    def _name_file(self, rest):
        """Return the file of the home that a call is about, without what is another name in each run."""
        found = re.search(rf'["<]({re.escape(str(self._world.home))}/[^">]*)', rest)
        return found and re.sub(r"(?<=\.new-)\w+|(?<=\.)\d+\.\w+(?=\.part)", "*", found[1])


@pytest.fixture
def drill(world, tmp_path):
    """A session of account `a`, which is drained, and the account `z`, whose addition is the last change before."""
    program = world.home / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho '{}'\n")
    program.chmod(0o755)
    root = world.home / ".claude" / "projects" / "-work"
    root.mkdir(parents=True)
    session = str(uuid.uuid4())
    entry = {"sessionId": session, "uuid": "e", "type": "user", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/work"}
    (root / f"{session}.jsonl").write_text(json.dumps(entry | {"message": {"content": "hello"}}) + "\n")
    (world.home / "key").write_text(KEY)
    world.account("a", "cat")
    world.model("m", "a")
    (world.config / "sessions.toml").write_text(f"[a]\nturn_script = 'claude-code-turns {root.parent}'\n")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        yield _begin(Drill(world, tmp_path, session), session)


def _begin(drill, session):
    """Have the past of a drill, and return it."""
    for words in (
        ("account", "add", "claude", "z", "--pool", "m", "--no-login", "--no-test", "--yes"),
        ("session", "scan"),
        ("account", "drain", "a"),
        ("session", "note", session, "mine"),
    ):
        done = drill.run(words)
        assert 0 == done.returncode, (words, done.stderr)
    login = drill.home_of_z / "projects" / "login.json"
    login.parent.mkdir()
    for path in (login, drill.home_of_z / "history.jsonl"):
        path.write_text("{}")
    return drill


def differences(old, new, reached):
    """Return what is as in neither of two looks, and else what is as in the one and what as in the other."""
    old, new, reached = ({**look, **look["files"], "files": None} for look in (old, new, reached))
    keys = sorted(old.keys() | new.keys() | reached.keys())
    neither = [key for key in keys if reached.get(key) not in (old.get(key), new.get(key))]
    as_old = [key for key in keys if reached.get(key) == old.get(key) != new.get(key)]
    as_new = [key for key in keys if reached.get(key) == new.get(key) != old.get(key)]
    told = "".join(f"\n    {key}: {str(reached.get(key))[:300]}" for key in neither)
    return f"  like before: {as_old}\n  like after: {as_new}\n  like neither: {told}"


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", DRILLS)
def test_accounts_killed_at_each_call(drill, name, part):
    before, command = DRILLS[name]
    for words in before:
        assert 0 == drill.run(words).returncode
    drill.save()
    old, drill.wrong_before = drill.look(), drill.find_wrong()
    drill.restore()
    assert 0 == drill.run(command).returncode
    new, drill.wrong_after = drill.look(), drill.find_wrong()
    assert old != new
    drill.restore()
    steps = drill.find_steps(command)

    failures = [
        f"{step[0]} {step[1]} {step[2]}, then {first}: {problem}"
        for number, step in list(enumerate(steps))[part::PARTS]
        for first in (list(FIRST)[number % len(FIRST)],)
        for problem in drill.find_problems(command, step, first, old, new)
    ]
    assert not failures, "\n".join(failures)
