"""`account add`: an account from nothing to its first answer, each file shown before it is written."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, path
from oulipoly_engine.cli.base.questions import Questions, join_names, split_names
from oulipoly_engine.cli.setup import api_key
from oulipoly_engine.cli.setup.test_prompt import send_test_prompt
from oulipoly_engine.core.text.quantities import moment, percent
from oulipoly_engine.errors import (
    ConfigChanged,
    Declined,
    LoginFailed,
    NameTaken,
    RunnerError,
    TerminalNeeded,
    UsageInvalid,
)
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.accounts.additions import CLIS, check_name, check_pool, find_cli
from oulipoly_engine.facade.base.own_process import interruptible

if TYPE_CHECKING:
    from oulipoly_engine.facade.accounts.additions import AccountAdditions, Candidate, FirstQuota
    from oulipoly_engine.facade.accounts.changes import Step
    from oulipoly_engine.facade.accounts.detection import Detection
    from oulipoly_engine.facade.accounts.logins import AccountLogins, LoginState
    from oulipoly_engine.facade.accounts.setup import AccountSetup
    from oulipoly_engine.facade.base.own_process import Guard

_NAME_HELP = "The name is for you: `work`, `claude2`. It stands in lists and pools and can be changed later."
_POOL_HELP = (
    "A pool has the accounts that can serve the same prompts, and its name is what you ask for: `agents -m POOL`. Name "
    "one or more, with commas between; a new name makes a new pool, `none` leaves the account without one."
)


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Add an account."""
    options = _parse(context, name, arguments)
    questions = Questions(is_agreed=options.yes)
    setup = context.engine.account_setup
    additions = setup.additions
    with interruptible() as guard:
        guard.arm()
        cli = find_cli(options.cli or _ask_cli(setup.detection, questions)).name
        taken = additions.names()
        wanted = options.name or questions.ask(
            "Name of the account", additions.free_name(cli), lambda text: check_name(text, taken), _NAME_HELP
        )
        key = api_key.read_key(options)
        home = options.home or (_ask_home(additions, cli, questions) if key is None else None)
        candidate = additions.prepare(wanted, cli, home)
        try:
            for note in candidate.notes:
                diagnostics.note(f"Note: {note}")
            output.write_line(f"{candidate.cli.title}: {candidate.version.text}, {candidate.program}")
            if candidate.is_made:
                output.write_line(f"home: {candidate.home}")
            if key is not None:
                provider = api_key.ask_provider(candidate, options, questions)
                in_keyring = api_key.choose_keyring(additions, candidate, questions, is_wanted=options.keyring)
                candidate = additions.store_key(candidate, key, provider, in_keyring=in_keyring)
            state = _sign_in(setup.logins, candidate, options, questions)
            candidate = additions.settle(candidate, state)
            quota = additions.read_quota(candidate)
            _show(state, quota, uses_key=candidate.uses_key)
            pools = _ask_pools(additions, candidate, options.pool, questions)
            while not _write(setup, questions, additions.plan_addition(candidate, pools), guard):
                diagnostics.note("The configuration was changed in the meantime: this would be written now.")
                guard.arm()
        except BaseException:
            additions.discard(candidate)
            raise
        additions.finish(candidate)
        _keep_quota(additions, wanted, quota)
        output.write_line(
            f"Added the account {wanted}; pools: {join_names(pools)}. Undo: {context.program} account undo"
        )
        if options.no_test or state.profile is None:
            return 0
        return send_test_prompt(context, wanted, pools, candidate.cli.launch.test_words)


def _parse(context: Context, name: str, arguments: list[str]) -> Namespace:
    parser = Parser(
        prog=f"{context.program} {name}",
        description="Add an account: its CLI logs in, its quota is read, it joins pools, and it answers a test prompt. "
        "Every file is shown before it is written, and `account undo` undoes it.",
    )
    parser.add_argument("cli", nargs="?", metavar="CLI", help=f"{', '.join(CLIS)}; asked for where it is left out")
    parser.add_argument("name", nargs="?", metavar="NAME", help="of the account")
    parser.add_argument("--pool", action="append", metavar="POOL", help="a pool that it joins, new or not; repeat it")
    parser.add_argument("--home", type=path, metavar="DIR", help="the CLI's folder of a login that is there already")
    api_key.add_options(parser)
    parser.add_argument("--keyring", action="store_true", help="keep the API key in the keyring, not in a file")
    parser.add_argument("--no-login", action="store_true", help="do not log in now: `account login NAME` does it later")
    parser.add_argument("--no-test", action="store_true", help="send no test prompt")
    parser.add_argument("-y", "--yes", action="store_true", help="write without a question")
    options = parser.parse(arguments)
    if options.home is not None and (options.api_key_env or options.api_key_file):
        raise UsageInvalid("an API key needs a home of its own, so it does not go with --home")
    if options.keyring and not (options.api_key_env or options.api_key_file):
        raise UsageInvalid("--keyring keeps an API key: give --api-key-env or --api-key-file too")
    return options


