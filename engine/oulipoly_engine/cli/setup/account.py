"""`account show|login|test|rename|remove|undo`: an account that is there, and the way out."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable

from oulipoly_engine.cli.context import Context
from oulipoly_engine.cli.parser import Parser
from oulipoly_engine.cli.setup.api_key import add_options, ask_provider, read_key
from oulipoly_engine.cli.setup.questions import Questions, join_names
from oulipoly_engine.cli.setup.test_prompt import send_test_prompt
from oulipoly_engine.errors import RequestRefused, UsageInvalid
from oulipoly_engine.facade import output
from oulipoly_engine.facade.account_setup import Step
from oulipoly_engine.facade.own_process import interruptible

_TEXTS = {
    "show": "Show an account: its CLI, its home, who is logged in, its pools. No token is ever shown.",
    "login": "Log in to an account again, by its CLI's own login in this terminal.",
    "test": "Ask an account for one word. Exits with 1 where it does not answer.",
    "rename": "Give an account another name, here, in its pools and in the state file.",
    "remove": "Take an account out of the configuration and its pools. What its CLI keeps stays, unless --delete-home.",
    "undo": "Take back the last addition, rename, removal, import, set-up or sync.",
}


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Run the command of that name."""
    verb = name.rpartition(" ")[2]
    parser = Parser(prog=f"{context.program} {name}", description=_TEXTS[verb])
    if verb != "undo":
        parser.add_argument("account", metavar="ACCOUNT")
    if verb == "rename":
        parser.add_argument("new", metavar="NEW", help="its new name")
    if verb == "show":
        parser.add_argument("--json", action="store_true", help="print one JSON document")
    if verb == "remove":
        parser.add_argument(
            "--delete-home", action="store_true", help="delete its home too, sessions and all, if `account add` made it"
        )
    if verb == "login":
        add_options(parser)
    if verb in ("rename", "remove", "undo"):
        parser.add_argument("-y", "--yes", action="store_true", help="write without a question")
    served = {"show": _show, "login": _log_in, "test": _test, "rename": _rename, "remove": _remove, "undo": _undo}
    return served[verb](context, parser.parse(arguments))


def _show(context: Context, options: Namespace) -> int:
    shown = context.engine.account_setup.show(options.account)
    profile = None if shown.login is None else shown.login.profile
    if options.json:
        login = None
        if profile is not None:
            login = {"id": profile.id, "method": profile.method, "plan": profile.plan, "details": {**profile.details}}
        output.write_json(
            {
                "account": shown.name,
                "cli": shown.cli,
                "program": shown.program,
                "version": shown.version,
                "home": None if shown.folder is None else str(shown.folder),
                "home_is_ours": shown.is_made,
                "login": login,
                "pools": list(shown.pools),
            }
        )
        return 0
    output.write_line(f"account    {shown.name}")
    output.write_line(f"CLI        {shown.cli or 'not known'} {shown.version or ''}".rstrip())
    output.write_line(f"program    {shown.program or 'none'}")
    output.write_line(f"home       {shown.folder or 'not known'}{', made by account add' if shown.is_made else ''}")
    if profile is not None:
        output.write_line(f"logged in  {profile.text}")
    else:
        problem = None if shown.login is None else shown.login.problem
        output.write_line(f"logged in  {problem or ('not known' if shown.login is None else 'nobody')}")
    output.write_line(f"pools      {join_names(shown.pools)}")
    return 0


def _log_in(context: Context, options: Namespace) -> int:
    setup = context.engine.account_setup
    existing = setup.existing(options.account)
    key = read_key(options)
    if key is not None:
        provider = ask_provider(existing, options, Questions(is_agreed=False))
        existing = setup.store_key(existing, key, provider, in_keyring=existing.keyring is not None)
    elif existing.keyring is not None:
        message = f"{options.account} uses an API key in the keyring: give a new one by --api-key-env or --api-key-file"
        raise UsageInvalid(message)
    else:
        setup.log_in(existing)
    state = setup.read_login(existing)
    if state.profile is None:
        problem = f"who is logged in {state.problem}" if state.problem else f"nobody is logged in to {options.account}"
        message = f"{problem}: try again"
        raise RequestRefused(message)
    output.write_line(f"logged in: {state.profile.text}")
    return 0


def _test(context: Context, options: Namespace) -> int:
    setup = context.engine.account_setup
    context.engine.accounts.check(options.account)
    return send_test_prompt(
        context, options.account, setup.pools_of(options.account), setup.test_words(options.account)
    )


def _rename(context: Context, options: Namespace) -> int:
    step = context.engine.account_setup.plan_rename(options.account, options.new)
    _write(context, step, Questions(is_agreed=options.yes).confirm, f"Rename {options.account} to {options.new}?")
    return 0


def _remove(context: Context, options: Namespace) -> int:
    name, setup = options.account, context.engine.account_setup
    step = setup.plan_removal(name)
    made = setup.made_home(name) if options.delete_home else None
    if options.delete_home and made is None:
        message = f"the home of {name} was not made by `account add`, so it is not deleted: leave --delete-home out"
        raise RequestRefused(message)
    questions = Questions(is_agreed=options.yes)
    entry = setup.keyring_entry(name)
    if made is None:
        stays = "What its CLI keeps stays" + ("." if entry is None else ", and its API key in the keyring too.")
        _write(context, step, questions.confirm, f"Remove the account {name}? {stays}")
        return 0

    setup.refuse_if_used(name, made)

    def agree(question: str) -> bool:
        return questions.name(question, name)

    _write(
        context, step, agree, f"Remove the account {name} and {made}? Its login and sessions cannot be brought back."
    )
    with interruptible():  # half a home is of no use to anybody
        setup.delete_home(made)
    if entry is not None:
        setup.delete_key(entry)
        output.write_line("deleted its API key in the keyring")
    output.write_line(f"deleted {made}")
    return 0


def _undo(context: Context, options: Namespace) -> int:
    setup = context.engine.account_setup
    step = setup.last_step()
    if step is not None:
        files = ", ".join(map(str, step.places))
        if not Questions(is_agreed=options.yes).confirm(f"Undo: {step.what}? This changes {files}."):
            message = "nothing was undone"
            raise RequestRefused(message)
    output.write_line(f"Undone: {setup.undo(step).what}")
    return 0


def _write(context: Context, step: Step, agree: Callable[[str], bool], question: str) -> None:
    """Show changes, ask, and write them. Raises RequestRefused where nobody agrees."""
    setup = context.engine.account_setup
    output.write_block(setup.diff(step.files))
    if not agree(question):
        message = "nothing was changed"
        raise RequestRefused(message)
    setup.write(step)
    output.write_line(f"{step.what[0].upper()}{step.what[1:]}. Undo: {context.program} account undo")
