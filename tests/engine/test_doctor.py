"""The doctor names what is wrong with a home, what mends it, and by which command; and nothing where all is well."""

import base64
import errno
import fcntl
import json
import os
import shutil
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from oulipoly_engine.cli.base import commands
from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.core.checks.finding import Area, Severity
from oulipoly_engine.core.checks.surroundings import judge_surroundings
from oulipoly_engine.core.checks.work import choose_split
from oulipoly_engine.errors import SystemRefused
from oulipoly_engine.facade.engine import Engine, Surroundings
from oulipoly_engine.paths import from_environment
from oulipoly_engine.process.liveness import here, start_ticks
from oulipoly_engine.service.checks import programs
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.quota import quotas
from oulipoly_engine.store.quota.quotas import Attempts
from oulipoly_engine.store.runs import invocations
from oulipoly_engine.store.runs.invocations import NewInvocation
from oulipoly_engine.store.sessions import chains
from oulipoly_engine.terminal.host.runtime_folder import Terminal
from oulipoly_engine.testing import FakeClock

SESSION = "9e69e8cc-616d-4640-bf1d-96f5391b1a2e"
TOKEN = "sk-ant-oat01-" + "Canary7" * 8
NOBODY = 2**22 + 1  # a process number that no system gives


class BrokenHome:
    """A home with claude and codex signed in, of which something is to be broken."""

    def __init__(self, home, patch):
        self.home, self.clock, self.paths = home, FakeClock(), from_environment()
        self.patience_s = 20.0
        self.patch = patch
        self.paths.models.mkdir(parents=True)
        self.providers = self.paths.providers
        for name in ("claude", "codex"):
            self.program(name, f"echo 2.1.99 {name}")
            (home / f".{name}").mkdir()
        self.claude = home / ".claude"
        self.login(self.later())
        (home / ".codex" / "auth.json").write_text(json.dumps({"tokens": {"refresh_token": TOKEN}}))
        (home / ".codex" / "auth.json").chmod(0o600)
        self.providers.write_text(
            f'[claude]\ncommand = "{home}/bin/claude"\nargs = ["-p"]\nquota_script = "true"\n\n'
            f'[codex]\ncommand = "env"\nargs = ["CODEX_HOME={home}/.codex", "{home}/bin/codex", "exec"]\n'
            'quota_script = "true"\n'
        )
        self.model = self.paths.models / "opus.toml"
        self.model.write_text('[[providers]]\nname = "claude"\n[[providers]]\nname = "codex"\n')
        with closing(self.store()) as store, store.write():
            for name in ("claude", "codex"):
                quotas.save(store, quotas.QuotaState(name, refreshed_at=self.clock.now()))

    def later(self):
        return self.clock.now() + timedelta(days=1)

    def program(self, name, script):
        path = self.home / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def login(self, until, **more):
        path = self.claude / ".credentials.json"
        path.touch(mode=0o600)
        oauth = {"accessToken": TOKEN, "expiresAt": int(until.timestamp() * 1000), **more}
        path.write_text(json.dumps({"claudeAiOauth": oauth}))
        return path

    def store(self):
        return open_store(self.paths.state_db)

    def attempt(self, **values):
        with closing(self.store()) as store, store.write():
            quotas.save_attempts(store, "claude", Attempts(**values))

    def terminal(self, pid):
        self.paths.runtime.mkdir(parents=True)
        place = self.paths.runtime / "ab12cd"
        described = Terminal("ab12cd", "x", "/", pid, NOBODY, "2026-01-01T00:00:00Z", began_ticks=start_ticks(pid) or 1)
        place.with_suffix(".json").write_bytes(msgspec.json.encode(described))
        place.with_suffix(".lock").touch()

    def chain(self, account):
        with closing(self.store()) as store, store.write():
            chains.mint(store, account, SESSION, "opus", self.clock.now())

    def engine(self):
        return Engine(Surroundings(paths=self.paths, clock=self.clock, checks_files=True))

    def check(self):
        engine = self.engine()
        try:
            return engine.checks.run(self.patience_s)
        finally:
            engine.close()

    def wrong(self):
        """Everything that is wrong, but for the terminal that the tests run in."""
        return wrong_among(self.check())