def _ask_cli(detection: Detection, questions: Questions) -> str:
    """Ask which CLI the account is of, below a list of those that are installed and logged in."""
    if not questions.can_ask:
        raise UsageInvalid(f"say which CLI: {', '.join(CLIS)}")
    lines = detection.detect().summary
    output.write_lines(lines)
    return questions.ask(f"Which CLI ({', '.join(CLIS)})", "", find_cli, "\n".join(("One of:", *lines)))


def _ask_home(additions: AccountAdditions, cli: str, questions: Questions) -> Path | None:
    """Return the CLI's usual home where it shall be the account's; None: the account gets one of its own."""
    usual = additions.find_usual_home(cli)
    if usual is None or questions.is_agreed or not questions.can_ask:
        return None
    question = f"There is a login in {usual} already. Make that the account, instead of logging in as somebody else?"
    return usual if questions.confirm(question) else None


def _sign_in(logins: AccountLogins, candidate: Candidate, options: Namespace, questions: Questions) -> LoginState:
    """Log in where nobody is, and return who is logged in. Raises RequestRefused where nobody is then."""
    is_new = candidate.is_made and not candidate.uses_key
    state = None if is_new else logins.read_login(candidate)
    if (state is None or state.profile is None) and not options.no_login and not candidate.uses_key:
        _require_terminal(questions)
        if candidate.cli.login is not None and candidate.cli.login.hint:
            output.write_line(f"{candidate.cli.title} starts now: {candidate.cli.login.hint}.")
        logins.log_in(candidate)
        state = None
    if state is None:
        state = logins.read_login(candidate)
    if state.profile is None and not options.no_login:
        told = f"who is logged in {state.problem}" if state.problem else "nobody is logged in"
        raise LoginFailed(f"{told}, so nothing was added: log in again, or add it without with --no-login")
    same = logins.find_same_login(candidate, state)
    if same is not None and state.profile is not None:
        question = f"{state.profile.text} is the account {same} already, and both would spend the same quota. Add it?"
        if questions.is_agreed or not questions.confirm(question):
            raise NameTaken(f"{state.profile.text} is the account {same} already: log in as somebody else")
    return state


def _require_terminal(questions: Questions) -> None:
    if not questions.can_ask or not os.isatty(1):
        message = "a login needs a terminal: run it in one, or give --home, --api-key-env, --api-key-file or --no-login"
        raise TerminalNeeded(message)


def _write(setup: AccountSetup, questions: Questions, step: Step, guard: Guard) -> bool:
    """Show changes, ask, and write them; return False where their files say something else by now.

    The login that was just made shall not be lost to whoever wrote meanwhile. Raises RequestRefused for a no.
    """
    _agree(questions, step.what.rpartition(" ")[2], setup.changes.diff(step.files), len(step.files))
    guard.disarm()
    try:
        setup.changes.write(step)
    except ConfigChanged:
        return False
    return True


def _agree(questions: Questions, name: str, diff: str, count: int) -> None:
    if not questions.confirm_changes(diff, f"Write {count} file{'s' * (count != 1)}?"):
        raise Declined(f"the account {name} was not added: nothing was written")


def _keep_quota(additions: AccountAdditions, name: str, quota: FirstQuota) -> None:
    try:
        additions.store_quota(name, quota)
    except RunnerError as error:  # the account is there: the next run reads its quota again
        diagnostics.note(f"Note: its quota was not stored: {error.message}")


def _show(state: LoginState, quota: FirstQuota, *, uses_key: bool) -> None:
    if state.profile is not None:
        output.write_line(state.profile.sentence)
    if quota.failure is not None:
        diagnostics.note(f"Note: {quota.failure}")
    elif quota.reading is None:
        why = "no quota known for API keys" if uses_key else "not known for this login"
        output.write_line(f"quota: {why}; its calls are counted")
    for window in quota.windows:
        output.write_line(f"quota: {window.name} {percent(window.used)} used, resets {moment(window.resets_at)}")


def _ask_pools(
    additions: AccountAdditions, candidate: Candidate, named: Sequence[str] | None, questions: Questions
) -> tuple[str, ...]:
    if named is not None:
        pools = tuple(dict.fromkeys(named))
    else:
        known, suggested = additions.pools(), additions.suggest_pool(candidate)
        if questions.can_ask and not questions.is_agreed:
            output.write_line(f"pools: {join_names(known)}")
            pools = split_names(questions.ask("It joins", suggested or "none", _check_pools, _POOL_HELP))
        else:
            pools = (suggested,) if suggested else ()
    pools = () if pools == ("none",) else pools
    for pool in pools:
        check_pool(pool)
    return pools


def _check_pools(text: str) -> None:
    for pool in split_names(text):
        check_pool(pool)
