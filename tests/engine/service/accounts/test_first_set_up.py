"""The set-up: what is found, what is written for it, that nothing is overwritten, and undoing it."""

import os
import stat
from functools import partial

import pytest

from oulipoly_engine.config.check import check
from oulipoly_engine.config.edit.undo import undo_last
from oulipoly_engine.core.accounts.clis.cli import PrivateFile
from oulipoly_engine.core.accounts.clis.opencode import OPENCODE
from oulipoly_engine.errors import HomeUnusable, RequestRefused
from oulipoly_engine.events import Listeners
from oulipoly_engine.facade.accounts.additions import AccountAdditions, Candidate, find_cli
from oulipoly_engine.facade.base.home import Home, Surroundings
from oulipoly_engine.paths import from_environment
from oulipoly_engine.service.accounts import new_account, setup
from oulipoly_engine.service.accounts.logins import Version, read_version
from oulipoly_engine.service.accounts.setup import find_folders, write_set_up
from oulipoly_engine.service.setup.models import discover_models

CLIS = ("claude", "codex", "gemini", "opencode")
FOLDERS = {
    ".claude": ".credentials.json",
    ".claude-work": ".credentials.json",
    ".codex": "auth.json",
    ".codex two": "auth.json",
    ".gemini": "oauth_creds.json",
    ".local/share/opencode": "opencode.db",
}


def found_everywhere(name):
    return f"/usr/bin/{name}" if name in CLIS else None


propose = partial(setup.propose, which=found_everywhere)


@pytest.fixture
def logins(home):
    """Six logins of four CLIs."""
    for folder, file in FOLDERS.items():
        (home / folder).mkdir(parents=True)
        (home / folder / file).write_text("{}")
    return from_environment()


def test_each_login_is_an_account_and_each_cli_a_pool(logins):
    found = propose(logins)

    accounts = ["claude", "claude-work", "codex", "codex-two", "gemini", "opencode"]
    assert accounts == [login.account for login in found.logins]
    names = ["providers.toml", "sessions.toml", "config.toml", *(f"models/{cli}.toml" for cli in CLIS)]
    assert names == [str(change.path.relative_to(logins.config)) for change in found.files]
    assert () == found.notes


def test_what_is_written_has_no_problem(logins):
    write_set_up(logins, propose(logins))

    assert () == check(logins, which=found_everywhere)


def test_files_are_private(logins):
    found = propose(logins)
    write_set_up(logins, found)

    assert {0o600} == {stat.S_IMODE(change.path.stat().st_mode) for change in found.files}


@pytest.mark.parametrize("present", ["providers.toml", "config.toml", "models/codex.toml", "sessions.toml"])
def test_what_is_there_stays_as_it_is(logins, present):
    path = logins.config / present
    path.parent.mkdir(parents=True)
    text = '# mine\n[[providers]]\nname = "mine"\n' if present.startswith("models") else "# mine\n"
    path.write_text(text)
    write_set_up(logins, propose(logins))

    assert path.read_text().startswith(text)
    undo_last(logins.data)
    assert [path] == [one for one in logins.config.rglob("*") if one.is_file()]
    assert text == path.read_text()


def test_a_second_set_up_adds_what_is_new(logins, home):
    write_set_up(logins, propose(logins))
    before = logins.providers.read_text()
    assert () == propose(logins).logins
    (home / ".claude-late").mkdir()
    (home / ".claude-late/.credentials.json").write_text("{}")
    found = propose(logins)
    write_set_up(logins, found)

    assert ["claude-late"] == [login.account for login in found.logins]
    assert logins.providers.read_text().startswith(before)
    assert 'name = "claude-late"' in (logins.models / "claude.toml").read_text()
    assert () == check(logins, which=found_everywhere)


def test_a_pool_of_ones_own_is_left_alone_and_said(logins):
    logins.models.mkdir(parents=True)
    (logins.models / "codex.toml").write_text('[[providers]]\nname = "mine"\n')
    found = propose(logins)

    assert not any(change.path.name == "codex.toml" for change in found.files)
    assert any("codex is in no pool" in note and "is your own" in note for note in found.notes)


def test_a_login_that_a_wrapper_uses_is_an_account_already(logins):
    logins.config.mkdir(parents=True)
    storage = '[mine.session_storage]\nkind = "script"\ncwd_script = "claude-code-cwd ~/.claude-work/projects"\n'
    logins.providers.write_text(f'[mine]\ncommand = "my-wrapper"\n{storage}')

    assert "claude-work" not in [login.account for login in propose(logins).logins]


def test_the_rule_that_wins_is_written_with_its_reason_unless_there_are_settings(logins):
    text = next(change.after for change in propose(logins).files if change.path == logins.settings)

    assert "# " in text
    assert 'tie_rule = "least-waste"' in text


def test_a_login_without_its_program_is_left_out_and_said(logins):
    found = setup.propose(logins, which=lambda name: None if name == "codex" else f"/bin/{name}")

    assert not any(login.cli == "codex" for login in found.logins)
    assert ("~/.codex is there, but no program codex is on the PATH",) == found.notes[:1]