def wrong_among(found):
    return [one for one in found if one.severity is not Severity.OK and one.area is not Area.SURROUNDINGS]


@pytest.fixture
def broken(home, monkeypatch):
    return BrokenHome(home, monkeypatch)


def test_home_that_is_in_order_has_a_good_word_for_each_area_and_no_other(broken):
    found = broken.check()

    assert [] == broken.wrong()
    assert set(Area) == {one.area for one in found}
    assert "2.1.99 claude" in " ".join(one.cause for one in found)


def _break(name, area, severity, cause, command, *, skip=False):
    """Register how a home is broken, and what the doctor shall say of it."""

    def register(how):
        CASES.append(
            pytest.param(
                how, area, severity, cause, command, id=name, marks=pytest.mark.skipif(skip, reason="needs root")
            )
        )
        return how

    return register


CASES = []
IS_ROOT = os.getuid() == 0


@_break("nothing configured", Area.CONFIGURATION, "error", "nothing is configured yet", "agents account add")
def _(it):
    it.providers.unlink()
    it.model.unlink()


@_break("no TOML", Area.CONFIGURATION, "error", "TOML", "vi +")
def _(it):
    it.providers.write_text("[claude\n")


@_break("unknown account in a pool", Area.CONFIGURATION, "error", "'ghost' is not in providers.toml", "vi +")
def _(it):
    it.model.write_text('[[providers]]\nname = "ghost"\n')


@_break("FIFO as configuration", Area.CONFIGURATION, "error", "FIFO", "providers.toml")
def _(it):
    it.providers.unlink()
    os.mkfifo(it.providers)


@_break("old configuration", Area.CONFIGURATION, "error", "old per-provider config", "agents migrate-config")
def _(it):
    it.model.write_text('command = "claude -p"\n')


@_break("CLI missing", Area.PROGRAMS, "error", "was not found", "npm install -g @anthropic-ai/claude-code")
def _(it):
    (it.home / "bin" / "claude").unlink()


@_break("CLI missing behind env", Area.PROGRAMS, "error", "was not found", "npm install -g @openai/codex")
def _(it):
    (it.home / "bin" / "codex").unlink()


@_break("CLI not executable", Area.PROGRAMS, "error", "is not an executable file", "chmod +x")
def _(it):
    (it.home / "bin" / "claude").chmod(0o644)


@_break("program of a runtime missing", Area.PROGRAMS, "error", "'nowhere' was not found", "command -v nowhere")
def _(it):
    (it.paths.config / "config.toml").write_text('[runtimes.mine]\nkind = "codex"\nprogram = "nowhere"\n')


@_break(
    "program of an account's runtime missing", Area.PROGRAMS, "error", "'nowhere' was not found", "command -v nowhere"
)
def _(it):
    (it.paths.config / "config.toml").write_text('[runtimes.claude]\nprogram = "nowhere"\n')


@_break("CLI hangs", Area.PROGRAMS, "error", "timed out after 0.2 s", "bin/claude --version")
def _(it):
    it.program("claude", "sleep 60")
    it.patience_s = 0.2
    (it.home / "bin" / "codex").unlink()  # which might be slow as well
    it.program("codex", "exit 0")


@_break("CLI fails", Area.PROGRAMS, "warning", "ended with exit code 3", "bin/claude --version")
def _(it):
    it.program("claude", "exit 3")


@_break("CLI without interpreter", Area.PROGRAMS, "warning", "cannot be started", "bin/claude --version")
def _(it):
    (it.home / "bin" / "claude").write_text("#!/nowhere/node\n")


@_break("quota script missing", Area.PROGRAMS, "warning", "`quota_script`", "agents config edit providers")
def _(it):
    it.providers.write_text(it.providers.read_text().replace('"true"', '"X=1 /nowhere/usage --all | cat"', 1))


