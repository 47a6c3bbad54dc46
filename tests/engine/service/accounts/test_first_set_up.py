"""The first set-up: what is found, what is written for it, that nothing is overwritten, and taking it back."""

import stat

import pytest

from oulipoly_engine.config.check import check
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.paths import from_environment
from oulipoly_engine.service.accounts.setup import propose, take_back, write_first

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
    return f"/usr/bin/{name}" if name in (*CLIS, "env") else None


@pytest.fixture
def logins(home):
    """Six logins of four CLIs."""
    for folder, file in FOLDERS.items():
        (home / folder).mkdir(parents=True)
        (home / folder / file).write_text("{}")
    return from_environment()


def test_each_login_is_an_account_and_each_cli_a_pool(logins):
    found = propose(logins, found_everywhere)

    accounts = ["claude", "claude-work", "codex", "codex-two", "gemini", "opencode"]
    assert accounts == [login.account for login in found.logins]
    names = ["providers.toml", "sessions.toml", "config.toml", *(f"models/{cli}.toml" for cli in CLIS)]
    assert names == [str(change.path.relative_to(logins.config)) for change in found.files]
    assert () == found.notes


def test_what_is_written_has_no_problem(logins):
    write_first(logins, propose(logins, found_everywhere))

    assert () == check(logins, which=found_everywhere)


def test_files_are_private(logins):
    found = propose(logins, found_everywhere)
    write_first(logins, found)

    assert {0o600} == {stat.S_IMODE(change.path.stat().st_mode) for change in found.files}


@pytest.mark.parametrize("present", ["providers.toml", "config.toml", "models/mine.toml"])
def test_nothing_that_exists_is_touched(logins, present):
    found = propose(logins, found_everywhere)
    path = logins.config / present
    path.parent.mkdir(parents=True)
    path.write_text("# mine\n")
    with pytest.raises(RequestRefused, match="there is a configuration already"):
        write_first(logins, found)

    assert [path] == [one for one in logins.config.rglob("*") if one.is_file()]
    assert "# mine\n" == path.read_text()


def test_a_login_without_its_program_is_left_out_and_said(logins):
    found = propose(logins, lambda name: None if name == "codex" else f"/bin/{name}")

    assert not any(login.cli == "codex" for login in found.logins)
    assert ("~/.codex is there, but no program codex is on the PATH",) == found.notes[:1]


def test_a_program_without_a_login_is_said(home):
    found = propose(from_environment(), lambda name: "/bin/claude" if name == "claude" else None)

    assert ((), ("claude is installed, but nobody is logged in: start it once",)) == (found.files, found.notes)
    with pytest.raises(RequestRefused, match="no CLI that somebody is logged in to"):
        write_first(from_environment(), found)


def test_a_login_whose_credentials_lie_elsewhere_gets_no_quota_script(logins, home):
    (home / ".claude/.credentials.json").unlink()
    (home / ".claude/projects").mkdir()
    found = propose(logins, found_everywhere)

    assert ("claude: .credentials.json is not in its folder, so its quota is not read",) == found.notes
    assert "anthropic-usage ~/.claude/" not in found.files[0].after


def test_taking_it_back_leaves_nothing(logins):
    found = propose(logins, found_everywhere)
    write_first(logins, found)

    assert () == take_back(found)
    assert not logins.config.exists()


def test_taking_it_back_keeps_what_was_changed_since(logins):
    found = propose(logins, found_everywhere)
    write_first(logins, found)
    logins.providers.write_text("# mine now\n")

    assert (logins.providers,) == take_back(found)
    assert [logins.providers] == [one for one in logins.config.rglob("*") if one.is_file()]


def test_two_folders_of_one_name_give_one_account(logins, home):
    (home / ".codex-two").mkdir()
    (home / ".codex-two/auth.json").touch()

    accounts = [login.account for login in propose(logins, found_everywhere).logins]
    assert len(accounts) == len(set(accounts))


def test_the_command_shows_writes_and_refuses(logins, home, agents):
    (home / "bin").mkdir()
    (home / "bin/claude").write_text("#!/bin/sh\ncat\n")
    (home / "bin/claude").chmod(0o755)
    path = {"PATH": f"{home}/bin:/usr/bin:/bin"}
    shown = agents("config", "init", "--dry-run", env=path)
    assert b"[claude-work]" in shown.stdout
    assert not logins.config.exists()
    done = agents("config", "init", env=path)
    again = agents("config", "init", env=path)

    assert (0, 1) == (done.returncode, again.returncode)
    assert b"providers.toml" in done.stdout
    assert b"there is a configuration already" in again.stderr
