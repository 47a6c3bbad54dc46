"""The argument list and the environment of one start of a CLI. Pure: nothing is started here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import assert_never

from oulipoly_engine.core.accounts.accounts import Account, CaptureKind, CaptureSpec, PoolMember
from oulipoly_engine.errors import AccountUnusable, SessionIdInvalid


def compose_one_shot(
    account: Account,
    member: PoolMember | None = None,
    *,
    input_args: Sequence[str] = (),
    capture_args: Sequence[str] = (),
    resume_args: Sequence[str] = (),
    prompt_args: Sequence[str] = (),
) -> tuple[str, ...]:
    """Compose the argv of a one-shot: command, account, model, inputs, capture, resume, prompt.

    member: None when no model is known, so that the CLI takes its own default model.
    prompt_args: the prompt or the instruction naming its file; empty when the prompt goes to stdin.
    Raises AccountUnusable when the account has no command.
    """
    model_args = member.args if member is not None else ()
    return (_command(account), *account.args, *model_args, *input_args, *capture_args, *resume_args, *prompt_args)


def interactive(
    account: Account, member: PoolMember | None = None, *, resume_args: Sequence[str] = ()
) -> tuple[str, ...]:
    """Compose the argv of an interactive launch: command, account's interactive_args, model, resume.

    A member's interactive_args stand in place of its args, as the account's stand in place of the account's; without
    them its args name the model here too.
    Raises AccountUnusable when the account has no command or no interactive_args (an empty list is one).
    """
    if account.interactive_args is None:
        raise AccountUnusable(
            f"the account {account.name!r} cannot be launched interactively: "
            f"add `interactive_args = []` to [{account.name}] in {_file(account)}"
        )
    model_args: tuple[str, ...] = ()
    if member is not None:
        model_args = member.args if member.interactive_args is None else member.interactive_args
    return (_command(account), *account.interactive_args, *model_args, *resume_args)


def resume_args(account: Account, session_id: str) -> tuple[str, ...]:
    """Return the arguments that resume a session.

    Raises AccountUnusable when the account does not say how, SessionIdInvalid for an id that no CLI can have made.
    """
    _check_id(session_id)
    if account.resume is None:
        raise AccountUnusable(
            f"the account {account.name!r} cannot resume a session: add a [{account.name}.resume] table to "
            f"{_file(account)}"
        )
    return account.resume.compose(session_id)


def fork_args(account: Account, session_id: str) -> tuple[str, ...]:
    """Return the arguments that begin a new session with the past of another one, which stays as it is.

    Raises as `resume_args` does.
    """
    _check_id(session_id)
    found = () if account.resume is None else account.resume.fork(session_id)
    if not found:
        raise AccountUnusable(
            f"the account {account.name!r} does not say how its CLI forks a session: add `fork_args` to "
            f"[{account.name}.resume] in {_file(account)}; for Claude Code it is "
            '`fork_args = ["--resume", "{session_id}", "--fork-session"]`'
        )
    return found


def _check_id(session_id: str) -> None:
    from oulipoly_engine.core.accounts.session_ids import describe_bad_id, is_session_id  # noqa: PLC0415 - only resumes

    if not is_session_id(session_id):  # of a state file from before ids were checked
        raise SessionIdInvalid(describe_bad_id(session_id))


def capture_args(capture: CaptureSpec, *, session_id: str, last_message_file: Path) -> tuple[str, ...]:
    """Return the arguments that make a CLI tell its session id.

    session_id: a fresh UUID that forced_flag_verified hands to the CLI.
    last_message_file: where stdout_json_event makes the CLI put the visible answer.
    """
    match capture.kind:
        case CaptureKind.NONE:
            return ()
        case CaptureKind.FORCED_FLAG_VERIFIED:
            return (capture.flag, session_id, *capture.readback_args)
        case CaptureKind.STDOUT_JSON_EVENT:
            return (*capture.json_args, capture.last_message_flag, str(last_message_file))
    assert_never(capture.kind)


def environment(base: Mapping[str, str], account: Account) -> dict[str, str]:
    """Return the child's environment: the base, the account's own values, minus what it unsets."""
    merged = {**base, **account.environment}
    return {name: value for name, value in merged.items() if name not in account.unset_environment}


def _command(account: Account) -> str:
    if not account.command:
        message = f"the account {account.name!r} has no command: add `command` to [{account.name}] in {_file(account)}"
        raise AccountUnusable(message)
    return account.command


def _file(account: Account) -> str:
    return str(account.path) if account.path is not None else "providers.toml"