@_break("turn script's file missing", Area.PROGRAMS, "warning", "'/nowhere/turns.py'", "agents config edit sessions")
def _(it):
    it.paths.sessions.write_text('[claude]\nturn_script = "python3 /nowhere/turns.py --home ~"\n')


@_break("CLI too old", Area.PROGRAMS, "warning", "is older than", "npm install -g @anthropic-ai/claude-code")
def _(it):
    it.program("claude", "echo 1.0.9 '(Claude Code)'")


@_break("home missing", Area.LOGINS, "error", ".claude is missing", "agents account login claude")
def _(it):
    (it.claude / ".credentials.json").unlink()
    it.claude.rmdir()


@_break("home of a wrapper missing", Area.LOGINS, "error", ".codex2 is missing", ".codex2 codex login")
def _(it):
    it.program("work", "exit 0")
    it.providers.write_text(f'[work]\ncommand = "{it.home}/bin/work"\nquota_script = "true"\n')
    it.model.write_text('[[providers]]\nname = "work"\n')
    it.paths.sessions.write_text('[work]\nturn_script = "codex-turns ~/.codex2/sessions"\n')


@_break("home a link to nothing", Area.LOGINS, "error", "is a link to /nowhere", "rm ")
def _(it):
    it.claude.rename(it.home / "old")
    it.claude.symlink_to("/nowhere")


@_break("home a link", Area.LOGINS, "warning", "is a link to", "ls -ld")
def _(it):
    it.claude.rename(it.home / "old")
    it.claude.symlink_to(it.home / "old")


@_break("home a file", Area.LOGINS, "error", "is not a folder", "mv ")
def _(it):
    it.claude.rename(it.home / "old")
    it.claude.touch()


@_break("home read-only", Area.LOGINS, "error", "cannot be written", "chmod u+rwx")
def _(it):
    it.claude.chmod(0o500)


@_break("home of two accounts", Area.LOGINS, "warning", "share the home", "agents account show claude")
def _(it):
    again = f'[again]\ncommand = "{it.home}/bin/claude"\nquota_script = "true"\n'
    it.providers.write_text(it.providers.read_text() + again)


@_break("home open to all", Area.LOGINS, "error", "can be changed by every user", "chmod go-rwx")
def _(it):
    it.claude.chmod(0o777)


@_break("home another user's", Area.LOGINS, "error", "belongs to another user", "sudo chown", skip=not IS_ROOT)
def _(it):
    os.chown(it.claude, 12345, -1)


@_break("login missing", Area.LOGINS, "error", "nobody is signed in", "agents account login claude")
def _(it):
    (it.claude / ".credentials.json").unlink()


@_break("login expired", Area.LOGINS, "error", "expired at", "agents account login claude")
def _(it):
    it.login(it.clock.now() - timedelta(hours=1))


@_break("login no JSON", Area.LOGINS, "error", "is not JSON", "agents account login claude")
def _(it):
    (it.claude / ".credentials.json").write_text(TOKEN)


@_break("login empty", Area.LOGINS, "error", "holds no login", "agents account login claude")
def _(it):
    (it.claude / ".credentials.json").write_text("{}")


@_break("login a FIFO", Area.LOGINS, "error", "FIFO", "ls -l")
def _(it):
    (it.claude / ".credentials.json").unlink()
    os.mkfifo(it.claude / ".credentials.json")


@_break(
    "login that its CLI denies", Area.LOGINS, "error", "nobody is signed in: claude says so", "account login claude"
)
def _(it):
    it.program("claude", """[ "$1" = auth ] && echo '{"loggedIn": false}' || echo 2.1.99 claude""")


@_break("login that its CLI does not tell", Area.LOGINS, "warning", "`claude auth status` printed more", "account show")
def _(it):
    it.program("claude", """[ "$1" = auth ] && head -c 2000000 /dev/zero || echo 2.1.99 claude""")


