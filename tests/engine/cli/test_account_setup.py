"""`account add` and what goes with it: real processes, small CLIs in a scratch PATH, a terminal where one is asked."""

import json
import os
import shutil
import stat
from contextlib import closing
from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.live.sessions import LiveSession
from oulipoly_engine.paths import from_environment
from oulipoly_engine.service.accounts import new_account
from oulipoly_engine.service.sessions.journal import JournalFolder
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.live import live_sessions


@pytest.fixture
def run(agents, machine):
    """Run our command without a terminal and return the finished process."""

    def run(*words, mood="", **variables):
        return agents(*words, env=machine | {"SCRIPTED": mood} | variables)

    return run


@pytest.fixture
def ann(talk):
    """The account `work` of Ann, added in a terminal."""
    return talk([("Paste the code: ", "ann\r"), ("It joins [claude]: ", "\r"), ("(y/n) ", "y\r")], *ADD)


ADD = ("account", "add", "claude", "work")


def config(home):
    return home / ".config" / "oulipoly-agent-runner"


def text(home, name="providers.toml"):
    return (config(home) / name).read_text()


def files(home):
    """Every file of the configuration with its text."""
    return {str(path.relative_to(home)): path.read_text() for path in config(home).rglob("*") if path.is_file()}


def test_an_account_from_an_empty_home_to_its_first_answer(home, world, ann, run):
    code, shown = ann

    assert 0 == code, shown
    assert "logged in: ann@example.com (max)" in shown
    assert "quota: weekly 12 % used" in shown
    assert "+[work]" in shown
    assert "work answers in" in shown
    assert 'tie_rule = "least-waste"' in text(home, "config.toml")
    assert 0o700 == stat.S_IMODE((home / ".claude-work").stat().st_mode)
    assert b"no problems" in run("config", "check").stdout
    assert [{"used": 0.125}] == world.rows("SELECT used FROM quota_windows WHERE account = 'work'")
    assert 0 == run("-m", "claude", "hello").returncode


def test_it_asks_again_after_a_wrong_answer_and_helps(home, talk):
    answers = [
        ("claude    Claude Code: installed", ""),
        ("not installed", ""),
        ("Which CLI", "cloude\r"),
        ("did you mean 'claude'", ""),
        ("Which CLI", "?\r"),
        ("Claude Code", ""),
        ("Which CLI", "claude\r"),
        ("Name of the account [claude]: ", "a/b\r"),
        ("not a name for an account", ""),
        ("Name of the account [claude]: ", "\r"),
        ("Paste the code: ", "ann\r"),
        ("It joins [claude]: ", "fast, deep\r"),
        ("(y/n) ", "what\r"),
        ("Say y or n.", ""),
        ("(y/n) ", "y\r"),
    ]
    code, shown = talk(answers, "account", "add", "--no-test")

    assert 0 == code, shown
    assert "[claude]" in text(home)
    assert {"fast.toml", "deep.toml"} == {path.name for path in (config(home) / "models").iterdir()}


def test_the_usual_login_is_offered_before_another_one_is_made(home, talk):
    (home / ".codex").mkdir()
    (home / ".codex/auth.json").write_text('{"OPENAI_API_KEY": "sk-x"}')
    answers = [("Make that the account", ""), ("(y/n) ", "y\r"), ("It joins [codex]: ", "\r"), ("(y/n) ", "y\r")]
    code, shown = talk(answers, "account", "add", "codex", "usual")

    assert 0 == code, shown
    assert "CODEX_HOME = " not in text(home)
    assert not (home / ".codex-usual").exists()


STOPS = {
    "cancelled login": ([("Paste the code: ", "\x03")], "", "nothing was changed"),
    "failed login": ([("Paste the code: ", "x\r")], "fails", "exit code 1: nothing was changed"),
    "nobody after the login": ([("Paste the code: ", "x\r")], "nobody", "nobody is logged in"),
    "no at the end": (
        [("Paste the code: ", "bob\r"), ("It joins [claude]: ", "\r"), ("(y/n) ", "n\r")],
        "",
        "nothing was written",
    ),
    "ctrl+c at a question": ([("Paste the code: ", "bob\r"), ("It joins [claude]: ", "\x03")], "", ""),
    "ctrl+d at a question": (
        [("Paste the code: ", "bob\r"), ("It joins [claude]: ", "\x04")],
        "",
        "nothing was changed",
    ),
}


