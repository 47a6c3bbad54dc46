"""`setup run`: a model sets up CLIs, accounts and pools; a person agrees to each command and each change."""

from __future__ import annotations

from argparse import Namespace

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.base.questions import Questions
from oulipoly_engine.cli.setup import account_add
from oulipoly_engine.errors import RunnerError, UsageInvalid
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.base.own_process import interruptible
from oulipoly_engine.facade.setup.agent import Outcome, SetupEnd, SetupFace, SetupWish

_DONE = (Outcome.SUCCESS, Outcome.DONE)


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Run a set-up and return 0 where it came to its end, else 1. Raises UsageInvalid where nobody could answer it."""
    options = _parse(context, name, arguments)
    questions = Questions(is_agreed=options.yes)
    wish = " ".join(options.wish)
    if not (wish or options.cli or options.json or questions.can_ask):
        message = "say what you want: `setup run sync my skills to codex`; or run it in a terminal, or with --json"
        raise UsageInvalid(message)
    with interruptible() as guard:
        face = _face(context, options, questions)
        if not (wish or options.cli or options.json):
            wish = questions.ask("What do you want to set up", "see what is there", lambda _text: None, _WISH_HELP)
        wanted = SetupWish(wish, options.model, options.account, options.max_turns, options.cli)
        end = context.engine.setup_agent.run(wanted, face)
        if not options.json:
            _show(context, end)
        guard.check()
    if end.outcome is Outcome.CANCELLED and end.summary:
        raise UsageInvalid(end.summary)
    return 0 if end.outcome in _DONE else 1


_WISH_HELP = "In your own words: `set up gemini as a second account`, `sync my skills to codex`."


def _parse(context: Context, name: str, arguments: list[str]) -> Namespace:
    parser = Parser(
        prog=f"{context.program} {name}",
        description="A model of yours sets up CLIs, accounts and pools. You see each command and each change whole "
        "before it is made, and agree or not; `account undo` takes changes back. It gets no key and no token.",
    )
    parser.add_argument("wish", nargs="*", metavar="WHAT YOU WANT", help="in your own words")
    parser.add_argument("--cli", metavar="NAME", help="set up this CLI alone: claude, codex, gemini, opencode")
    parser.add_argument("-m", "--model", metavar="MODEL", help="whose pool serves the turns; else your default one")
    parser.add_argument("--account", metavar="NAME", help="this account alone serves them")
    parser.add_argument("--max-turns", type=int, default=25, metavar="N", help="at most so many turns, 25 (default)")
    parser.add_argument("--json", action="store_true", help="events on stdout and answers on stdin, as lines of JSON")
    parser.add_argument(
        "-y",
        "--yes",
        action="store_true",
        help="make changes that can be undone without a question; for what is run, now or later, you are asked all the "
        "same",
    )
    options = parser.parse(arguments)
    if options.json and options.yes:
        raise UsageInvalid("--yes does not go with --json, where each question has its answer on stdin")
    return options


def _face(context: Context, options: Namespace, questions: Questions) -> SetupFace:
    if options.json:
        from oulipoly_engine.cli.setup.agent.json_face import JsonFace  # noqa: PLC0415 - one of the two is needed

        return JsonFace()
    from oulipoly_engine.cli.setup.agent.terminal_face import TerminalFace  # noqa: PLC0415 - see above

    def add_account(cli: str) -> None:
        try:
            account_add.run(context, "account add", [cli])
        except RunnerError as error:
            diagnostics.note(error.message)

    return TerminalFace(questions, add_account)


def _show(context: Context, end: SetupEnd) -> None:
    turns = f"{end.turns} turn{'s' * (end.turns != 1)}"
    output.write_line(f"ended: {end.outcome.value.replace('_', ' ')}, {turns}")
    for change in end.changes:
        output.write_line(f"changed: {change}")
    if end.changes:
        output.write_line(f"{context.program} account undo takes back the last of these, and again the one before")
