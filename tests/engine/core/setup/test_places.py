"""A model's path leads below one of two folders, or nowhere."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.accounts.clis.table import CLIS
from oulipoly_engine.core.setup.places import file_warning, find_target
from oulipoly_engine.errors import RequestRefused

HOME = PurePosixPath("/home/ada")
CONFIG = HOME / ".config" / "oulipoly-agent-runner"
PARTS = st.sampled_from(
    ["..", ".", "", "~", "models", ".local", "bin", ".config", "oulipoly-agent-runner", "x.toml", "\0"]
)


@pytest.mark.parametrize(
    ("text", "path", "is_program"),
    [
        ("providers.toml", CONFIG / "providers.toml", False),
        ("models/x.toml", CONFIG / "models" / "x.toml", False),
        ("~/.config/oulipoly-agent-runner/config.toml", CONFIG / "config.toml", False),
        (f"{CONFIG}//./models/x.toml", CONFIG / "models" / "x.toml", False),
        ("~/.local/bin/work-claude", HOME / ".local/bin/work-claude", True),
    ],
)
def test_the_two_folders_are_open(text, path, is_program):
    target = find_target(text, CONFIG, HOME)
    assert (target.path, target.is_program) == (path, is_program)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "~",
        "~/",
        "~root/.local/bin/x",
        "/etc/passwd",
        "../config.toml",
        "models/../../x",
        "~/.local/bin/../../.bashrc",
        "~/.bashrc",
        "~/.local/binx/y",
        f"{CONFIG}-other/x",
        f"{CONFIG}",
        "~/.local/bin",
        "models/",
        "x\0y",
        "x\ny",
        "x\u202ey",
        "x" * 2000,
        "a/b/c/d/e/f/g",
        "auth.json",
        "models/.credentials.json",
        "~/.local/bin/oauth_creds.json",
        ".env",
        "API-KEY",
        "id.pem",
        "my-secrets.toml",
        "~/.local/bin/.netrc",
    ],
)
def test_everything_else_is_refused(text):
    with pytest.raises(RequestRefused, match=r"\w"):
        find_target(text, CONFIG, HOME)


@pytest.mark.parametrize("name", sorted({name for cli in CLIS.values() for name in cli.credentials}))
def test_no_login_of_a_cli_is_written(name):
    with pytest.raises(RequestRefused, match="logins and keys"):
        find_target(f"deep/{name}", CONFIG, HOME)


@given(st.lists(PARTS, max_size=8), st.sampled_from(["", "/", "~/", "/home/ada/", f"{CONFIG}/"]))
def test_no_path_leads_elsewhere(parts, begin):
    text = begin + "/".join(parts)
    try:
        target = find_target(text, CONFIG, HOME)
    except RequestRefused:
        return
    assert ".." not in target.path.parts
    assert target.path.is_relative_to(CONFIG) or target.path.is_relative_to(HOME / ".local/bin")
    assert target.path != target.root


def test_what_would_run_is_warned_of():
    pool, program = find_target("providers.toml", CONFIG, HOME), find_target("~/.local/bin/git", CONFIG, HOME)
    before = "[a]\ncommand = 'claude'\n"
    assert file_warning(pool, before, before + "reserve = 1\n", None) == ""
    assert "programs" in file_warning(pool, before, before + "quota_script = 'curl x | sh'\n", None)
    assert "programs" in file_warning(pool, None, before, None)
    assert "takes the place of /usr/bin/git" in file_warning(program, None, "#!/bin/sh\n", "/usr/bin/git")


@pytest.mark.parametrize(
    "after",
    [
        "b = {command = 'sh', args = ['-c', 'curl x | sh']}",
        "['b']\n'quota_script' = 'curl x | sh'",
        '[b]\n"quota\\u005fscript" = "curl x | sh"',
        "b-1.command = 'sh'",
        "[b]\ncommand = 'true'\n[b.environment]\nLD_PRELOAD = '/tmp/x.so'",
        "[b]\ncommand = 'true'\nenvironment = {ANTHROPIC_BASE_URL = 'https://else.where'}",
        "[b.session_storage]\nkind = 'script'\ncwd_script = 'sh x'",
        "[b]\ncommand = 'claude'",
        "[[commands]]\nname = 'x'\ncommand = ['sh']",
        "no toml [",
    ],
)
def test_what_would_run_is_warned_of_however_it_is_written(after):
    before = "[a]\ncommand = 'claude'\n"
    pool = find_target("providers.toml", CONFIG, HOME)
    assert "programs are run as it says in " in file_warning(pool, before, f"{before}{after}\n", None)


def test_a_script_beside_the_configuration_is_warned_of():
    assert "programs" in file_warning(find_target("x.toml", CONFIG, HOME), None, f"{'a.' * 3000}b = 1\n", None)
    assert "as a script" in file_warning(find_target("quota.sh", CONFIG, HOME), "exit\n", "curl x | sh\n", None)
    assert file_warning(find_target("agents/a.md", CONFIG, HOME), None, "Be brief.\n", None) == ""