@pytest.mark.parametrize("case", STOPS)
def test_whoever_stops_has_written_nothing(home, talk, case):
    answers, mood, said = STOPS[case]
    code, shown = talk(answers, *ADD, mood=mood)

    assert 0 != code
    assert said in shown
    assert not config(home).exists()
    assert not (home / ".claude-work").exists()


def test_a_login_that_is_an_account_already_is_named_and_asked_about(home, ann, talk):
    before = files(home)
    code, shown = talk([("Paste the code: ", "ann\r"), ("Add it? ", "n\r")], "account", "add", "claude", "two")

    assert 1 == code
    assert "ann@example.com (max) is the account work already" in shown.replace("\r\n", " ")
    assert (before, False) == (files(home), (home / ".claude-two").exists())


def test_a_cli_that_is_missing_old_or_hangs_is_named(home, run):
    missing = run("account", "add", "gemini", "g", "--yes")
    old = run(*ADD, "--no-login", "--yes", mood="old")
    unknown = run("account", "add", "cloude")

    assert b"Gemini CLI is not installed" in missing.stderr
    assert b"npm install -g @google/gemini-cli" in missing.stderr
    assert (0, True) == (old.returncode, b"older than 2.1.50" in old.stderr)
    assert (2, True) == (unknown.returncode, b"did you mean 'claude'" in unknown.stderr)
    assert not (home / ".gemini-g").exists()


def test_without_a_terminal_it_says_what_to_give(home, run):
    for words, code, said in (
        ((), 2, b"say which CLI"),
        (("claude", "work"), 1, b"a login needs a terminal"),
        (("claude", "work", "--no-login"), 2, b"--yes says yes"),
        (("claude", "a b", "--no-login"), 2, b"not a name for an account"),
        (("claude", "work", "--api-key-env", "NOT_SET"), 2, b"is not set"),
        (("claude", "work", "--no-login", "--yes", "--pool", "../x"), 2, b"not a name for a pool"),
    ):
        done = run("account", "add", *words)
        assert (code, True) == (done.returncode, said in done.stderr), (words, done.stderr)

    assert {"bin", ".cache", ".local"} >= {path.name for path in home.iterdir()}


def test_an_api_key_stands_in_the_home_alone(home, run):
    (home / "key").write_text("sk-ant-api03-0123456789\n")
    done = run("account", "add", "claude", "keyed", "--api-key-file", home / "key", "--yes", "--no-test")
    by_variable = run("account", "add", "codex", "cx", "--api-key-env", "MY_KEY", "--yes", MY_KEY="sk-proj-0123456789")

    assert (0, 0) == (done.returncode, by_variable.returncode), done.stderr + by_variable.stderr
    everything = done.stdout + done.stderr + by_variable.stdout + by_variable.stderr
    assert b"0123456789" not in everything + "".join(files(home).values()).encode()
    assert 0o600 == stat.S_IMODE((home / ".claude-keyed/api-key").stat().st_mode)
    assert "0123456789" in (home / ".codex-cx/auth.json").read_text()
    assert "quota_script" not in text(home)
    kept = "".join(path.read_text() for path in (home / ".local").rglob("*.json"))
    assert "0123456789" not in kept


def test_a_login_that_is_there_already_is_taken_as_it_is(home, run):
    for folder in (".codex", ".codex-two"):
        (home / folder).mkdir()
        (home / folder / "auth.json").write_text('{"OPENAI_API_KEY": "sk-x"}')
    (home / "link").symlink_to(home / ".codex-two")
    usual = run("account", "add", "codex", "one", "--home", home / ".codex", "--yes", "--no-test")
    linked = run("account", "add", "codex", "two", "--home", home / "link", "--yes", "--no-test")
    again = run("account", "add", "codex", "three", "--home", home / ".codex-two", "--yes")

    assert (0, 0, 1) == (usual.returncode, linked.returncode, again.returncode), usual.stderr + linked.stderr
    assert "CODEX_HOME = " not in text(home).partition("[two]")[0]
    assert f'CODEX_HOME = "{home}/link"' in text(home)
    assert b"is a link to" in linked.stderr
    assert b"is the home of the account 'two' already" in again.stderr


