"""`config get`, `set` and `edit`: what is wrong is told and not written, and comments stay."""

import fcntl
import json
import os
import re
import shutil
import sys
import tempfile
import tomllib
from contextlib import contextmanager
from pathlib import Path

import pexpect
import pytest

from oulipoly_engine.cli.main import main
from oulipoly_engine.config.app_file import read_themes
from oulipoly_engine.paths import from_environment
from oulipoly_tui import find_app_faults

SETTINGS = "# mine\nrouting_ttl_seconds = 60 # calm\n"


@contextmanager
def lock_folder(folder):
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    yield
    os.close(descriptor)


@pytest.fixture
def paths():
    found = from_environment(os.environ)
    found.models.mkdir(parents=True)
    found.settings.write_text(SETTINGS)
    found.providers.write_text('[ada]\ncommand = "sh"\nargs = ["-c"]\n')
    (found.models / "opus.toml").write_text('sticky = true\n[[providers]]\nname = "ada"\nargs = ["--fast"]\n')
    return found


@pytest.fixture
def editor(tmp_path):
    """Make the editor a script, which gets the file as `$1`."""
    program = tmp_path / "editor"

    def use(script):
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VISUAL", str(program))
        yield use


@pytest.mark.parametrize(
    ("key", "printed"),
    [
        ("routing_ttl_seconds", "60\n"),
        ("settings.tie_rule", "fewest-calls\n"),
        ("accounts.ada.command", "sh\n"),
        ("models.opus.sticky", "true\n"),
        ("models.opus.ada.args", '["--fast"]\n'),
        ("app.theme", ""),
    ],
)
def test_get_prints_a_setting(key, printed, paths, capfd):
    assert 0 == main(["config", "get", key])
    assert printed == capfd.readouterr().out


def test_get_says_what_is_wrong_with_what_it_reads(paths, capfd, monkeypatch):
    paths.config.mkdir(parents=True, exist_ok=True)
    (paths.config / "config.toml").write_text("[broken")
    monkeypatch.setenv("AGENT_RUNNER_MAX_RESPONSE_TOKENS", "many")
    main(["config", "get", "max_response_tokens"])
    said = capfd.readouterr().err

    assert "config.toml:1: the file is not valid TOML" in said
    assert "$AGENT_RUNNER_MAX_RESPONSE_TOKENS: it must be a whole number" in said


def test_get_tells_scripts_the_file_too(paths, capfd):
    assert 0 == main(["config", "get", "models.opus.ada.args", "--json"])

    expected = {"key": "models.opus.ada.args", "value": ["--fast"], "file": str(paths.models / "opus.toml")}
    assert expected | {"source": "line 4", "option": None} == json.loads(capfd.readouterr().out)


def test_get_tells_the_option_that_stands_above_the_file(paths, capfd):
    assert 0 == main(["config", "get", "app.read_only", "--json"])

    assert "--read-only" == json.loads(capfd.readouterr().out)["option"]


def test_set_keeps_comments_and_tells_the_old_value(paths, capfd):
    assert 0 == main(["config", "set", "routing_ttl_seconds", "20"])

    assert "settings.routing_ttl_seconds: 60 -> 20\n" == capfd.readouterr().out
    assert SETTINGS.replace("60", "20") == paths.settings.read_text()


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["routing_ttl_seconds", "soon"], "it must be a number"),
        (["tie_rul", "lowest-use"], "did you mean 'settings.tie_rule'?"),
        (["accounts.bob.args", "[]"], "accounts.ada.args"),
        (["default_provider", "adda"], "there is no account 'adda': did you mean 'ada'?"),
        (["diagnostics_model", "opuss"], "there is no model 'opuss': did you mean 'opus'?"),
        (["models.opus.ada.name", "eve"], "there is no account 'eve': there are ada"),
        (["models.opus.providers", "['ada', 'eve']"], "there is no account 'eve'"),
        (["models.opus.providers", "[]"], "the list `providers` is empty"),
        (["app.keys.pools.drian", "x"], "write 'pools.drain'"),
        (["app.keys.pools.drain", "escpae"], "write 'escape'"),
        (["app.keys.pools.drain", "w"], "the key w means both pools.why and pools.drain"),
        (["app.theme", "drak"], "there is no theme 'drak'"),
    ],
)
def test_set_refuses_and_writes_nothing(arguments, told, paths, capfd):
    assert 2 == main(["config", "set", *arguments], find_app_faults=find_app_faults)

    assert told in capfd.readouterr().err
    assert SETTINGS == paths.settings.read_text()
    assert not (paths.config / "app.toml").exists()