@_break("login for all to read", Area.LOGINS, "warning", "can be read by others", "chmod 600")
def _(it):
    (it.claude / ".credentials.json").chmod(0o644)


@_break("codex login expired", Area.LOGINS, "error", "expired at", "agents account login codex")
def _(it):
    (it.home / ".codex").rename(it.home / "codex2")
    it.providers.write_text(it.providers.read_text().replace("/.codex", "/codex2"))
    claims = base64.urlsafe_b64encode(b'{"exp": 1000}').decode().rstrip("=")
    (it.home / "codex2" / "auth.json").write_text(json.dumps({"tokens": {"access_token": f"x.{claims}.x"}}))


@_break("quota script fails", Area.QUOTA, "warning", "HTTP 500", "agents quota check")
def _(it):
    it.attempt(last_failure="quota script failed: HTTP 500")


@_break("quota never read", Area.QUOTA, "warning", "never read", "agents quota check")
def _(it):
    with closing(sqlite3.connect(it.paths.state_db)) as connection:
        connection.execute("DELETE FROM account_quotas")
        connection.commit()


@_break("quota read long ago", Area.QUOTA, "warning", "2 d 0 h old", "agents quota check")
def _(it):
    it.clock.advance(2 * 86400)
    it.login(it.later())


@_break("state file damaged", Area.STATE, "error", "is damaged", "agents state rebuild --yes")
def _(it):
    it.paths.state_db.write_bytes(b"no database at all " * 100)


@_break("state file damaged inside", Area.STATE, "error", "is damaged", "agents state rebuild --yes")
def _(it):
    with closing(sqlite3.connect(it.paths.state_db)) as connection:
        connection.execute("UPDATE account_quotas SET refreshed_at = 'yesterday'")
        connection.commit()