def test_a_program_without_a_login_is_said(home):
    found = setup.propose(from_environment(), which=lambda name: "/bin/claude" if name == "claude" else None)

    said = "claude is installed, but nobody is logged in: `agents account add claude` does that"
    assert ((), (said,)) == (found.files, found.notes)
    with pytest.raises(RequestRefused, match="nothing to add"):
        write_set_up(from_environment(), found)


def test_a_login_whose_credentials_lie_elsewhere_gets_no_quota_script(logins, home):
    (home / ".claude/.credentials.json").unlink()
    (home / ".claude/projects").mkdir()
    found = propose(logins)

    assert ("claude: .credentials.json is not in its folder, so its quota is not read",) == found.notes
    assert "anthropic-usage ~/.claude/" not in found.files[0].after


def test_undoing_it_leaves_nothing(logins):
    write_set_up(logins, propose(logins))
    undo_last(logins.data)

    assert not logins.config.exists()
    with pytest.raises(RequestRefused, match="nothing to undo"):
        undo_last(logins.data)


def test_undoing_it_changes_nothing_where_a_file_was_changed_since(logins):
    write_set_up(logins, propose(logins))
    logins.providers.write_text("# mine now\n")
    before = sorted(logins.config.rglob("*"))
    with pytest.raises(RequestRefused, match=r"providers.toml was changed since"):
        undo_last(logins.data)

    assert before == sorted(logins.config.rglob("*"))


def test_what_can_be_undone_is_for_its_owner_alone(logins):
    write_set_up(logins, propose(logins))

    assert 0o600 == stat.S_IMODE((logins.data / "configuration-undo.json").stat().st_mode)


def test_two_folders_of_one_name_give_one_account(logins, home):
    (home / ".codex-two").mkdir()
    (home / ".codex-two/auth.json").touch()

    accounts = [login.account for login in propose(logins).logins]
    assert len(accounts) == len(set(accounts))


def test_the_command_shows_writes_and_adds_nothing_twice(logins, home, agents):
    (home / "bin").mkdir()
    (home / "bin/claude").write_text("#!/bin/sh\ncat\n")
    (home / "bin/claude").chmod(0o755)
    path = {"PATH": f"{home}/bin:/usr/bin:/bin"}
    shown = agents("config", "init", "--dry-run", env=path)
    assert b"[claude-work]" in shown.stdout
    assert not logins.config.exists()
    done = agents("config", "init", "--yes", env=path)
    again = agents("config", "init", "--yes", env=path)

    assert (0, 0) == (done.returncode, again.returncode)
    assert b"providers.toml" in done.stdout
    assert b"nothing to add" in again.stdout


def test_a_home_that_a_file_names_is_not_taken_away(logins):
    homes = {name: logins.home / f".codex-{name}" for name in ("kept", "gone")}
    for place in homes.values():
        new_account._make_home(place)
    logins.config.mkdir(parents=True)
    logins.providers.write_text('[kept]\ncommand = "codex"\n')
    found = AccountAdditions(Home(Surroundings(logins), Listeners()))
    for name, place in homes.items():
        found.discard(Candidate(name, find_cli("codex"), "codex", place, place, {}, is_made=True))

    assert {"kept": True, "gone": False} == {name: place.exists() for name, place in homes.items()}


def test_asking_a_cli_for_its_version_or_models_makes_no_home_that_passes_for_a_login(tmp_path):
    program = tmp_path / "opencode"
    program.write_text(
        '#!/bin/sh\nd="${XDG_DATA_HOME:-$HOME/.local/share}/opencode"\n'
        'mkdir -p "$d"; : >"$d/opencode.db"; echo 1.18.33\n'
    )
    program.chmod(0o755)
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}

    assert Version("1.18.33") == read_version(OPENCODE, str(program), environ)
    discover_models(str(program), environ, OPENCODE)
    assert [] == list(find_folders(OPENCODE, tmp_path))


@pytest.mark.parametrize("left", [(), (new_account._MARKER,), (new_account._MARKER, "api-key")], ids=len)
def test_a_home_that_was_killed_on_its_way_is_taken_by_the_next_addition(tmp_path, left):
    place = tmp_path / ".claude-b"
    place.mkdir(0o700)
    for name in left:
        (place / name).touch()

    os.close(new_account._make_home(place))
    assert new_account.is_made_home(place)


@pytest.mark.parametrize("mode", [0o700, 0o755])
def test_a_home_that_somebody_uses_is_not_taken(tmp_path, mode):
    place = tmp_path / ".claude-b"
    place.mkdir(mode)
    (place / "api-key").touch()

    with pytest.raises(HomeUnusable, match="is there already"):
        new_account._make_home(place)


@pytest.mark.parametrize(("there", "kept"), [(None, "ours"), ("", "ours"), ("theirs", "theirs")])
def test_settings_beside_a_key_are_written_unless_somebody_has_written_some(tmp_path, there, kept):
    settings = tmp_path / "settings.json"
    if there is not None:
        settings.write_text(there)
    new_account._write_files(tmp_path, [PrivateFile("settings.json", "ours")], "the key")

    assert kept == settings.read_text()
