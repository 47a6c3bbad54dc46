"""What the app would call wrong in its own files is told by `config check` and by the doctor, and the app opens."""

import json

import pytest

from oulipoly_engine.cli.main import main
from oulipoly_engine.paths import from_environment
from oulipoly_tui import find_app_faults
from oulipoly_tui.base import own_files
from oulipoly_tui.entry import options
from oulipoly_tui.widgets import theming

FILES = {
    "app.toml": 'theme = "mine"\n[keys]\n"pools.drain" = "w"\n"pools.draiin" = "x"\n"pools.why" = "hyper+foo"\n',
    "themes/mine.toml": 'primary = "nocolour"\n',
    "prices.toml": '["opus"]\ninput = "dear"\noutput = 1\n',
}
EXPECTED = {
    ("app.toml", 1, "warning", "there is no theme 'mine', so the dark one is shown"),
    ("app.toml", 3, "error", "the key w means both pools.why and pools.drain"),
    ("app.toml", 4, "error", "[keys] has 'pools.draiin', which is not an action"),
    ("app.toml", 5, "error", "[keys] gives pools.why the key 'hyper+foo', which there is not"),
    ("mine.toml", 1, "warning", "'nocolour' is not a colour, so there is no theme 'mine'"),
}


@pytest.fixture
def slips(empty_world):
    """A configuration with one of each mistake."""
    for name, text in FILES.items():
        empty_world.write(name, text)
    return empty_world


def test_config_check_tells_all_that_the_app_would(slips, agents):
    done = agents("config", "check", "--json")

    told = json.loads(done.stdout)["problems"]
    assert 2 == done.returncode
    assert set() == EXPECTED - {
        (one["file"].rpartition("/")[2], one["line"], one["level"], one["message"]) for one in told
    }
    assert all(one["fix"] for one in told)
    assert [one for one in told if one["file"].endswith("prices.toml") and "input" in one["key"]]


def test_doctor_tells_them_too(slips, agents):
    causes = [one["cause"] for one in json.loads(agents("doctor", "--json").stdout)["findings"]]

    assert all(any(message in cause for cause in causes) for _, _, _, message in EXPECTED)


def test_app_opens_and_says_the_same(slips):
    wishes = options(from_environment(), [])

    assert () == tuple(wishes.themes)
    assert all(any(message in line for line in wishes.warnings) for _, _, _, message in EXPECTED)


def test_names_of_own_themes_need_no_look_at_textual_and_are_known():
    assert all(theming.is_known(name, ()) for name in own_files.OWN_THEMES)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('name = "a"\nkey = "w"\npanes = ["pools"]\ncommand = "ls"', "the key w means both pools.why and commands.a"),
        ('name = "a"\nkey = "R"\ncommand = "ls"', "the key R means both frame.refresh and commands.a"),
        ('name = "a"\nkey = "escpae"\ncommand = "ls"', "the key 'escpae', which there is not"),
        ('name = "quit"\ncommand = "ls"', "the name 'quit' is that of another command"),
        ('name = "a"\ncommand = "ls {cdw}"', "there is no placeholder {cdw}"),
        ('name = "a"\ncommand = "{cwd}/run"', "the program itself depends on the row"),
        ('name = "a"\ncommand = ["sh", "-c", "cat {transcript}"]', "a title could become a command"),
        ('name = "a"\ncommand = "bash -euc \'cat {transcript}\'"', "a title could become a command"),
        ('name = "a"\ncommand = "awk {"', "a brace stands alone"),
        ('name = "a"\ncommand = ""', "it names no program"),
        ('name = "a"\ncommand = "ls"\npanes = ["pool"]', "is not one of pools"),
        ('command = "ls"', "`name` is missing"),
    ],
)
def test_what_is_wrong_with_a_command_of_the_users_own_is_told(text, told, empty_world, capfd):
    empty_world.write("app.toml", f'[[commands]]\n{text}\n[[commands]]\nname = "fine"\ncommand = "ls -l {{cwd}}"\n')
    main(["config", "check"], find_app_faults=find_app_faults)

    assert told in (found := "".join(capfd.readouterr()))
    assert "fine" not in found
