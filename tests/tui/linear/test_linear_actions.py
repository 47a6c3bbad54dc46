"""The linear face's menus for sessions and settings: what the full screen can do, in plain lines."""

import os
import re
import tomllib

import pytest

SESSION = "11111111-1111-4111-8111-111111111111"
TALK = (
    f'{{"type":"user","uuid":"u1","parentUuid":null,"isSidechain":false,"sessionId":"{SESSION}","cwd":"%s",'
    '"timestamp":"2026-11-20T10:00:00Z","message":{"role":"user","content":"Mend the roof"}}\n'
)


@pytest.fixture
def talk(app_world, agents):
    """Talk to the linear face in a world with one session of an account that can resume and fork."""
    root = app_world.home / ".eve" / "projects"
    storage = (
        "[eve.resume]\nkind = 'flag'\nflag = '--resume'\n"
        "fork_args = ['--resume', '{session_id}', '--fork-session']\n"
        "[eve.session_storage]\nkind = 'script'\nstorage_type = 'claude_code'\n"
        f"cwd_script = 'claude-code-cwd {root}'\ntranscript_script = 'claude-code-locate-transcript {root}'\n"
    )
    app_world.account("eve", extra=storage)
    app_world.model("talk", "eve")
    app_world.write("sessions.toml", f"[eve]\nturn_script = 'claude-code-turns {root}'\n")
    folder = root / re.sub(r"[^A-Za-z0-9]", "-", str(app_world.home))  # as Claude Code names it
    folder.mkdir(parents=True)
    app_world.transcript = folder / f"{SESSION}.jsonl"
    app_world.transcript.write_text(TALK % app_world.home)

    def run(*answers, arguments=()):
        done = agents("--linear", *arguments, stdin="".join(f"{answer}\n" for answer in answers).encode())
        assert 0 == done.returncode, done.stderr.decode()
        return done.stdout.decode()

    return run


IN = ("Sessions", "List, read, change", "", "1")


def test_a_bundle_is_packed_and_unpacked_after_a_yes(talk, app_world):
    file = app_world.home / "talk.bundle"
    text = talk(*IN, "Bundle", file)
    assert f"{file}. {file.stat().st_size} bytes." in text
    app_world.transcript.unlink()
    text = talk("Sessions", "Unbundle", file, "", "y")

    assert f"Session {SESSION}. Account eve." in text
    assert "Unpacked on eve." in text
    assert "Mend the roof" in app_world.transcript.read_text()


@pytest.mark.parametrize("place", ["~nobody-of-that-name/x", "x" * 300, "fifo"], ids=["nobody's home", "long", "fifo"])
def test_a_path_that_cannot_be_used_is_told(talk, app_world, place):
    os.mkfifo(app_world.home / "fifo")

    assert "Error. " in talk("Sessions", "Unbundle", place, "")
    assert place == "fifo" or "Error. " in talk(*IN, "Bundle", place)


def test_it_goes_on_in_another_folder_where_one_is_named(talk, app_world):
    file, other = app_world.home / "talk.bundle", app_world.home / "other"
    other.mkdir()
    talk(*IN, "Bundle", file)
    app_world.transcript.unlink()

    assert f"In {other}. 1 file." in talk("Sessions", "Unbundle", file, other, "y")


def test_a_no_unpacks_nothing_and_rubbish_is_told(talk, app_world):
    file, rubbish = app_world.home / "talk.bundle", app_world.home / "rubbish"
    rubbish.write_bytes(b"\x00not a bundle")
    talk(*IN, "Bundle", file)
    app_world.transcript.unlink()
    text = talk("Sessions", "Unbundle", file, "", "n", "Unbundle", rubbish, "")

    assert "Error. " in text
    assert not app_world.transcript.exists()


def test_the_archive_keeps_and_puts_back(talk, app_world):
    before = app_world.transcript.read_bytes()
    assert "Archive. " in talk(*IN, "Archive", "Archive all")
    app_world.transcript.unlink()

    assert "1 file put back" in talk(*IN, "Restore")
    assert before == app_world.transcript.read_bytes()


@pytest.mark.parametrize("deed", ["Resume", "Fork"])
def test_going_on_and_forking_need_a_terminal_and_say_so(talk, deed):
    assert "Error. " in talk(*IN, deed)