def test_get_refuses_an_action_that_there_is_not(paths, capfd):
    assert 2 == main(["config", "get", "app.keys.pools.drian"], find_app_faults=find_app_faults)
    assert "write 'pools.drain'" in capfd.readouterr().err
    assert 0 == main(["config", "get", "app.keys.pools.drain"], find_app_faults=find_app_faults)


def test_a_list_keeps_the_comments_within_its_brackets(paths):
    paths.providers.write_text('[ada]\ncommand = "sh"\nargs = [\n  # quiet\n  "-q",\n  "-c", # what to do\n] # end\n')

    assert 0 == main(["config", "set", "accounts.ada.args", "['-q', '-v', '-c']"])

    expected = 'args = [\n  # quiet\n  "-q",\n  "-v",\n  "-c", # what to do\n] # end\n'
    assert paths.providers.read_text().endswith(expected)


def test_accounts_of_a_pool_are_set_as_a_list(paths):
    model = paths.models / "opus.toml"
    with paths.providers.open("a") as file:
        file.write('[bob]\ncommand = "sh"\n[cyd]\ncommand = "sh"\n')
    model.write_text('# mine\n\n[[providers]]\nname = "ada" # one\n[[providers]]\nname = "bob"\nargs = ["-f"] # fast\n')

    assert 0 == main(["config", "set", "models.opus.providers", "['bob', 'cyd']"])

    expected = '# mine\n\n[[providers]]\nname = "bob"\nargs = ["-f"] # fast\n\n[[providers]]\nname = "cyd"\n'
    assert expected == model.read_text()


def test_account_undo_takes_back_what_was_set_last(paths, capfd):
    assert 0 == main(["config", "set", "routing_ttl_seconds", "30"])
    assert "account undo" in capfd.readouterr().err
    assert 0 == main(["account", "undo", "--yes"])

    assert "Undone: set settings.routing_ttl_seconds\n" == capfd.readouterr().out
    assert SETTINGS == paths.settings.read_text()
    assert 1 == main(["account", "undo", "--yes"])


def test_account_undo_says_which_change_comes_next_and_what_changes_nothing_is_none(paths, capfd):
    assert 0 == main(["config", "set", "routing_ttl_seconds", "30"])
    assert 0 == main(["config", "set", "tool_timeout_seconds", "5"])
    capfd.readouterr()
    assert 0 == main(["config", "set", "tool_timeout_seconds", "5"])
    assert 0 == main(["config", "unset", "tie_rule"])
    written = capfd.readouterr()
    assert "settings.tool_timeout_seconds: 5, as it was\nsettings.tie_rule: " in written.out
    assert "Undo" not in written.err
    assert 0 == main(["account", "undo", "--yes"])

    assert "undoes what came before: set settings.routing_ttl_seconds" in capfd.readouterr().err


def test_a_dry_run_writes_nothing(paths, capfd):
    assert 0 == main(["config", "set", "--dry-run", "routing_ttl_seconds", "20"])
    assert SETTINGS == paths.settings.read_text()


def test_edit_writes_what_is_right(paths, editor, capfd):
    editor("""sed -i 's/60/20/' "$1" """)

    assert 0 == main(["config", "edit"])

    assert f"wrote {paths.settings}\n" == capfd.readouterr().out
    assert SETTINGS.replace("60", "20") == paths.settings.read_text()


