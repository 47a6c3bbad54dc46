"""Single settings: where they come from, what refuses a new value, and comments that stay where they are."""

import pytest

from oulipoly_engine.config.edit import settings_edit, write_files
from oulipoly_engine.config.edit.undo import undo_last
from oulipoly_engine.errors import ConfigInvalid, RequestRefused
from oulipoly_engine.paths import from_environment
from oulipoly_engine.service.accounts.settings import Settings

PROVIDERS = """# mine
[ada]
command = "sh" # the shell
args = ["-c", "cat"]
# before bob
[bob]
command = "sh"
"""
MODEL = """sticky = true # why not
[[providers]]
name = "ada"
[[providers]]
name = "bob"
args = ["--fast"] # quick
"""


def save(setting, typed):
    write_files.write(settings_edit.plan([(setting, typed)]))


@pytest.fixture
def paths(home):
    found = from_environment()
    found.models.mkdir(parents=True)
    found.providers.write_text(PROVIDERS)
    (found.models / "opus.toml").write_text(MODEL)
    found.settings.write_text("routing_ttl_seconds = 60 # calm\n")
    return found


def setting(paths, *path, file=None):
    found = [one for section in settings_edit.sections(paths) for one in section.settings if one.path == path]
    return next(one for one in found if file is None or one.file.name == file)


def test_values_say_where_they_come_from(paths):
    assert ("60", "line 1") == (
        setting(paths, "routing_ttl_seconds").shown,
        setting(paths, "routing_ttl_seconds").source,
    )
    assert ('"fewest-calls"', "default") == (setting(paths, "tie_rule").shown, setting(paths, "tie_rule").source)
    assert ("sh", "line 3") == (setting(paths, "ada", "command").text, setting(paths, "ada", "command").source)
    assert ('["--fast"]', "line 6") == (
        setting(paths, "providers", 1, "args").shown,
        setting(paths, "providers", 1, "args").source,
    )


@pytest.mark.parametrize(
    ("path", "typed", "said"),
    [
        (("routing_ttl_seconds",), "-1", "greater than or equal to 0"),
        (("routing_ttl_seconds",), "soon", "a number"),
        (("tie_rule",), "lowest", "is not one of"),
        (("ada", "args"), "-c cat", "a list in brackets"),
        (("ada", "timeout_seconds"), "0", "greater than 0"),
        (("providers", 0, "name"), "", "missing"),
        (("sticky",), "maybe", "true or false"),
    ],
)
def test_what_the_checker_refuses_is_said_and_not_written(paths, path, typed, said):
    chosen = setting(paths, *path)
    before = chosen.file.read_text()

    assert said in settings_edit.refusal(chosen, typed)
    with pytest.raises(ConfigInvalid, match=path[-1]):
        save(chosen, typed)
    assert before == chosen.file.read_text()


@pytest.mark.parametrize(
    ("path", "typed", "line"),
    [
        (("ada", "command"), "bash", 'command = "bash" # the shell'),
        (("ada", "args"), '["-l"]', 'args = ["-l"]'),
        (("ada", "quota_script"), "my quota --now", 'quota_script = "my quota --now"'),
        (("bob", "timeout_seconds"), "2.5", "timeout_seconds = 2.5"),
    ],
)
def test_change_keeps_every_comment(paths, path, typed, line):
    save(setting(paths, *path), typed)

    text = paths.providers.read_text()
    assert line in text
    assert text.startswith("# mine\n")
    assert "# before bob\n[bob]" in text


def test_member_of_a_model_is_changed_in_its_place(paths):
    save(setting(paths, "providers", 1, "args"), '["--slow"]')

    assert MODEL.replace("--fast", "--slow") == (paths.models / "opus.toml").read_text()


def test_empty_takes_a_setting_away(paths):
    save(setting(paths, "routing_ttl_seconds"), "")

    assert "default" == setting(paths, "routing_ttl_seconds").source


def test_file_that_is_missing_is_made(paths):
    save(setting(paths, "theme", file="app.toml"), "light")
    save(settings_edit.key_setting(paths, "pools.drain", "d"), "ctrl+d")

    assert 'theme = "light"\n\n[keys]\n"pools.drain" = "ctrl+d"\n' == (paths.config / "app.toml").read_text()


