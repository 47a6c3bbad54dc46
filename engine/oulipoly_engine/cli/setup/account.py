"""`account show|login|test|rename|remove|undo`: an account that is there, and the way out."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.base.questions import Questions, join_names
from oulipoly_engine.cli.setup.api_key import add_options, ask_provider, read_key
from oulipoly_engine.cli.setup.test_prompt import send_test_prompt
from oulipoly_engine.errors import Declined, HomeUnusable, LoginFailed, RequestRefused, RunnerError, UsageInvalid
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.accounts.changes import AccountChanges, Step
from oulipoly_engine.facade.base.own_process import interruptible

_MORE = {  # behind the summary, in a command's help
    "show": "No token is ever shown.",
    "login": "It is its CLI's own login, in this terminal.",
    "test": "Exits with 1 where it does not answer.",
    "remove": "What its CLI keeps stays, unless --delete-home.",
    "undo": "That is an addition, rename, removal, import, set-up, sync or `config set`.",
}


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Run the command of that name."""
    verb = name.rpartition(" ")[2]
    parser = Parser(prog=f"{context.program} {name}", command=name, more=_MORE.get(verb, ""))
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
    with interruptible() as guard:  # else the CLI that it asks would outlive it
        guard.arm()
        shown = context.engine.account_setup.logins.show(options.account)
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
                "problem": shown.problem,
                "pools": list(shown.pools),
            }
        )
        return 0
    output.write_line(f"account    {shown.name}")
    output.write_line(f"CLI        {shown.cli or 'not known'} {shown.version or ''}".rstrip())
    output.write_line(f"program    {shown.program or 'none'}")
    led = f", by {shown.folder_variable} of your environment" if shown.folder_variable else ""
    output.write_line(f"home       {shown.folder or 'not known'}{', made by account add' if shown.is_made else led}")
    if profile is not None:
        somebody = f"yes ({profile.plan})" if profile.plan else "yes"  # nobody knows who
        output.write_line(f"logged in  {profile.text if profile.is_named else somebody}")
    else:
        known = None if shown.login is None or shown.login.problem is not None else "nobody"
        output.write_line(f"logged in  {known or 'not known'}")
    if shown.problem is not None:
        output.write_line(f"problem    {shown.problem}")
    output.write_line(f"pools      {join_names(shown.pools)}")
    return 0


def _log_in(context: Context, options: Namespace) -> int:
    setup = context.engine.account_setup
    logins = setup.logins
    existing = logins.existing(options.account)
    key = read_key(options)
    if key is not None:
        provider = ask_provider(existing, options, Questions(is_agreed=False))
        existing = setup.additions.store_key(existing, key, provider, in_keyring=existing.keyring is not None)
    elif existing.keyring is not None:
        message = f"{options.account} uses an API key in the keyring: give a new one by --api-key-env or --api-key-file"
        raise UsageInvalid(message)
    else:
        logins.log_in(existing)
    state = logins.read_login(existing)
    if state.profile is None:
        problem = f"who is logged in {state.problem}" if state.problem else f"nobody is logged in to {options.account}"
        raise LoginFailed(f"{problem}: try again")
    output.write_line(state.profile.sentence)
    return 0


def _test(context: Context, options: Namespace) -> int:
    logins = context.engine.account_setup.logins
    context.engine.accounts.check(options.account)
    return send_test_prompt(
        context, options.account, logins.pools_of(options.account), logins.test_words(options.account)
    )


def _rename(context: Context, options: Namespace) -> int:
    step = context.engine.account_setup.changes.plan_rename(options.account, options.new)
    _write(
        context, step, Questions(is_agreed=options.yes).confirm_changes, f"Rename {options.account} to {options.new}?"
    )
    return 0


def _remove(context: Context, options: Namespace) -> int:
    name, removals = options.account, context.engine.account_setup.removals
    step = removals.plan(name)
    made = removals.made_home(name) if options.delete_home else None
    if options.delete_home and made is None:
        message = f"the home of {name} was not made by `account add`, so it is not deleted: leave --delete-home out"
        raise HomeUnusable(message)
    questions = Questions(is_agreed=options.yes)
    entry = removals.keyring_entry(name)
    if made is None:
        stays = "What its CLI keeps stays" + ("." if entry is None else ", and its API key in the keyring too.")
        _write(context, step, questions.confirm_changes, f"Remove the account {name}? {stays}")
        return 0

    removals.refuse_if_used(name, made)
    has_key = entry is not None and removals.has_key(entry)  # a locked one is told before anything is removed

    def agree(diff: str, question: str) -> bool:
        output.write_block(diff)
        return questions.name(question, name)

    changes = context.engine.account_setup.changes
    _agree(
        changes, step, agree, f"Remove the account {name} and {made}? Its login and sessions cannot be brought back."
    )
    deletion = removals.plan_deletion(step, name, made, entry if entry is not None and has_key else "")
    _write_agreed(context, deletion)
    removed = changes.last_step()
    with removals.hold_deletion(deletion), interruptible():  # half a home is of no use to anybody
        if entry is not None and has_key:
            try:
                removals.delete_key(entry)
            except RequestRefused as error:
                _bring_back(changes, removed, error)
                output.write_line(f"The account {name} is there again.")
                raise
            output.write_line("deleted its API key in the keyring")
        removals.delete_home(made)
    output.write_line(f"deleted {made}")
    return 0


def _bring_back(changes: AccountChanges, removed: Step | None, error: RequestRefused) -> None:
    """Undo a removal that cannot be completed, and nothing else that was changed meanwhile. Raises RequestRefused."""
    try:
        changes.undo(removed)
    except RunnerError as other:
        raise RequestRefused(f"{error.message}; {other.message}") from error


def _undo(context: Context, options: Namespace) -> int:
    changes = context.engine.account_setup.changes
    if changes.settled is not None:  # the change that is meant; nobody has asked for the one before
        output.write_line(f"Undone: {changes.settled.what}")
        return 0
    step = changes.last_step()
    if step is not None:
        files = ", ".join(map(str, step.places))
        if not Questions(is_agreed=options.yes).confirm(f"Undo: {step.what}? This changes {files}."):
            raise Declined("nothing was undone")
    output.write_line(f"Undone: {changes.undo(step).what}")
    before = changes.last_step()
    if before is not None:
        diagnostics.note(f"Another `{context.program} account undo` undoes what came before: {before.what}")
    return 0


def _write(context: Context, step: Step, agree: Callable[[str, str], bool], question: str) -> None:
    """Show changes, ask, and write them. agree: shows them and asks. Raises RequestRefused where nobody agrees."""
    _agree(context.engine.account_setup.changes, step, agree, question)
    _write_agreed(context, step)


def _agree(changes: AccountChanges, step: Step, agree: Callable[[str, str], bool], question: str) -> None:
    if not agree(changes.diff(step.files), question):
        raise Declined("nothing was changed")


def _write_agreed(context: Context, step: Step) -> None:
    context.engine.account_setup.changes.write(step)
    output.write_line(f"{step.what[0].upper()}{step.what[1:]}. Undo: {context.program} account undo")