@_break("state file foreign", Area.STATE, "error", "belongs to another program", "agents state rebuild --yes")
def _(it):
    it.paths.state_db.unlink()
    with closing(sqlite3.connect(it.paths.state_db)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
        connection.commit()


@_break("state file newer", Area.STATE, "error", "newer than this program", "agents state rebuild --yes")
def _(it):
    with closing(sqlite3.connect(it.paths.state_db)) as connection:
        connection.execute("PRAGMA user_version = 999")


@_break("state file a FIFO", Area.STATE, "error", "FIFO", "mv ")
def _(it):
    it.paths.state_db.unlink()
    os.mkfifo(it.paths.state_db)


@_break("state file a folder", Area.STATE, "error", "a folder", "mv ")
def _(it):
    it.paths.state_db.unlink()
    it.paths.state_db.mkdir()


@_break("data folder for all", Area.FOLDERS, "warning", "mode 0777", "chmod go-rwx")
def _(it):
    it.paths.data.chmod(0o777)


@_break("configuration for all to write", Area.FOLDERS, "warning", "can be written by other users", "chmod go-w")
def _(it):
    it.providers.chmod(0o666)


@_break("data folder a file", Area.FOLDERS, "error", "where a folder is needed", "mv ")
def _(it):
    it.paths.data.rename(it.home / "old")
    it.paths.data.touch()


@_break("data folder a link to nothing", Area.FOLDERS, "error", "a link to nothing", "mv ")
def _(it):
    it.paths.data.rename(it.home / "old")
    it.paths.data.symlink_to("/nowhere")


@_break("disk full", Area.DISK, "error", "only 1.0 MB are free", "df -h")
def _(it):
    usage = shutil.disk_usage("/")._replace(free=1_000_000)
    it.patch.setattr(shutil, "disk_usage", lambda _: usage)


@_break("CLI without a runner", Area.RUNS, "error", "its CLI runs on", "agents terminal kill aaaaaaaa")
def _(it):
    new = NewInvocation(
        "aaaaaaaa-0000-4000-8000-000000000000",
        "opus",
        "claude",
        0,
        it.clock.now(),
        owner_pid=NOBODY,
        owner_place=here(),
    )
    with closing(it.store()) as store:
        row = invocations.begin(store, new)
        invocations.record_child(store, row, os.getpid(), start_ticks(os.getpid()))


@_break("terminal without a host", Area.TERMINALS, "error", "its program runs on", "agents terminal kill ab12cd")
def _(it):
    it.terminal(os.getpid())


@_break("terminal lost", Area.TERMINALS, "warning", "its program has ended", "")
def _(it):
    it.terminal(NOBODY)


@_break("change cut off", Area.SESSIONS, "error", "was cut off", "agents session list")
def _(it):
    folder = it.paths.data / "replace_journal"
    folder.mkdir()
    (folder / f"session-{SESSION}.pending").touch()


@_break("journal set aside", Area.SESSIONS, "warning", "fits no transcript", "rm ")
def _(it):
    folder = it.paths.data / "replace_journal" / "quarantine"
    folder.mkdir(parents=True)
    (folder / f"session-{SESSION}.pending").touch()


@_break("session in two parts", Area.SESSIONS, "error", "lies as two sessions", f"agents session move {SESSION}")
def _(it):
    it.chain("claude")
    it.chain("codex")


@_break("transcript that a move kept", Area.SESSIONS, "warning", "a move has replaced this transcript", "rm ")
def _(it):
    folder = it.claude / "projects" / "-work"
    folder.mkdir(parents=True)
    (folder / f"{SESSION}.jsonl.kept-20261120T120000000000Z").write_text("{}")


@pytest.mark.parametrize(("how", "area", "severity", "cause", "command"), CASES)
def test_broken_home_is_named_with_what_mends_it(broken, how, area, severity, cause, command):
    how(broken)

    all_found = broken.check()
    found = [one for one in wrong_among(all_found) if one.area is area and cause in one.cause]

    assert {severity} == {one.severity.value for one in found}, wrong_among(all_found)
    assert all(one.consequence and one.fix and command in one.command for one in found)
    assert all(_is_command_of_ours(one.command) for one in found if one.command.startswith("agents"))
    assert TOKEN not in repr(all_found)


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        ("nowhere --x", "nowhere"),
        ("A=1 B='2 3' nowhere | cat", "nowhere"),
        ("~/nowhere.sh", "/home/nowhere.sh"),
        ("sh ~/nowhere.sh", "/home/nowhere.sh"),
        ("claude-code-turns ~/.claude", None),
        ("anthropic-usage", None),
        ("cd /tmp; nowhere", None),
        ("$HOME/nowhere", None),
        ("(nowhere)", None),
        ("if true; then true; fi", None),
        ("python3 -c 'print(1)'", None),
        ("open 'quote", None),
    ],
)
def test_first_program_of_a_script_is_looked_for_where_no_shell_is_needed_to_know_it(line, missing):
    account = Account("a", "sh", quota_script=line)

    found = programs.look_at_scripts({"a": account}, {}, os.environ, Path("/home"))

    assert ([] if missing is None else [missing]) == [script.program for script in found]


def _is_command_of_ours(line):
    """Whether the table of commands has it."""
    words = line.split()[1:]
    found, _ = commands.find(words)
    return {found.name, *found.older} & {words[0], " ".join(words[:2])}


def test_login_that_renews_itself_is_in_order_though_its_token_is_old(broken):
    broken.login(broken.clock.now() - timedelta(days=9), refreshToken=TOKEN)

    assert [] == broken.wrong()


def test_login_that_lies_elsewhere_than_in_its_file_is_one_to_whoever_asks(broken):
    broken.program("claude", """[ "$1" = auth ] && echo '{"loggedIn": true, "email": "a@b.c"}' || echo 2.1.99 claude""")
    (broken.claude / ".credentials.json").unlink()
    shown = broken.engine().account_setup.logins.show("claude")

    assert [] == broken.wrong()
    assert ("a@b.c", None) == (shown.login.profile.text, shown.problem)