def test_broken_file_is_said_and_left_alone(paths):
    paths.settings.write_text("tie_rule = \n")
    section = next(one for one in settings_edit.sections(paths) if one.title.startswith("config.toml"))

    assert "not valid TOML" in section.failure
    with pytest.raises(ConfigInvalid, match="not valid TOML"):
        save(section.settings[0], "demo")


def test_secret_is_hidden_and_home_is_short(paths):
    paths.providers.write_text(f'[ada]\nargs = ["--api-key", "sk-ant-api03-abcdefghijklmnop", "{paths.home}/x"]\n')

    shown = setting(paths, "ada", "args").shown
    assert "abcdefgh" not in shown
    assert '"~/x"' in shown


def test_wrong_value_in_the_file_is_said_at_its_row(paths):
    paths.settings.write_text('tie_rule = "tallest"\n')

    assert "is not one of" in setting(paths, "tie_rule").fault


def test_read_only_changes_nothing(paths):
    with pytest.raises(RequestRefused, match="read-only"):
        Settings(paths, read_only=True).save(setting(paths, "sticky"), "false")


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ('keys."pools.pin" = "f9"\n', ""),
        ('keys."pools.pin" = "f9"\n# mine\nkeys."pools.drain" = "f7"\n', '# mine\nkeys."pools.drain" = "f7"\n'),
        (
            'keys."pools.pin" = "f9"\ntheme = "dark"\nkeys."pools.drain" = "f7"\n',
            'theme = "dark"\nkeys."pools.drain" = "f7"\n',
        ),
        ('[keys]\n"pools.pin" = "f9"\n', "[keys]\n"),
    ],
)
def test_a_dotted_key_is_taken_away(paths, text, after):
    file = paths.config / "app.toml"
    file.write_text(text)
    save(settings_edit.key_setting(paths, "pools.pin", "p"), "")

    assert after == file.read_text()


def test_a_byte_order_mark_stays(paths):
    file = paths.config / "app.toml"
    file.write_bytes(b'\xef\xbb\xbf# mine\r\ntheme = "dark"\r\n')
    save(setting(paths, "theme"), "light")

    assert b'\xef\xbb\xbf# mine\r\ntheme = "light"\r\n' == file.read_bytes()


def test_an_account_that_has_moved_or_gone_since_is_not_taken_for_another(paths):
    of_bob, of_ada = setting(paths, "providers", 1, "args"), setting(paths, "ada", "command")
    (paths.models / "opus.toml").write_text('[[providers]]\nname = "bob"\n[[providers]]\nname = "ada"\n')
    paths.providers.write_text('[bob]\ncommand = "sh"\n')

    for one, name in ((of_bob, "bob"), (of_ada, "ada")):
        before = one.file.read_text()
        with pytest.raises(ConfigInvalid, match=f"the file was changed, and {name} is not there any more"):
            save(one, "true")
        assert before == one.file.read_text()


def test_values_that_are_saved_together_are_all_written_or_none(paths):
    """They are checked as what they are together; of one that is refused, or cannot be written, nothing stays."""
    ttl, theme = setting(paths, "routing_ttl_seconds"), setting(paths, "theme", file="app.toml")
    before = {path: path.read_bytes() for path in paths.config.rglob("*.toml")}
    settings = Settings(paths)
    with pytest.raises(ConfigInvalid, match="sticky"):
        settings.save_all([(ttl, "90"), (theme, "light"), (setting(paths, "sticky", file="opus.toml"), "perhaps")])
    assert before == {path: path.read_bytes() for path in paths.config.rglob("*.toml")}

    step = settings.save_all(
        [(ttl, "90"), (theme, "light"), (ttl, "100"), (setting(paths, "tie_rule"), "most-headroom")]
    )
    assert 'routing_ttl_seconds = 100 # calm\ntie_rule = "most-headroom"\n' == paths.settings.read_text()
    assert 'theme = "light"\n' == (paths.config / "app.toml").read_text()

    assert "set tie_rule in config.toml" == undo_last(paths.data, step).what  # as `account undo` does
    assert before == {path: path.read_bytes() for path in paths.config.rglob("*.toml")}