def test_a_home_that_cannot_be_used_is_refused(home, run):
    (home / "file").touch()
    for place, said in ((home / "file", b"is not a folder"), (home / "nowhere", b"No such file")):
        done = run("account", "add", "codex", "x", "--home", place, "--yes")
        assert (1, True) == (done.returncode, said in done.stderr)

    assert not config(home).exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_home_of_another_user_is_refused(home, run):
    (home / "theirs").mkdir()
    os.chown(home / "theirs", 12345, 12345)
    done = run("account", "add", "codex", "x", "--home", home / "theirs", "--yes")

    assert (1, True) == (done.returncode, b"belongs to another user" in done.stderr)


def test_a_home_that_a_killed_run_has_left_is_taken(home, run):
    assert 0 == run("account", "add", "codex", "cx", "--no-login", "--yes").returncode
    assert 0 == run("account", "remove", "cx", "--yes").returncode
    again = run("account", "add", "codex", "cx", "--no-login", "--yes")
    (home / ".codex-cx/auth.json").write_text("{}")
    run("account", "remove", "cx", "--yes")
    used = run("account", "add", "codex", "cx", "--no-login", "--yes")

    assert (0, 1) == (again.returncode, used.returncode)
    assert b"is there already: give `--home" in used.stderr


def test_two_that_add_one_name_at_once_do_not_share_its_home(home, machine, run, talk):
    refused = []

    def meanwhile():
        refused.append(run(*ADD, "--no-login", "--yes"))
        return "bob\r"

    code, shown = talk([("Paste the code: ", meanwhile), ("It joins [claude]: ", "\r"), ("(y/n) ", "y\r")], *ADD)

    assert 0 == code, shown
    assert (1, True) == (refused[0].returncode, b"another `account add` is at work" in refused[0].stderr)
    assert "bob@example.com" in (home / ".claude-work/.credentials.json").read_text()


def test_a_rename_onto_what_a_removed_account_has_left_is_refused(home, ann, run):
    run("account", "remove", "work", "--yes")
    run("account", "add", "codex", "cx", "--no-login", "--yes")
    before = files(home)
    refused = run("account", "rename", "cx", "work", "--yes")

    assert (1, True) == (refused.returncode, b"the past of an account 'work' that was removed" in refused.stderr)
    assert before == files(home)


def test_a_login_without_a_terminal_says_what_it_needs(ann, run):
    done = run("account", "login", "work")

    assert (1, True) == (done.returncode, b"a login needs a terminal: run it in one" in done.stderr)


@pytest.mark.parametrize(
    ("backup", "said"),
    [
        (f"[accounts.{'a' * 300}]\ncommand = 'sh'\n", b"use at most 200 letters"),
        ("[[pools.m.providers]]\nname = 'ghost'\n", b"names the account 'ghost', which is neither"),
    ],
    ids=["long name", "unknown account"],
)
def test_a_backup_that_cannot_work_here_is_refused(home, run, backup, said):
    (home / "backup").write_text(backup)
    done = run("account", "import", home / "backup", "--yes")

    assert (2, True) == (done.returncode, said in done.stderr), done.stderr
    assert not config(home).exists()