def test_login_that_has_expired_is_none_to_whoever_asks(broken):
    broken.login(broken.clock.now() - timedelta(hours=1))
    shown = broken.engine().account_setup.logins.show("claude")
    (found,) = broken.wrong()

    assert shown.problem == found.cause
    assert found.cause in [
        home.problem for cli in broken.engine().account_setup.detection.detect().report.clis for home in cli.homes
    ]


def test_login_by_a_key_needs_no_file(broken):
    (broken.claude / ".credentials.json").unlink()
    broken.providers.write_text(broken.providers.read_text() + f'[claude.environment]\nANTHROPIC_API_KEY = "{TOKEN}"\n')

    assert [] == broken.wrong()


def test_accounts_that_share_a_folder_have_no_session_in_two_parts(tmp_path):
    both = (("a", "1"), ("b", "2"))

    assert choose_split(both, {"a": tmp_path, "b": tmp_path}) is None
    assert both == choose_split(both, {"a": tmp_path, "b": tmp_path / "other"})


def test_look_changes_nothing(broken):
    def marks():
        found = {path: path.lstat() for path in broken.home.rglob("*") if not path.name.startswith("state.db")}
        data = broken.paths.data  # SQLite makes and removes its side files there
        return {path: (one.st_mode, one.st_mtime_ns if path != data else 0) for path, one in found.items()}

    broken.check()
    before = marks()

    broken.check()

    assert before == marks()


@pytest.mark.parametrize(
    ("variables", "cause"),
    [
        pytest.param({"LANG": "C.UTF-8"}, "TERM is not set", id="no TERM"),
        pytest.param({"TERM": "dumb", "LANG": "C.UTF-8"}, "TERM is dumb", id="dumb"),
        pytest.param({"TERM": "xterm", "LANG": "C.UTF-8"}, "16 colours", id="few colours"),
        pytest.param({"TERM": "xterm-256color"}, "no locale", id="no locale"),
        pytest.param({"TERM": "xterm-256color", "LC_ALL": "C", "LANG": "de_DE.UTF-8"}, "LC_ALL is C", id="C locale"),
        pytest.param({"TERM": "xterm", "COLORTERM": "truecolor", "LANG": "de_DE.utf8"}, "x", id="in order"),
    ],
)
def test_terminal_that_cannot_show_everything_is_told(variables, cause):
    found = list(judge_surroundings(variables, ("x",)))

    assert cause in found[0].cause
    assert (Severity.OK if cause == "x" else Severity.WARNING) is found[0].severity


def test_command_prints_the_same_for_people_and_for_programs_and_ends_with_1_for_an_error(agents, broken):
    (broken.claude / ".credentials.json").unlink()

    told, document = agents("doctor"), agents("doctor", "--json")

    findings = json.loads(document.stdout)
    text = told.stdout.decode()
    assert (1, 1) == (told.returncode, document.returncode)
    assert {"findings", "errors", "warnings"} == findings.keys()
    assert all(one["cause"] in text for one in findings["findings"] if one["severity"] == "error")
    assert f"{findings['errors']} error" in text
    assert TOKEN not in text + document.stdout.decode()


def test_command_ends_with_0_where_nothing_is_an_error(agents, broken):
    broken.login(broken.later(), refreshToken=TOKEN)

    assert 0 == agents("doctor").returncode


def test_a_file_system_without_locks_is_told_and_refuses_what_needs_one(broken, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    engine = Engine()
    engine.accounts.drain("claude", on=True)
    changes = engine.account_setup.changes
    monkeypatch.setattr(fcntl, "flock", refuse)

    data = str(broken.paths.data)
    assert any(one.subject == data and "without locks" in one.cause for one in engine.checks.run(broken.patience_s))
    with pytest.raises(SystemRefused, match=r"cannot be locked.*keep it on a file system with locks"):
        changes.write(changes.plan_rename("claude", "work"))
    assert {"claude", "codex"} == set(changes.names())
