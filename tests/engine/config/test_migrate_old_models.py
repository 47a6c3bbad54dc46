import stat
import tomllib
from pathlib import Path

import pytest

from oulipoly_engine.config.base.legacy import derive_provider_name, split_command
from oulipoly_engine.config.check import check
from oulipoly_engine.config.migration import migrate
from oulipoly_engine.errors import ConfigInvalid
from oulipoly_engine.paths import Paths

OLD_TOP = """# the big one
command = "env -u CLAUDECODE claude2 -p --model opus" # through env
prompt_mode = "stdin"
interactive_args = ["--dangerously-skip-permissions"]
[resume]
kind = "flag" # a flag
flag = "--resume"
[session_storage]
kind = "claude_code"
projects_dir = "~/.claude2/projects"
[[inputs]] # prompt
name = "prompt"
type = "string"
default_input = true
"""
OLD_POOL = """[[providers]]
# first
command = "claude -p" # cmd
args = ["--model", "haiku"] # model
[providers.session_capture]
# why
kind = "forced_flag_verified"
flag = "--session-id"

# second
[[providers]]
name = "codex"
command = "codex exec"
args = ["-m", "gpt-5", "-c", "model_reasoning_effort=high", "-c", "x=1"]
prompt_mode = "arg"
"""


@pytest.fixture
def paths(tmp_path):
    (tmp_path / "c" / "models").mkdir(parents=True)
    return Paths(tmp_path / "c", tmp_path / "d", Path("/home/me"))


def migrated(paths, **files):
    """Write files by stem, migrate, and return all values afterwards by stem."""
    for name, text in files.items():
        place = paths.config / f"{name}.toml" if name in ("providers", "sessions") else paths.models / f"{name}.toml"
        place.write_text(text)
    migrate.apply(migrate.plan(paths))
    return {path.stem: tomllib.loads(path.read_text()) for path in sorted(paths.config.rglob("*.toml"))}


def test_wrapped_command_parts_into_account_and_model(paths):
    after = migrated(paths, opus=OLD_TOP)

    assert {
        "command": "env",
        "args": ["-u", "CLAUDECODE", "claude2", "-p"],
        "interactive_args": ["-u", "CLAUDECODE", "claude2", "--dangerously-skip-permissions"],
        "prompt_mode": "stdin",
        "resume": {"kind": "flag", "flag": "--resume"},
        "session_storage": {
            "kind": "script",
            "cwd_script": "claude-code-cwd ~/.claude2/projects",
            "transcript_script": "claude-code-locate-transcript ~/.claude2/projects",
            "storage_type": "claude_code",
        },
    } == after["providers"]["claude2"]
    assert [{"name": "claude2", "args": ["--model", "opus"], "interactive_args": ["--model", "opus"]}] == after["opus"][
        "providers"
    ]
    assert {"inputs", "providers"} == set(after["opus"])


def test_pool_entries_part_one_by_one(paths):
    after = migrated(paths, pool=OLD_POOL)

    assert ["-p"] == after["providers"]["claude"]["args"]
    assert "forced_flag_verified" == after["providers"]["claude"]["session_capture"]["kind"]
    assert ("codex", ["exec", "-c", "x=1"], "arg") == tuple(
        after["providers"]["codex"][key] for key in ("command", "args", "prompt_mode")
    )
    assert "interactive_args" not in after["providers"]["codex"]
    assert [
        {"name": "claude", "args": ["--model", "haiku"]},
        {"name": "codex", "args": ["-m", "gpt-5", "-c", "model_reasoning_effort=high"]},
    ] == after["pool"]["providers"]


def test_result_is_a_configuration_without_problems(paths):
    migrated(paths, opus=OLD_TOP, pool=OLD_POOL)

    assert () == check(paths, which=str)


def test_comments_stay_and_move_with_their_values(paths):
    migrated(paths, opus=OLD_TOP, pool=OLD_POOL, providers="# mine\n[claude]\nargs = []\n\n# other\n[other]\n")

    pool, opus = (paths.models / "pool.toml").read_text(), (paths.models / "opus.toml").read_text()
    providers = paths.providers.read_text()
    assert '# first\nname = "claude" # cmd\nargs = ["--model", "haiku"] # model\n\n# second\n[[providers]]' in pool
    assert opus.startswith("# the big one\n")
    assert "[[inputs]] # prompt" in opus
    assert providers.startswith('# mine\n[claude]\nargs = ["-p"]\n')
    assert "\n\n# other\n[other]\n" in providers
    assert 'kind = "flag" # a flag' in providers
    assert "# why\nkind" in providers