@pytest.mark.parametrize(
    ("file", "change", "told"),
    [
        ("config", "s/60/soon/", "config.toml:2: "),
        ("providers", "s/ada/eve/", "models/opus.toml:3: "),
        ("models/opus", "s/ada/eve/", "models/opus.toml:3: "),
    ],
)
def test_edit_tells_the_line_and_leaves_the_file(file, change, told, paths, editor, capfd, tmp_path):
    before = {path: path.read_text() for path in (paths.settings, paths.providers, paths.models / "opus.toml")}
    editor(f"""sed -i '{change}' "$1"; echo "$1" > {tmp_path}/place""")

    assert 2 == main(["config", "edit", file])

    assert f"{paths.config}/{told}" in capfd.readouterr().err
    assert before == {path: path.read_text() for path in before}
    assert not os.path.lexists((tmp_path / "place").read_text().strip())


def test_edit_goes_on_where_it_was(paths, editor, tmp_path):
    editor("""if grep -q soon "$1"; then sed -i s/soon/20/ "$1"; else sed -i s/60/soon/ "$1"; fi""")
    arguments = ["-m", "oulipoly_tui", "config", "edit"]
    asked = pexpect.spawn(sys.executable, arguments, env=dict(os.environ), encoding="utf-8", timeout=60)
    asked.expect_exact("Edit again? (Y/n)")
    asked.sendline("")
    asked.expect_exact("wrote ")
    asked.expect(pexpect.EOF)
    asked.close()

    assert SETTINGS.replace("60", "20") == paths.settings.read_text()


@pytest.mark.parametrize("script", ['rm "$1"', 'rm -r "$(dirname "$1")"'])
def test_an_editor_that_deletes_its_copy_deletes_no_file(script, paths, editor, capfd):
    editor(script)

    assert 0 == main(["config", "edit"])

    assert f"{paths.settings} is as it was\n" == capfd.readouterr().out
    assert SETTINGS == paths.settings.read_text()


def test_copies_that_killed_edits_have_left_are_removed(paths, editor, tmp_path, monkeypatch):
    editor("true")
    old, new, kept, held = (tmp_path / f"agents-config-{name}" for name in ("old", "new", "kept", "held"))
    for folder in (old, new, kept, held):
        folder.mkdir()
        (folder / "config.toml").write_text("secret")
    (kept / ".kept").touch()
    for folder in (old, kept, held):
        os.utime(folder, (0, 0))
    with monkeypatch.context() as patch, lock_folder(held):
        patch.setattr(tempfile, "tempdir", str(tmp_path))
        assert 0 == main(["config", "edit"])

    assert {new, kept, held} == set(tmp_path.glob("agents-config-*"))


def test_what_was_written_stays_where_the_file_has_changed_meanwhile(paths, editor, capfd, tmp_path):
    editor(f"""sed -i 's/60/20/' "$1"; echo "# theirs" >> {paths.settings}; echo "$1" > {tmp_path}/place""")

    assert 2 == main(["config", "edit"])

    place = Path((tmp_path / "place").read_text().strip())
    assert f"what you wrote is in {place}" in capfd.readouterr().err
    assert SETTINGS.replace("60", "20") == place.read_text()
    assert f"{SETTINGS}# theirs\n" == paths.settings.read_text()
    shutil.rmtree(place.parent)