def test_a_setting_is_changed_a_wrong_one_refused_and_one_left(talk, app_world):
    lines = ("Settings", "Show and change", "config.toml · every run")
    number = next(line.split(".")[0].strip() for line in talk(*lines).splitlines() if ". routing_ttl_seconds: " in line)
    text = talk(*lines, number, "soon", "20")

    assert "The age at which quota is read again before a choice." in text
    assert "Error. " in text
    assert "Saved." in text
    assert "routing_ttl_seconds = 20" in (app_world.config / "config.toml").read_text()
    talk(*lines, number, "")
    assert "routing_ttl_seconds = 20" in (app_world.config / "config.toml").read_text()
    assert "Taken away: the default holds." in talk(*lines, number, "-")
    assert "routing_ttl_seconds" not in (app_world.config / "config.toml").read_text()


def test_a_choice_is_made_from_a_list_that_says_what_each_means(talk, app_world):
    lines = ("Settings", "Show and change", "config.toml · every run", "tie_rule")
    text = talk(*lines, "dice", "lowest-use")

    assert "lowest-use. The one that has used the least of its windows." in text
    assert "There is no 'dice' here." in text
    assert 'tie_rule = "lowest-use"' in (app_world.config / "config.toml").read_text()
    talk(*lines, "The default")
    assert "tie_rule" not in (app_world.config / "config.toml").read_text()


def test_items_are_added_to_a_list_and_taken_from_it(talk, app_world):
    pool = ("Settings", "Show and change", "models/opus.toml", "providers")

    assert "Saved." in talk(*pool, "Add one", "cyd")
    assert "Saved." in talk(*pool, "Take ada away")
    assert ["bob", "cyd"] == re.findall("name = ['\"](.*)['\"]", (app_world.config / "models/opus.toml").read_text())


def test_no_secret_of_a_setting_that_is_changed_is_told(talk, app_world):
    key, file = "sk-ant-api03-" + "q7" * 20, app_world.config / "providers.toml"
    file.write_text(f'[bob]\ncommand = "cat"\nargs = ["--api-key", "pw", "-p"]\nquota_script = "ask {key}"\n')
    text = talk("Settings", "Show and change", "providers.toml · bob", "5", "ask again")

    assert "New value of quota_script; empty leaves it" in text
    assert key not in text
    assert "Take pw away" not in talk("Settings", "Show and change", "providers.toml · bob", "2", "Take -p")
    assert {"command": "cat", "args": ["--api-key", "pw"], "quota_script": "ask again"} == tomllib.loads(
        file.read_text()
    )["bob"]


def test_the_second_of_two_lines_that_read_the_same_is_not_taken_for_the_first(talk, app_world):
    pool = ("Settings", "Show and change", "models/opus.toml")
    lines = talk(*pool).splitlines()
    number = next(line.split(".")[0].strip() for line in lines if ". args of account 2, bob: not set" in line)
    assert "Saved." in talk(*pool, number, "Add one", "--fast")
    members = tomllib.loads((app_world.config / "models/opus.toml").read_text())["providers"]
    assert [("ada", None), ("bob", ["--fast"])] == [(one["name"], one.get("args")) for one in members]


def test_sessions_that_read_the_same_are_told_apart_by_their_numbers(talk, app_world):
    twin = app_world.transcript.with_name(SESSION.replace("1", "2") + ".jsonl")
    first = app_world.transcript.read_text()
    second = first.replace('"u1"', '"u2"').replace("null", '"u1"', 1)
    app_world.transcript.write_text(first + second.replace("the roof", "it with slate"))
    other = first + second.replace("the roof", "it with straw")
    twin.write_text(other.replace(SESSION, twin.stem).replace('"u1"', '"v1"').replace('"u2"', '"v2"'))

    read = [talk(*IN[:-1], number, "Read the last turns") for number in "12"]
    assert sorted(("slate" in text, "straw" in text) for text in read) == [(False, True), (True, False)]


def test_a_key_is_named_and_a_clash_refused(talk, app_world):
    key = ("Settings", "Show and change", "app.toml · keys", "pools.drain")
    text = talk(*key, "w", "ctrl+g")

    assert "the key w means both pools.why and pools.drain" in text
    assert '"pools.drain" = "ctrl+g"' in (app_world.config / "app.toml").read_text()


def test_read_only_shows_settings_and_changes_nothing(talk):
    text = talk("Settings", "Show and change", "config.toml · every run", arguments=["--read-only"])

    assert "tie_rule: " in text
    assert "New value" not in text


COMMANDS = """[[commands]]
name = "note"
command = ["sh", "-c", 'printf "%s|" "$@"; pwd', "sh", "{native_id}", "{title}"]
run = "background"
confirm = true

[[commands]]
name = "whose"
command = "echo {account} of {pool}"
run = "background"
panes = ["pools"]
"""