def test_a_rename_keeps_readings_sessions_and_pools_and_can_be_undone(home, world, ann, run):
    (config(home) / "app.toml").write_text('[views.mine]\nfilter = "x account:work,cx -account:work2" # of work\n')
    with (config(home) / "config.toml").open("a") as settings:
        settings.write('\n[runtimes.work] # of work\nidle_session_ttl_secs = 60\nenv = { A = "1" }\n\n')
        settings.write('[runtimes."other"]\nkind = "acp"\nprogram = "other"\naccount = "work"\n')
    before = files(home)
    run("-m", "claude", "hello")
    now = datetime(2026, 11, 23, tzinfo=UTC)
    with closing(open_store(from_environment().state_db)) as store:
        for session, runtime in (("s", "work"), ("t", "other")):
            live_sessions.insert(store, LiveSession(session, "/w", runtime, "claude", "m", now, now, account="work"))
    done = run("account", "rename", "work", "job", "--yes")
    assert 0 == done.returncode, done.stderr
    names = {
        row["account"] for row in world.rows("SELECT account FROM quota_windows UNION SELECT account FROM readings")
    }

    assert {"job"} == names
    assert [] == world.rows("SELECT 1 FROM invocations WHERE provider_name = 'work'")
    assert 'name = "job"' in text(home, "models/claude.toml")
    assert 'default_provider = "job"' in text(home, "config.toml")
    assert "[runtimes.job] # of work" in text(home, "config.toml")
    assert 'account = "job"' in text(home, "config.toml")
    kept = world.rows("SELECT runtime_id, account FROM live_sessions ORDER BY session_id")
    assert [("job", "job"), ("other", "job")] == [(row["runtime_id"], row["account"]) for row in kept]
    assert 'filter = "x account:job,cx -account:work2" # of work' in text(home, "app.toml")
    assert b"no problems" in run("config", "check").stdout
    assert 0 == run("account", "undo", "--yes").returncode
    assert before == files(home)
    assert {"work"} == {row["account"] for row in world.rows("SELECT account FROM quota_windows")}
    assert ["work", "other"] == [row["runtime_id"] for row in world.rows("SELECT runtime_id FROM live_sessions")]


def test_a_removal_leaves_the_home_and_can_be_undone(home, ann, run):
    run("account", "add", "codex", "cx", "--no-login", "--yes", "--pool", "claude", "--pool", "codex")
    before = files(home)
    refused = run("account", "remove", "cx")
    assert (2, True) == (refused.returncode, b"Remove the account cx?" in refused.stderr)
    assert 0 == run("account", "remove", "cx", "--yes").returncode

    assert "cx" not in "".join(files(home).values())
    assert not (config(home) / "models/codex.toml").exists()
    assert (home / ".codex-cx").is_dir()
    assert 0 == run("account", "undo", "--yes").returncode
    assert before == files(home)


def test_an_undone_removal_brings_back_links_and_rights(home, run):
    run("account", "add", "codex", "cx", "--no-login", "--yes", "--pool", "linked", "--pool", "open")
    linked, plain, target = config(home) / "models/linked.toml", config(home) / "models/open.toml", home / "pool.toml"
    linked.rename(target)
    linked.symlink_to("../../../pool.toml")
    plain.chmod(0o644)
    assert 0 == run("account", "remove", "cx", "--yes").returncode
    assert (False, False, True) == (linked.is_symlink(), plain.exists(), target.exists())
    undone = run("account", "undo", "--yes")

    assert 0 == undone.returncode, undone.stderr
    assert ("../../../pool.toml", target.read_text()) == (str(linked.readlink()), linked.read_text())
    assert 0o644 == stat.S_IMODE(plain.stat().st_mode)


def test_only_a_home_that_was_made_here_is_deleted(home, ann, run):
    (home / ".codex").mkdir()
    run("account", "add", "codex", "own", "--home", home / ".codex", "--no-login", "--yes", "--no-test")
    copied = shutil.copytree(home / ".claude-work", home / ".claude-copied")
    assert not new_account.is_made_home(copied)
    kept = run("account", "remove", "own", "--delete-home", "--yes")
    gone = run("account", "remove", "work", "--delete-home", "--yes")

    assert (1, 0) == (kept.returncode, gone.returncode)
    assert b"was not made by `account add`" in kept.stderr
    assert [True, False] == [(home / ".codex").exists(), (home / ".claude-work").exists()]


def test_a_home_that_another_account_uses_is_not_deleted(home, ann, run):
    both = (
        text(home) + f'\n[other]\ncommand = "claude"\n[other.environment]\nCLAUDE_CONFIG_DIR = "{home}/.claude-work"\n'
    )
    (config(home) / "providers.toml").write_text(both)
    kept = run("account", "remove", "work", "--delete-home", "--yes")

    assert (1, True) == (kept.returncode, b"is the home of the account 'other' too" in kept.stderr)
    assert (both, True) == (text(home), (home / ".claude-work").is_dir())


def test_an_account_is_not_renamed_while_a_session_is_moved(home, ann, run):
    before = files(home)
    with JournalFolder(home / ".local/share/oulipoly-agent-runner/replace_journal").lock_shared():
        done = run("account", "rename", "work", "job", "--yes")

    assert (1, True) == (done.returncode, b"a session is being moved or rewritten" in done.stderr)
    assert before == files(home)