def test_a_command_of_ones_own_is_added_changed_and_removed(paths, capfd):
    file = paths.config / "app.toml"
    file.write_text('# mine\ntheme = "dark"\n\n[keys]\n"pools.why" = "w"\n# the end\n')
    before = file.read_text()
    steps = [
        ("app.commands.my log", "git -C {cwd} log"),
        ("commands.my log.key", "f9"),
        ("app.commands.my log.panes", '["sessions"]'),
        ("app.commands.my log", '["git", "log"]'),
        ("app.commands.other", '{command = "ls", run = "background"}'),
        ("app.commands.my log.name", "new log"),
    ]
    assert [0] * 6 == [main(["config", "set", *step], find_app_faults=find_app_faults) for step in steps]
    assert 2 == main(["config", "set", "app.commands.new log.kye", "f9"], find_app_faults=find_app_faults)
    assert "'kye' is not a setting of the command 'new log': write key" in capfd.readouterr().err
    found = tomllib.loads(file.read_text())["commands"]
    own = {"name": "new log", "command": ["git", "log"], "key": "f9", "panes": ["sessions"]}
    assert [own, {"name": "other", "command": "ls", "run": "background"}] == found
    assert 0 == main(["config", "get", "app.commands.other"])
    assert '{command = "ls", run = "background"}' == capfd.readouterr().out.splitlines()[-1]
    for name in ("new log", "other"):
        assert 0 == main(["config", "set", f"app.commands.{name}", ""])
    assert before == file.read_text().rstrip("\n") + "\n"


def test_an_account_called_commands_keeps_its_table(paths):
    paths.providers.write_text('[commands]\ncommand = "cat"\nargs = ["-a"]\n')
    assert 0 == main(["config", "set", "accounts.commands.args", '["-n"]'])
    assert '[commands]\ncommand = "cat"\nargs = ["-n"]\n' == paths.providers.read_text()


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("app.commands.mine", "ls {cdw}", "there is no placeholder {cdw}; write {cwd}"),
        ("app.commands.mine", '{key = "f9"}', "`command` is missing"),
        ("app.commands.mine", '{command = "ls", key = "w"}', "the key w means both commands.mine and pools.why"),
        ("app.commands.log", "ls", "the name 'log' is that of another command"),
        ("app.commands.nine.key", "f9", "there is no command 'nine'"),
        ("app.commands.mine", "", "there is no command 'mine'"),
        ("app.commands.mine\nx", "ls", "is not a name"),
    ],
    ids=["placeholder", "no command", "key", "name", "of none", "none", "name with a break"],
)
def test_a_wrong_command_of_ones_own_is_refused(key, value, told, paths, capfd):
    assert 2 == main(["config", "set", key, value], find_app_faults=find_app_faults)
    assert told in capfd.readouterr().err
    assert not (paths.config / "app.toml").exists()


def test_a_projects_setting_counts_once_it_is_trusted_and_until_that_is_revoked(paths, tmp_path, monkeypatch, capfd):
    folder = tmp_path / "project" / "src"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)

    def agents(*words, code=0):
        assert code == main(list(words))
        return capfd.readouterr()

    def look():
        origins = json.loads(agents("config", "show", "--origin", "--json").out)
        return origins["settings"]["auto_compaction"]["value"], [each["key"] for each in origins["ignored"]]

    agents("config", "set", "tie_rule", "lowest-use", "--project")
    assert "not trusted" in agents("config", "set", "auto_compaction", "false", "--project").err
    assert (True, ["auto_compaction"]) == look()
    assert "auto_compaction = false" in agents("config", "trust", code=2).out
    with monkeypatch.context() as inside_an_agent:
        inside_an_agent.setenv(
            "OULIPOLY_PARENT_INVOCATION", '{"source":"claude1","id":"3b241101-e2bb-4255-8caf-4136c566a962"}'
        )
        assert "an agent may not trust a project" in agents("config", "trust", "--yes", code=1).err
    agents("config", "trust", "--yes")
    assert (False, []) == look()
    origin = json.loads(agents("config", "get", "tie_rule", "--json").out)
    file = folder / ".agent-runner" / "settings.toml"
    assert ("lowest-use", "project", f"{file}:1") == (origin["value"], origin["layer"], origin["source"])

    (grant,) = json.loads(agents("grants", "list", "--json").out)["grants"]
    assert ("project", str(folder)) == (grant["kind"], grant["subject"])
    agents("grants", "revoke", grant["id"])
    assert (True, ["auto_compaction"]) == look()

    agents("config", "unset", "--project", "tie_rule")
    assert "auto_compaction = false\n" == file.read_text()
    assert "own files" in agents("config", "set", "archive", "false", "--project", code=2).err
    assert "most-headroom\n" == agents("--set", "tie_rule=most-headroom", "config", "get", "tie_rule").out
    monkeypatch.setenv("AGENT_RUNNER_TIE_RULE", "lowest-use")
    assert "$AGENT_RUNNER_TIE_RULE stands above it" in agents("config", "set", "tie_rule", "fewest-calls").err