def test_second_run_changes_nothing(paths):
    migrated(
        paths, opus=OLD_TOP, pool=OLD_POOL, sessions='[claude]\nturn_script = "claude-code-turns ~/.claude/projects"\n'
    )

    assert () == migrate.plan(paths).files


def test_plan_shows_a_diff_and_writes_nothing(paths):
    (paths.models / "opus.toml").write_text(OLD_TOP)

    plan = migrate.plan(paths)

    assert [paths.providers, paths.models / "opus.toml"] == [change.path for change in plan.files]
    assert '+command = "env" # through env\n' in plan.files[0].diff
    assert '-prompt_mode = "stdin"\n' in plan.files[1].diff
    assert (False, OLD_TOP) == (paths.providers.exists(), (paths.models / "opus.toml").read_text())


def test_conflict_names_both_places_and_nothing_is_written(paths):
    (paths.models / "good.toml").write_text(OLD_TOP)
    (paths.models / "pool.toml").write_text(OLD_POOL)
    paths.providers.write_text('[codex]\ncommand = "codex9"\nargs = ["exec", "-c", "x=1"]\nprompt_mode = "arg"\n')

    with pytest.raises(ConfigInvalid) as caught:
        migrate.plan(paths)

    assert f"[codex].command: {paths.providers} says 'codex9', {paths.models / 'pool.toml'} says 'codex'" in str(
        caught.value
    )
    assert OLD_TOP == (paths.models / "good.toml").read_text()


def test_models_that_disagree_on_an_account_are_a_conflict(paths):
    (paths.models / "a.toml").write_text('command = "claude -p"\n')
    (paths.models / "b.toml").write_text('command = "claude -p --verbose"\n')

    with pytest.raises(ConfigInvalid, match=r"\[claude\]\.args: .*a\.toml says \['-p'\], .*b\.toml says"):
        migrate.plan(paths)


def test_empty_arguments_of_an_earlier_run_are_filled(paths):
    after = migrated(
        paths,
        providers='[claude]\ncommand = "claude"\nargs = []\ninteractive_args = []\n',
        a='[[providers]]\nname = "claude"\nargs = ["-p", "--model", "opus"]\n',
        b='[[providers]]\nname = "claude"\nargs = ["-p", "--model", "haiku"]\n',
    )

    assert ["-p"] == after["providers"]["claude"]["args"]
    assert ["--model", "haiku"] == after["b"]["providers"][0]["args"]
    assert () == migrate.plan(paths).files


def test_empty_arguments_stay_where_models_differ_or_carry_only_options(paths):
    after = migrated(
        paths,
        providers='[claude]\ncommand = "claude"\nargs = []\n[media]\ncommand = "media"\nargs = []\n',
        a='[[providers]]\nname = "claude"\nargs = ["-p"]\n[[providers]]\nname = "media"\nargs = ["i2v", "--fast"]\n',
        b='[[providers]]\nname = "claude"\nargs = ["-p", "--verbose"]\n',
    )

    assert ([], []) == (after["providers"]["claude"]["args"], after["providers"]["media"]["args"])
    assert ["i2v", "--fast"] == after["a"]["providers"][1]["args"]


def test_command_with_arguments_in_providers_is_taken_apart(paths):
    text = '[claude2]\ncommand = "env -u CLAUDECODE claude2 -p"\nargs = []\ninteractive_args = []\n'

    account = migrated(paths, providers=text)["providers"]["claude2"]

    assert ("env", ["-u", "CLAUDECODE", "claude2", "-p"]) == (account["command"], account["args"])
    assert ["-u", "CLAUDECODE", "claude2"] == account["interactive_args"]


def test_storage_follows_from_sessions_and_half_storage_is_completed(paths):
    after = migrated(
        paths,
        providers='[a]\ncommand = "codex"\n[b]\n[b.session_storage]\nkind = "script"\n'
        "cwd_script = \"claude-code-cwd '/x y'\"\n",
        sessions='[a]\nturn_script = "codex-turns ~/.codex/sessions"\n[b]\nturn_script = "own-script"\n',
    )

    assert "codex_session" == after["providers"]["a"]["session_storage"]["storage_type"]
    assert "codex-cwd ~/.codex/sessions" == after["providers"]["a"]["session_storage"]["cwd_script"]
    assert "claude-code-locate-transcript '/x y'" == after["providers"]["b"]["session_storage"]["transcript_script"]


