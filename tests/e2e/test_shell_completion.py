"""Words completed by the shells themselves, with the scripts that `agents completion` prints."""

import os
import shutil
import subprocess
import sys

import pexpect
import pytest

PROMPT = "READY> "
START = {
    "bash": (["--norc", "--noprofile", "-i"], f"PS1='{PROMPT}'; bind 'set enable-bracketed-paste off'"),
    "zsh": (["-f", "-i"], f"unsetopt zle_bracketed_paste; PS1='{PROMPT}'; autoload -U compinit; compinit -u -D"),
}


@pytest.fixture
def environ(tmp_path):
    """A home with a model of a long name, and our commands first on the path."""
    home, bin_folder = tmp_path / "home", tmp_path / "bin"
    models = home / ".config" / "oulipoly-agent-runner" / "models"
    models.mkdir(parents=True)
    (models / "zebra-large.toml").write_text("")
    bin_folder.mkdir()
    command = bin_folder / "agents"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m oulipoly_tui "$@"\n')
    command.chmod(0o755)
    left_out = ("XDG_", "OULIPOLY_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    return kept | {"HOME": str(home), "PATH": f"{bin_folder}:{os.environ['PATH']}", "TERM": "dumb"}


@pytest.mark.parametrize("name", START)
def test_a_shell_completes_commands_options_and_models(name, environ):
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    arguments, first = START[name]
    shell = pexpect.spawn(name, arguments, env=environ, encoding="utf-8", timeout=60, dimensions=(40, 120))
    try:
        shell.sendline(f'{first}; eval "$(agents completion {name})"; echo set""up')
        shell.expect("setup\r\n")
        for typed, completed in (
            ("sess\tsh\t", "session[ \b]+show"),
            ("quota check --thr\t", "--threshold "),
            ("why zeb\t", "zebra-large"),
        ):
            shell.send(f"agents {typed}")
            shell.expect(completed)
            shell.sendcontrol("u")
    finally:
        shell.close(force=True)


@pytest.mark.parametrize(
    ("line", "offered"),
    [("agents sess", "session"), ("agents quota check --thr", "--threshold"), ("agents why zeb", "zebra-large")],
)
def test_fish_completes(line, offered, environ):
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    asked = f"agents completion fish | source; complete -C '{line}'"

    done = subprocess.run(["fish", "--no-config", "-c", asked], env=environ, capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stderr
    assert [offered] == [shown.split("\t")[0] for shown in done.stdout.splitlines()]