def test_setting_that_is_taken_out_says_that_the_default_holds(paths, capfd):
    paths.settings.parent.mkdir(parents=True, exist_ok=True)
    paths.settings.write_text("tool_timeout_seconds = 5\n")

    assert 0 == main(["config", "unset", "tool_timeout_seconds"])

    assert re.fullmatch(r"settings\.tool_timeout_seconds: 5 -> \d+ \(the default\)\n", capfd.readouterr().out)


def test_a_projects_file_is_edited_checked_and_gone_once_it_says_nothing(paths, tmp_path, monkeypatch, editor, capfd):
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    file = folder / ".agent-runner" / "settings.toml"
    assert 0 == main(["config", "path", "--json"])
    assert json.loads(capfd.readouterr().out)["project"] is None

    editor('echo tie_rul = \'"lowest-use"\' > "$1"')
    assert 2 == main(["config", "edit", "project"])
    assert f"{file}:1: tie_rul: there is no setting 'tie_rul'. Fix: write tie_rule" in capfd.readouterr().err
    editor('printf \'tie_rule = "lowest-use"\\nauto_compaction = false\\n\' > "$1"')
    assert 0 == main(["config", "edit", "project"])
    assert "auto_compaction has no effect yet: the folder is not trusted" in capfd.readouterr().err
    assert 0 == main(["config", "path", "--json"])
    assert str(file) == json.loads(capfd.readouterr().out)["project"]

    for key in ("auto_compaction", "tie_rule"):
        assert file.exists()
        assert 0 == main(["config", "unset", "--project", key])
    assert not file.exists()
    assert 0 == main(["account", "undo", "--yes"])
    assert 'tie_rule = "lowest-use"\n' == file.read_text()


def test_what_is_switched_off_and_on_stands_in_a_list_that_comments_survive(paths, tmp_path, monkeypatch, capfd):
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    (paths.config / "prompts").mkdir()
    (paths.config / "prompts" / "review.md").write_text("Review it.")
    paths.settings.write_text("# mine\n")
    (project / "mine.md").write_text("Mine.")

    def agents(*words, code=0):
        assert code == main([*words], find_app_faults=find_app_faults)
        return capfd.readouterr()

    def names():
        resources = json.loads(agents("config", "list", "--json").out)["resources"]
        return [(each["type"], each["name"], each["enabled"], each["layer"]) for each in resources]

    agents("config", "disable", "prompts", "review")
    (paths.config / "themes").mkdir()
    (paths.config / "themes" / "nord.toml").write_text('primary = "red"\n')
    agents("config", "disable", "theme", "nord")
    assert () == read_themes(paths).value
    agents("config", "enable", "prompt", "./mine.md")
    assert '# mine\nprompts = ["!review", "' in paths.settings.read_text()
    mine = str(project / "mine.md")
    expected = [("prompt", mine, True, "global"), ("prompt", "review", False, "global")]
    assert [*expected, ("theme", "nord", False, "global")] == names()

    assert "not trusted" in agents("config", "enable", "prompt", "review", "--project").err
    assert names()[0] == expected[0]
    agents("config", "trust", "--yes")
    assert ("prompt", "review", True, None) in names()
    for name in ("review", mine):
        agents("config", "enable" if name == "review" else "disable", "prompt", name)
    assert "# mine\nthemes" in paths.settings.read_text()

    assert "did you mean review?" in agents("config", "disable", "prompt", "reviev", code=2).err.replace("'", "")
    assert "did you mean skill?" in agents("config", "list", "skil", code=2).err
    assert "there is nothing at" in agents("config", "enable", "skill", "./nowhere", code=2).err