def test_inline_tables_and_dotted_keys_are_edited_too(paths):
    after = migrated(
        paths,
        providers='codex.command = "codex"\ncodex.args = []\n',
        m='providers = [{ command = "codex exec", args = ["-m", "x"] }]\n',
    )

    assert ["exec"] == after["providers"]["codex"]["args"]
    assert [{"name": "codex", "args": ["-m", "x"]}] == after["m"]["providers"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("= broken", "not valid TOML"),
        ('prompt_mode = "arg"\n', "neither a `command` nor a `name`"),
        ('command = "claude"\nargs = "-p"\n', "m.toml:2: args: it must be a list of texts"),
    ],
)
def test_file_that_cannot_be_understood_stops_everything(paths, text, words):
    (paths.models / "m.toml").write_text(text)
    (paths.models / "ok.toml").write_text(OLD_TOP)

    with pytest.raises(ConfigInvalid) as caught:
        migrate.plan(paths)

    assert words in caught.value.message
    assert not paths.providers.exists()


def test_mode_and_links_are_kept(paths, tmp_path):
    real = tmp_path / "real.toml"
    real.write_text(OLD_TOP)
    real.chmod(0o640)
    (paths.models / "m.toml").symlink_to(real)

    migrate.apply(migrate.plan(paths))

    assert (0o640, True) == (stat.S_IMODE(real.stat().st_mode), (paths.models / "m.toml").is_symlink())
    assert "name" in real.read_text()
    assert 0o600 == stat.S_IMODE(paths.providers.stat().st_mode)


def test_file_changed_since_the_plan_is_not_overwritten(paths):
    (paths.models / "m.toml").write_text(OLD_TOP)
    plan = migrate.plan(paths)
    (paths.models / "m.toml").write_text(OLD_TOP + "# more\n")

    with pytest.raises(ConfigInvalid, match="was changed in the meantime"):
        migrate.apply(plan)
    assert not paths.providers.exists()


def test_failed_preparation_leaves_nothing_behind(paths):
    (paths.models / "m.toml").write_text(OLD_TOP)
    plan = migrate.plan(paths)
    broken = migrate.FileChange(paths.models / "m.toml" / "below.toml", None, "x = 1\n")

    with pytest.raises(ConfigInvalid, match="cannot be"):
        migrate.apply(migrate.MigrationPlan((*plan.files, broken), ()))
    assert ["models"] == [path.name for path in paths.config.iterdir()]
    assert ["m.toml"] == [path.name for path in paths.models.iterdir()]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("claude", "claude"),
        ("env -u CLAUDECODE claude2 -p", "claude2"),
        ("env FOO=bar claude3", "claude3"),
        ("/usr/bin/env -i -S x /opt/bin/claude4 exec", "claude4"),
        ("env -u X", "X"),
        ("", ""),
    ],
)
def test_account_name_is_the_real_executable(line, name):
    assert name == derive_provider_name(line)


def test_double_quotes_group_words():
    assert ("a", "b c", "d=e f", "'g", "h'") == split_command('a "b c"  d="e f" \'g h\'')


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize(
    ("providers", "model", "words"),
    [
        ("[a]\ncommand = 'c -p'\nargs = 5\n", "", r"providers.toml:3: a.args: it must be a list of texts"),
        ("[a]\ncommand = 'c -p'\ninteractive_args = [1]\n", "", r"interactive_args: it must be a list of texts"),
        ("[a]\nresume = 'x'\n", "", r"resume: it must be a table"),
        ("", "providers = 5\n", r"m.toml:1: providers: it must be a list of tables"),
        ("", "[[providers]]\nname = 'a'\nargs = 1979-05-27\n", r"m.toml:3: .*args: it must be a list of texts"),
        ("a = {x = 1}\n", "[[providers]]\nname = 'a'\ncommand = 'c'\n[providers.resume]\nkind = {}\n", "plain tables"),
    ],
)
def test_a_value_of_the_wrong_shape_is_named_with_its_place(paths, providers, model, words):
    paths.providers.write_text(providers)
    (paths.models / "m.toml").write_text(model or "[[providers]]\nname = 'a'\n")

    with pytest.raises(ConfigInvalid, match=words):
        migrate.plan(paths)
