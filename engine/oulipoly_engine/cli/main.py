"""The headless command: parse, run, and turn every ending into an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from oulipoly_engine import __version__
from oulipoly_engine.cli.base import commands
from oulipoly_engine.cli.setup import preconditions
from oulipoly_engine.errors import Interrupted, RunnerError, UsageInvalid, translate_system_errors
from oulipoly_engine.facade import diagnostics, output

if TYPE_CHECKING:
    from argparse import Namespace

    from oulipoly_engine.cli.base.context import Context, Pane
    from oulipoly_engine.facade.base.home import FindAppFaults


def main(
    argv: Sequence[str] | None = None, pane: Pane | None = None, find_app_faults: FindAppFaults | None = None
) -> int:
    """Run one command line and return its exit code.

    pane: what shows a terminal that is to be started. find_app_faults: what the app knows of its own files;
    None: there is no app.

    With `--json` an error is one JSON line on stderr, whatever the command.
    A closed stdout ends quietly with 0; a bug keeps its traceback and ends with 1.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if diagnostics.is_json_asked(arguments):
        diagnostics.hold_warnings()
    try:
        with translate_system_errors():
            return _dispatch(arguments, pane, find_app_faults)
    except Interrupted as error:
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        output.abandon()
        return 0
    except RunnerError as error:
        return diagnostics.fail_as_asked(error, arguments)
    finally:
        diagnostics.release_warnings()


def _dispatch(arguments: list[str], pane: Pane | None, find_app_faults: FindAppFaults | None = None) -> int:
    if arguments[:1] == ["__complete"]:
        from oulipoly_engine.cli.completion import complete  # noqa: PLC0415 - 20 ms, only a shell asks

        return complete.run(arguments[1:])
    from oulipoly_engine.cli.base.parser import split, top_level  # noqa: PLC0415 - argparse, 5 ms, not for a word

    before, name, rest = split(arguments)
    program = sys.argv[0].rpartition("/")[2]  # pathlib costs 5 ms, --version has 40
    if program in ("", "-c", "-m", "__main__.py", "pytest") or program.endswith(".py"):
        program = "agents"
    parser = top_level(program)
    if name is None and {"-h", "--help"} & set(_options(arguments)):
        output.write_block(parser.format_help())
        return 0
    options = parser.parse(before)
    if options.version:
        output.write_line(f"{program} {__version__}")
        return 0
    from oulipoly_engine.cli.base.context import Context  # noqa: PLC0415 - msgspec, 20 ms, not for --version and errors

    context = Context(
        program,
        models_dir=options.models_dir,
        agents_dir=options.agents_dir,
        pane=pane,
        find_app_faults=find_app_faults,
        settings=options.set,
        extensions=options.extension,
        has_no_extensions=options.no_extensions,
    )
    try:
        if options.set:
            from oulipoly_engine.facade.configuration import refuse_wrong_options  # noqa: PLC0415 - 20 ms, only for it

            refuse_wrong_options(context.paths, context.models_dir, find_app_faults)
        return _run(context, options, name, rest)
    except Exception as error:
        context.explain(error)
        raise


def _run(context: Context, options: Namespace, name: str | None, rest: list[str]) -> int:
    command, rest = (None, rest) if name is None else commands.find((name, *rest))
    if (failed := preconditions.heal(context, command)) is not None:
        return failed
    if options.new:
        _refuse_beside_new(options, name)
        preconditions.require_configuration(context)
        from oulipoly_engine.cli.runs import repl  # noqa: PLC0415 - 100 ms, only this needs it

        return repl.new(context, options.project)
    if options.usage:
        _refuse_beside_usage(options, name)
        preconditions.require_configuration(context)
        from oulipoly_engine.cli.quota import usage  # noqa: PLC0415 - 100 ms, only this needs it

        return usage.show(context, as_json=options.json)
    if options.json:
        raise UsageInvalid("--json goes with --usage, or after a command")
    if name is not None:
        _refuse_one_shot_options(options, name)
    if command is not None:
        if not command.module:
            from oulipoly_engine.cli.base import nouns  # noqa: PLC0415 - only help and errors need it

            return nouns.run(context.program, command, rest)
        preconditions.require_configuration(context, command, rest)
        return commands.load(command).run(context, command.name, rest)
    if options.extension:
        raise UsageInvalid("--extension goes with live sessions: `chat --extension PATH`, or before another command")
    if options.resume is not None:
        return _resume(context, options)
    if options.at_end:
        raise UsageInvalid("--at-end goes with --resume ID")
    preconditions.require_configuration(context, arguments=() if options.model is not None else options.words[:1])
    from oulipoly_engine.cli.runs import run  # noqa: PLC0415 - 100 ms and more, not needed by --version and errors

    return run.run(context, options)


def _options(arguments: list[str]) -> list[str]:
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _refuse_beside_usage(options: object, name: str | None) -> None:
    keys = ("model", "agent_file", "file", "project", "input", "timeout", "result_on_stderr", "resume", "words")
    given = [key for key in keys if getattr(options, key)]
    if name is not None or given:
        word = name or ("a prompt" if given[0] == "words" else f"--{given[0].replace('_', '-')}")
        raise UsageInvalid(f"--usage stands alone: it does not go with {word}")


def _refuse_beside_new(options: Namespace, name: str | None) -> None:
    keys = ("model", "agent_file", "file", "input", "timeout", "result_on_stderr", "resume", "usage", "json", "words")
    given = [key for key in keys if getattr(options, key)]
    if name is not None or given:
        word = name or ("a prompt" if given[0] == "words" else f"--{given[0].replace('_', '-')}")
        raise UsageInvalid(f"--new takes -p alone, not {word}: `repl MODEL` opens a session of a model's pool")


def _resume(context: Context, options: Namespace) -> int:
    """Go on with a session: with a prompt, or a pipe in place of a terminal, without a screen."""
    for key in ("agent_file", "input"):
        if getattr(options, key):
            message = f"--{key.replace('_', '-')} does not go with --resume: the session has its instructions already"
            raise UsageInvalid(message)
    preconditions.require_configuration(context)
    from oulipoly_engine.cli.base import stdio  # noqa: PLC0415 - only to resume

    if options.words or options.file is not None or stdio.is_piped():
        from oulipoly_engine.cli.runs import resume  # noqa: PLC0415 - 100 ms, only this needs it

        return resume.resume(context, options)
    if options.timeout is not None or options.result_on_stderr:
        message = "--timeout and --result-on-stderr need a prompt: an interactive session has no end of its own"
        raise UsageInvalid(message)
    from oulipoly_engine.cli.runs import repl  # noqa: PLC0415 - as above

    return repl.resume(context, options.resume, options.model, options.project, at_end=options.at_end)


def _refuse_one_shot_options(options: object, name: str) -> None:
    given = [key for key in ("project", "input", "timeout", "result_on_stderr", "json") if getattr(options, key)]
    if given:
        message = f"--{given[0].replace('_', '-')} goes with a prompt, or after the command: {name} --{given[0]}"
        raise UsageInvalid(message)
