"""Real sessions go on: without a screen, in a terminal, and on another account that they were moved to."""

import json
import re
import signal

import pexpect
import pytest

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(180)]

BOTH = pytest.mark.parametrize("cli", ["claude", "codex"])
PROMPT = "[\u276f\u203a]"  # what stands before the line that is typed, in claude and in codex
ID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


@pytest.fixture
def machine(world, api):
    """The world, with accounts that can resume, be talked to, and say where their sessions lie."""
    world.configure(api.url, claude="text", codex="argument")
    config = world.home / ".config" / "oulipoly-agent-runner"
    providers = (config / "providers.toml").read_text().replace("prompt_mode =", "interactive_args = []\nprompt_mode =")
    scripts = ""
    for name in world.accounts:
        claude = name.startswith("claude")
        kind, folder = ("claude-code", "projects") if claude else ("codex", "sessions")
        root = world.home / f".{name}" / folder
        resume = 'kind = "flag"\nflag = "--resume"' if claude else 'kind = "subcommand"\nsubcommand = ["resume"]'
        accepted = (
            "" if claude else f'[{name}.resume_acceptance]\naccepted_output_patterns = ["session id: {{session_id}}"]\n'
        )
        providers += (
            f"\n[{name}.resume]\n{resume}\n{accepted}[{name}.session_storage]\nkind = 'script'\n"
            f"cwd_script = '{kind}-cwd {root}'\ntranscript_script = '{kind}-locate-transcript {root}'\n"
            f"storage_type = '{'claude_code' if claude else 'codex_session'}'\n"
        )
        scripts += f"[{name}]\nturn_script = '{kind}-turns {root}'\n"
        if claude:
            trusted = {str(world.project.resolve()): {"hasTrustDialogAccepted": True, "projectOnboardingSeenCount": 9}}
            state = {"hasCompletedOnboarding": True, "theme": "dark", "projects": trusted}
            (world.home / f".{name}" / ".claude.json").write_text(json.dumps(state))
    (config / "providers.toml").write_text(providers)
    (config / "sessions.toml").write_text(scripts)
    return world


@pytest.fixture
def terminal(machine):
    opened = []

    def terminal(*arguments):
        program, *rest = machine.command(*arguments)
        env = machine.environment() | {"TERM": "xterm-256color"}
        cli = pexpect.spawn(
            program, rest, env=env, cwd=str(machine.project), encoding="utf-8", timeout=40, dimensions=(40, 110)
        )
        cli.delayafterclose = cli.delayafterterminate = cli.ptyproc.delayafterclose = 0
        opened.append(cli)
        return cli

    yield terminal
    for cli in opened:
        cli.close(force=True)


def session_of(machine, account):
    (session,) = machine.accounts[account].sessions()
    return session


def say(cli, api, text):
    """Type a prompt and return once the CLI has shown an answer to it."""
    cli.expect(PROMPT)
    cli.send(text)
    cli.expect(text[-4:])
    for _ in range(30):
        cli.send("\r")  # a key that comes right after a text is taken for a part of it
        if cli.expect(["heard:", pexpect.TIMEOUT], timeout=2) == 0:
            break
    assert text in [call.prompt for call in api.calls]


def leave(cli):
    before = ""
    for _ in range(6):
        cli.sendcontrol("c")
        ended = cli.expect([pexpect.EOF, pexpect.TIMEOUT], timeout=0.5)
        before += cli.before
        if ended == 0:
            break
    cli.wait()
    return before


@BOTH
def test_prompt_goes_on_with_the_session_that_a_run_has_left(machine, api, cli):
    first = machine.run("-m", f"{cli}-one", "the word is turtle")
    session = session_of(machine, f"{cli}-one")

    ran = machine.run("--resume", session[:13], "and then?")

    assert 0 == ran.exit_code == first.exit_code, ran.stderr
    assert f"{cli}-one heard: and then?\n" == ran.answer
    assert f"[resume] -> {cli}-one\n" in ran.stderr
    assert [session] == machine.accounts[f"{cli}-one"].sessions()
    assert "turtle" in str(api.calls[-1].said)
    traced = machine.trace(ran)["session"]
    assert (session, "resumed", "accepted" if cli == "codex" else "unconfirmed") == (
        traced["id"],
        traced["capture_method"],
        traced["resume_acceptance"],
    )