def test_comments_and_tables_of_ones_own_stay(home, run):
    config(home).mkdir(parents=True)
    own = '# mine\n[own] # here\ncommand = "sh"\nargs = ["-c", "cat"]\n\n# before the next\n[other]\ncommand = "sh"\n'
    (config(home) / "providers.toml").write_text(own)
    (config(home) / "models").mkdir()
    (config(home) / "models/m.toml").write_text('providers = [{ name = "own" }] # in one line\n')
    assert 0 == run("account", "add", "codex", "cx", "--no-login", "--yes", "--pool", "m").returncode

    assert text(home).startswith(own)
    assert "# in one line" in text(home, "models/m.toml")
    run("account", "rename", "own", "mine", "--yes")
    assert "[mine] # here" in text(home)
    assert 0 == run("account", "remove", "mine", "--yes").returncode
    assert "# before the next\n[other]" in text(home)
    assert "cx" in text(home, "models/m.toml")


def test_what_is_there_is_detected_and_shown_without_tokens(home, ann, run):
    (home / ".local/bin").mkdir(parents=True)
    (home / ".local/bin/mine").write_text("#!/bin/sh\nexec claude -p\n")
    found = json.loads(run("setup", "detect", "--json").stdout)
    shown = json.loads(run("account", "show", "work", "--json").stdout)
    claude = next(one for one in found["clis"] if one["name"] == "claude")

    assert {"clis", "os", "wrappers"} == set(found)
    assert ["mine"] == [one["name"] for one in found["wrappers"]]
    assert (True, "2.1.197 (Claude Code)") == (claude["installed"], claude["version"])
    assert ["work"] == [one["account"] for one in claude["homes"]]
    assert ("ann@example.com", "max", ["claude"]) == (shown["login"]["id"], shown["login"]["plan"], shown["pools"])
    assert "sk-" not in json.dumps([found, shown])
    assert (False, None) == (claude["version_changed"], claude["previous_version"])
    later = json.loads(run("setup", "detect", "--json", mood="old").stdout)
    claude = next(one for one in later["clis"] if one["name"] == "claude")
    assert (True, "2.1.197 (Claude Code)") == (claude["version_changed"], claude["previous_version"])


def test_a_version_is_shown_without_secrets_and_signs(home, run):
    secret = f"sk-ant-api03-{'x1Y2' * 8}"
    (home / "bin" / "claude").write_text(f"#!/bin/sh\nprintf '2.1.197 \\033[31m{secret}\\n'\n")
    (claude,) = (one for one in json.loads(run("setup", "detect", "--json").stdout)["clis"] if one["name"] == "claude")

    assert claude["version"].isprintable()
    assert ["2.1.197", "[redacted]"] == claude["version"].replace("\u241b[31m", " ").split()


def test_what_is_there_is_detected_without_a_state_file_too(home, run):
    state = from_environment().state_db
    state.parent.mkdir(parents=True)
    state.write_text("rubbish")
    done = run("setup", "detect", "--json")

    assert 0 == done.returncode, done.stderr
    assert [True, True] == [one["installed"] for one in json.loads(done.stdout)["clis"][:2]]


def test_an_account_that_does_not_answer_is_said(home, ann, run):
    done = run("account", "test", "work", mood="mute")

    assert 1 == done.returncode
    assert b"work does not answer" in done.stderr


def test_a_backup_has_no_secrets_and_brings_back_what_is_missing(home, run):
    config(home).mkdir(parents=True)
    own = (
        '[own]\ncommand = "sh"\nargs = ["-c", "cat"]\n[own.environment]\nMY_API_KEY = "sk-0123456789"\nMODE = "fast"\n'
    )
    (config(home) / "providers.toml").write_text(own)
    run("account", "add", "codex", "cx", "--no-login", "--yes", "--pool", "m")
    done = run("account", "export")
    (home / "backup").write_bytes(done.stdout)
    before = files(home)
    run("account", "remove", "cx", "--yes")
    back = run("account", "import", home / "backup", "--yes")

    assert b"own.environment.MY_API_KEY looks like a secret" in done.stderr
    assert b"sk-0123456789" not in done.stdout
    assert b"MODE" in done.stdout
    assert 0 == back.returncode, back.stderr
    assert before.keys() == files(home).keys()
    assert b"no problems" in run("config", "check").stdout
    (config(home) / "models/m.toml").write_text('[[providers]]\nname = "own"\n')
    clash = run("account", "import", home / "backup", "--yes")
    assert (1, True) == (clash.returncode, b"the pool m: what is here says something else" in clash.stderr)
    assert b"nothing to import" in run("account", "import", home / "backup", "--skip").stdout


