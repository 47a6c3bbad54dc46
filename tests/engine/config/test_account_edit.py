"""Accounts taken out of hand-written files, and put into backups: comments stay with what they tell of."""

import pytest

from oulipoly_engine.config.base import mask
from oulipoly_engine.config.edit import account_edit, backup, settings_edit, write_files
from oulipoly_engine.config.toml import toml_file
from oulipoly_engine.core.accounts.clis.account_files import Login
from oulipoly_engine.core.accounts.clis.table import CLIS
from oulipoly_engine.paths import from_environment

POOL = """# my pool
sticky = true

# first, the good one
[[providers]]
name = "a" # here

# second, the cheap one
[[providers]]
name = "b"

# the third
[[providers]]
name = "c"

# what else is planned
"""
ACCOUNTS = """# mine

# about a
[a]
command = "sh"
# its last word

# [old]
# command = "bash"

[b]
command = "sh"

# about c
[c] # c
command = "sh"

# the end
"""


@pytest.fixture
def paths(home):
    """Return the places of three accounts and a pool of them."""
    paths = from_environment()
    paths.models.mkdir(parents=True)
    paths.providers.write_text(ACCOUNTS)
    (paths.models / "m.toml").write_text(POOL)
    return paths


def removed(paths, account):
    return {one.path.name: one.after for one in account_edit.remove(paths, paths.models, account)}


@pytest.mark.parametrize(
    ("account", "gone"),
    [
        ("a", '# first, the good one\n[[providers]]\nname = "a" # here\n\n'),
        ("b", '# second, the cheap one\n[[providers]]\nname = "b"\n\n'),
        ("c", '# the third\n[[providers]]\nname = "c"\n\n'),
    ],
)
def test_a_member_goes_with_its_own_comment_alone(paths, account, gone):
    assert POOL.replace(gone, "") == removed(paths, account)["m.toml"]


@pytest.mark.parametrize(
    ("account", "gone"),
    [
        ("a", '# about a\n[a]\ncommand = "sh"\n# its last word\n\n'),
        ("b", '[b]\ncommand = "sh"\n\n'),
        ("c", '# about c\n[c] # c\ncommand = "sh"\n\n'),
    ],
)
def test_an_account_goes_with_its_own_comments_alone(paths, account, gone):
    assert ACCOUNTS.replace(gone, "") == removed(paths, account)["providers.toml"]


def test_a_file_without_headings_is_edited(paths):
    paths.providers.write_text('a.command = "sh"\nb.command = "sh" # b\n')
    (paths.models / "m.toml").write_text('providers = [\n  { name = "a" },\n  { name = "b" }, # b\n]\n')

    found = removed(paths, "a")
    assert 'b.command = "sh" # b\n' == found["providers.toml"]
    assert 'providers = [\n  { name = "b" }, # b\n]\n' == found["m.toml"]


def test_a_backup_has_no_secret_of_a_pools_account(paths):
    secret = "hunter2-and-more"
    paths.providers.write_text(f'[a]\ncommand = "sh"\napi_key = "{secret}"\nargs = ["--token", "{secret}"]\n')
    member = f'name = "a"\nargs = ["--api-key", "{secret}"]\ninteractive_args = ["KEY={secret}"]\n'
    (paths.models / "m.toml").write_text(f"[[providers]]\n{member}")

    found = backup.export(paths, paths.models)
    assert secret not in found.text
    assert 'name = "a"' in found.text
    assert ("a.api_key", "a.args", "m.providers.1.args", "m.providers.1.interactive_args") == found.left_out


def test_a_difference_hides_secrets_whose_flag_stands_on_another_line():
    head = '[a]\nargs = [\n  "--api-key",\n  "hunter2-one", # mine\n  "plain",\n]\n[a.environment]\n'
    document = head + "MY_KEY = 'hunter2-two'\nMODE = \"fast\"\n"
    shown = mask.lines(f"-{document}", [document, "[["])

    assert "hunter2" not in shown
    assert '"plain"' in shown
    assert "fast" in shown


EDITS = {
    "removal": lambda paths: account_edit.remove(paths, paths.models, "b"),
    "rename": lambda paths: account_edit.rename(paths, paths.models, "b", "new"),
    "addition": lambda paths: account_edit.add(
        paths, paths.models, [account_edit.Addition(Login(CLIS["codex"], "new", "~/.codex"), ("m",))]
    ),
    "setting": lambda paths: [settings_edit.make_change(settings_edit.names(paths)["models.m.sticky"], "false")],
    "new setting": lambda paths: [
        settings_edit.make_change(settings_edit.names(paths)["accounts.a.prompt_mode"], "arg")
    ],
    "accounts of a pool": lambda paths: [account_edit.set_members(toml_file.read(paths.models / "m.toml"), ["c", "a"])],
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_a_file_whose_lines_end_as_on_windows_keeps_that(paths, edit):
    for file in (paths.providers, paths.models / "m.toml"):
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    changes = [one for one in edit(paths) if one.before is not None]
    write_files.write(changes)

    assert changes
    for one in changes:
        assert one.path.read_bytes().count(b"\r\n") == one.path.read_bytes().count(b"\n") > 0
        assert b"\r\r" not in one.path.read_bytes()