@BOTH
def test_session_that_the_cli_has_lost_is_a_mismatch(machine, cli):
    machine.run("-m", f"{cli}-one", "hello")
    session = session_of(machine, f"{cli}-one")
    for path in (machine.home / f".{cli}-one").rglob(f"*{session}*.jsonl"):
        path.unlink()

    ran = machine.run("--resume", session, "x")

    assert (1, "resume_session_mismatch") == (ran.exit_code, ran.result["error_category"])
    assert "rejected" == machine.trace(ran)["session"]["resume_acceptance"]


@BOTH
def test_moved_session_goes_on_there_and_remembers(machine, api, cli):
    machine.run("-m", f"{cli}-one", "the word is turtle")
    session = session_of(machine, f"{cli}-one")

    moved = machine.run("session", "move", session, f"{cli}-two")
    ran = machine.run("--resume", session, "-m", cli, "and then?")
    back = machine.run("session", "move", session, f"{cli}-one")
    again = machine.run("--resume", session, "-m", f"{cli}-one", "and now?")

    assert [0, 0, 0, 0] == [moved.exit_code, ran.exit_code, back.exit_code, again.exit_code], ran.stderr
    assert f"{cli}-two heard: and then?\n" == ran.answer
    assert f"{cli}-one heard: and now?\n" == again.answer
    assert "turtle" in str(api.calls[-2].said)
    assert "and then?" in str(api.calls[-1].said)
    assert [session] == machine.accounts[f"{cli}-two"].sessions()


def test_spent_claude_account_hands_its_session_to_the_other(machine, api, plan):
    machine.run("-m", "claude", "the word is turtle")
    session = session_of(machine, "claude-one")
    api.plans["claude-one"] = plan(refusal="spent")

    ran = machine.run("--resume", session, "and then?")

    assert 0 == ran.exit_code, ran.stderr
    assert ["claude-one", "claude-two"] == ran.started
    assert "claude-two heard: and then?\n" == ran.answer
    assert "[migrate] claude-one -> claude-two reason=exhausted" in ran.stderr
    assert "turtle" in str(api.calls[-1].said)


@BOTH
def test_talk_in_a_terminal_is_recorded_and_can_go_on(machine, api, terminal, cli):
    talk = terminal("repl", f"{cli}-one")
    say(talk, api, "turtle")
    left = leave(talk)

    session = session_of(machine, f"{cli}-one")
    assert session == re.findall(f"resume ({ID})", left)[-1]
    again = terminal("--resume", session[:13])
    again.expect("turtle")
    say(again, api, "and-then?")
    leave(again)
    assert (0, 0) == (talk.exitstatus, again.exitstatus)
    listed = machine.run("resume", "--list", session)
    assert f"active_session_id={session}" in listed.stdout
    assert [session] == machine.accounts[f"{cli}-one"].sessions()


@BOTH
def test_terminated_talk_leaves_no_process(machine, terminal, cli):
    talk = terminal("repl", f"{cli}-one")
    talk.expect(PROMPT)
    talk.kill(signal.SIGTERM)
    talk.expect(pexpect.EOF)
    talk.wait()

    assert 143 == talk.exitstatus


def test_talk_that_was_moved_is_seen_in_the_other_accounts_terminal(machine, api, terminal):
    talk = terminal("repl", "claude-one")
    say(talk, api, "turtle")
    leave(talk)
    session = session_of(machine, "claude-one")

    again = terminal("repl", "-m", "claude", "--resume", session[:8], "--to", "claude-two")
    again.expect_exact("[migrate] claude-one -> claude-two reason=manual")
    again.expect("turtle")
    say(again, api, "and-then?")
    leave(again)

    assert "claude-two" == api.calls[-1].account
    assert [session] == machine.accounts["claude-two"].sessions()


def test_compacted_claude_session_is_moved_from_its_summary_on_and_goes_on(machine, api):
    machine.run("-m", "claude-one", "the word is turtle")
    session = session_of(machine, "claude-one")
    machine.run("--resume", session, "and a second thing, for one alone is not compacted")
    machine.run("--resume", session, "/compact")
    machine.run("session-scan")

    moved = machine.run("session", "move", session, "claude-two")
    ran = machine.run("--resume", session, "-m", "claude", "and then?")

    assert 1 < json.loads(moved.stdout)["first_line"]
    assert (0, "claude-two heard: and then?\n") == (ran.exit_code, ran.answer)
    assert "This session is being continued" in str(api.calls[-1].said)
    assert [session] == machine.accounts["claude-two"].sessions()
    (source,) = (machine.home / ".claude-one").rglob(f"{session}.jsonl")
    assert "turtle" in source.read_text()