@pytest.mark.parametrize(
    "text", ["accounts = 3", "[[", "[other]", "[accounts.x]\nargs = 3", '[pools."../x"]', '[accounts."a/b"]']
)
def test_what_is_no_backup_is_refused(home, run, text):
    (home / "backup").write_text(text)
    done = run("account", "import", home / "backup", "--yes")

    assert 2 == done.returncode, done.stdout
    assert not config(home).exists()


def test_the_usual_home_is_used_wherever_the_shell_leads(home, run):
    """An account that was added so says it; of another one it is told where it works now."""
    other = home / "other"
    for place, mail in ((home / ".claude", "usual@x.y"), (other, "other@x.y")):
        place.mkdir()
        (place / ".credentials.json").write_text(json.dumps({"mail": mail, "claudeAiOauth": {"accessToken": "x"}}))
        (place / ".credentials.json").chmod(0o600)
    exported = {"CLAUDE_CONFIG_DIR": str(other)}
    added = run("account", "add", "claude", "c", "--home", home / ".claude", "--yes", "--no-test", **exported)
    shown = run("account", "show", "c", **exported).stdout.decode()
    providers = config(home) / "providers.toml"
    providers.write_text(text(home).replace("unset_environment", "# unset_environment"))
    led = run("account", "show", "c", **exported).stdout.decode()
    doctor = run("doctor", **exported).stdout.decode()

    assert b"logged in: usual@x.y" in added.stdout, added.stderr
    assert (f"home       {home}/.claude\n" in shown, "usual@x.y" in shown) == (True, True), shown
    assert (f"home       {other}, by CLAUDE_CONFIG_DIR" in led, "other@x.y" in led) == (True, True), led
    assert f"c: CLAUDE_CONFIG_DIR of your environment leads it to {other}" in doctor


def test_changes_that_do_not_fit_on_the_screen_are_shown_page_by_page(home, talk):
    """In the user's own pager, as often as it is asked for, before anything is written."""
    pager = home / "pager"
    pager.write_text("#!/bin/sh\necho page: $(wc -l) lines\n")
    pager.chmod(0o755)
    answers = [("Paste the code: ", "ann\r"), ("It joins [claude]: ", "\r"), ("d shows them page by page", "")]
    answers += [("(y/n) ", "d\r"), ("page: ", ""), ("(y/n) ", "y\r")]
    code, shown = talk(answers, *ADD, "--no-test", PAGER=str(pager))

    assert 0 == code, shown
    assert "[work]" in text(home)


def test_a_login_without_a_name_is_told_in_words_that_are_said_once(home, run):
    (home / ".claude").mkdir()
    (home / ".claude/.credentials.json").write_text('{"mail": null, "claudeAiOauth": {"accessToken": "x"}}')
    added = run("account", "add", "claude", "c", "--home", home / ".claude", "--yes", "--no-test").stdout.decode()
    shown = run("account", "show", "c").stdout.decode()

    assert "\nlogged in (max)\n" in added
    assert "logged in  yes (max)\n" in shown


def test_a_login_is_not_lost_to_whoever_writes_at_the_same_time(home, talk, run):
    def add_other():
        assert 0 == run("account", "add", "codex", "other", "--no-login", "--yes", "--no-test").returncode
        return "y\r"

    answers = [("Paste the code: ", "ann\r"), ("It joins [claude]: ", "\r"), ("(y/n) ", add_other)]
    answers += [("was changed in the meantime: this would be written now", ""), ("(y/n) ", "y\r")]
    code, shown = talk(answers, *ADD, "--no-test")

    assert 0 == code, shown
    assert ["[other]", "[work]"] == sorted(one for one in text(home).splitlines() if one in ("[other]", "[work]"))
    assert (home / ".claude-work/.credentials.json").is_file()
