"""What an interactive run starts, in a terminal; its CLI is a shell that prints its arguments."""

import sys

import pexpect
import pytest

from oulipoly_engine.process.liveness import here

SESSION = "9e69e8cc-616d-4640-bf1d-96f5391b1a2e"


@pytest.fixture
def ada(world):
    """An account that can be talked to, in a pool whose model has arguments of its own, with one session."""
    world.account(
        "ada",
        "cat",
        """interactive_args = ["-c", 'echo "got: $*"', "cli", "-i"]\n[ada.resume]\nkind = 'flag'\nflag = '--resume'""",
    )
    member = "[[providers]]\nname = 'ada'\nargs = ['--model', 'q']\n"
    (world.config / "models" / "quick.toml").write_text(member)
    (world.config / "config.toml").write_text("default_provider = 'ada'\n")
    world.run("migrate-db")
    used = "2026-01-01T00:00:00.000000Z"
    world.change(
        "INSERT INTO session_chains(chain_id, created_at, last_used_at, model_name) VALUES ('c', ?, ?, 'quick')",
        used,
        used,
    )
    world.change(
        "INSERT INTO session_chain_segments (chain_id, provider_name, session_id, started_at, transition_reason)"
        " VALUES ('c', 'ada', ?, ?, 'initial')",
        SESSION,
        used,
    )
    return world


@pytest.mark.parametrize(
    ("command", "got"),
    [
        (("repl", "quick"), "-i --model q"),
        (("--resume", SESSION), f"-i --model q --resume {SESSION}"),
        (("--new",), "-i"),
    ],
    ids=["pool", "session", "account-alone"],
)
def test_interactive_run_has_the_models_arguments_behind_the_accounts(ada, command, got):
    cli = pexpect.spawn(sys.executable, ["-m", "oulipoly_tui", *command], cwd=str(ada.home), timeout=60)
    cli.delayafterclose = cli.delayafterterminate = cli.ptyproc.delayafterclose = 0
    cli.expect(r"got: ([^\r\n]*)\r\n")
    said = cli.match[1].decode()
    cli.expect(pexpect.EOF)
    cli.wait()

    assert (got, 0) == (said, cli.exitstatus)
    assert {here()} == {row["owner_place"] for row in ada.rows("SELECT owner_place FROM invocations")}