def test_a_command_of_ones_own_runs_on_what_was_chosen_and_stands_in_the_log(talk, app_world):
    app_world.write("app.toml", COMMANDS)
    own = "note, your command"
    text = talk(*IN, own, "n", "List, read, change", "", "1", own, "y", "", "Log", "Find", "nothing like it")
    ran = f"{SESSION}|Mend the roof|{app_world.home}"

    assert f"sh -c 'printf \"%s|\" \"$@\"; pwd' sh {SESSION} 'Mend the roof'\nin {app_world.home}\n" in text
    assert 1 == text.count(f"note runs.\nEnded with 0.\n{ran}\n")
    assert "whose, your command" not in text
    assert re.search(rf"Command \d+\. \S+\. Ended with 0 after .* seconds\. In {app_world.home}\. sh -c", text)
    assert "Nothing was run that fits." in text
    text = talk("Pools", "Run a command", "opus", "ada", "whose", "Run a command", "opus", "ada", "?")
    assert "ada of opus" in text
    assert "1. whose\nCommand" in text


def test_a_command_whose_folder_is_gone_or_that_needs_a_terminal_is_refused(talk, app_world):
    app_world.write("app.toml", COMMANDS.replace('run = "background"\nconfirm = true', ""))
    gone = app_world.home / "gone"
    app_world.transcript.write_text(TALK % gone)
    assert f"the folder of this row is gone, {gone}: nothing was run" in talk(*IN, "note, your command")
    gone.mkdir()
    assert "Error. stdin is not a terminal" in talk(*IN, "note, your command")


def test_a_command_is_added_changed_and_removed(talk, app_world):
    lines, file = ("Settings", "Show and change"), app_world.config / "app.toml"
    text = talk(*lines, "Add a command", "mine", "ls {cdw}", "ls {cwd}", "Show and change", "Add a command", "mine")
    assert "Error. there is no placeholder {cdw}; write {cwd}." in text
    assert "There is a command 'mine' already" in text
    own = (*lines, "app.toml · command mine")
    assert "Saved." in talk(*own, "run", "background")
    assert "Error. the key w means both commands.mine and pools.why" in talk(*own, "key", "w", "")
    command = {"name": "mine", "command": "ls {cwd}", "run": "background"}
    assert [command] == tomllib.loads(file.read_text())["commands"]
    assert "Removed." in talk(*own, "Remove this command", "y")
    assert {} == tomllib.loads(file.read_text())


def test_a_tree_is_listed_and_a_message_of_it_labelled_and_gone_on_behind(talk, app_world):
    first = app_world.transcript.read_text()
    beside = (("u2", "with slate"), ("u3", "with straw"))
    more = [
        first.replace('"u1"', f'"{uuid}"').replace("null", '"u1"').replace("the roof", says) for uuid, says in beside
    ]
    app_world.transcript.write_text("".join((first, *more)))
    tree = (*IN, "Tree")
    text = talk(*tree, "2", "Label it", "thatch", *tree[1:], "2", "Go on behind it", "y", *tree[1:], "")

    assert "3 messages in all branches." in text
    assert "1. user: Mend the roof" in text
    assert "2. Branch of level 1. user: Mend with slate Label thatch. The session goes on here." in text
    assert "3. Branch of level 1. user: Mend with straw The session goes on here." in text


def test_what_was_said_is_found_and_read_with_its_lines(talk, app_world):
    app_world.transcript.write_text(TALK.replace("Mend the roof", "Mend the roof\\nand the door") % app_world.home)
    text = talk("Sessions", "List", "", "", "Search all", "door", "1", "Read the last turns")

    assert "user, account eve, " in text
    assert "user: Mend the roof\n  and the door\n" in text


def test_a_name_is_left_by_an_empty_answer_and_taken_away_by_a_dash(talk):
    named = talk(*IN, "Rename", "help", "roofs", "List, read, change", "", "1", "Rename", "")

    assert "A space before it makes help itself the answer." in named
    assert "1. roofs. Account eve." in talk(*IN, "Rename", "-")
    assert "1. Mend the roof. Account eve." in talk(*IN)


def test_the_list_is_filtered_by_the_words_of_the_command(talk):
    text = talk("Sessions", "List, read, change", "is:work", "List, read, change", "-is:work", "")

    assert "0 sessions." in text
    assert re.search(r"[1-9]\d* sessions?\.", text)
