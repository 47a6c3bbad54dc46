"""The one-shot that the app starts in a process of its own: the prompt comes on stdin, a pin narrows the pool.

A process, so that stopping it is the one well-trodden way (INT makes the record final), and a crash stays its own.
Run as `python -m oulipoly_engine.cli.runs.app_one_shot`; it is not a command of the contract and prints no marker line.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, path
from oulipoly_engine.cli.runs.run import Terminal
from oulipoly_engine.core.accounts import inputs
from oulipoly_engine.core.accounts.accounts import Model, restrict_to_account
from oulipoly_engine.core.runs import prompt
from oulipoly_engine.errors import AccountUnusable, Interrupted, RunnerError, translate_system_errors
from oulipoly_engine.facade import diagnostics
from oulipoly_engine.facade.runs.one_shots import Request


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a prompt and return the CLI's exit code."""
    parser = Parser(prog="app_one_shot")
    parser.add_argument("--model", required=True)
    parser.add_argument("--pin")
    parser.add_argument("--models-dir", type=path)
    parser.add_argument("--project", type=path)
    try:
        with translate_system_errors():
            options = parser.parse(list(sys.argv[1:] if arguments is None else arguments))
            context = Context(models_dir=options.models_dir)
            return _run(context, options.model, options.pin, options.project or Path.cwd())
    except Interrupted as error:
        return error.exit_code
    except RunnerError as error:
        return diagnostics.fail(error)


def _run(context: Context, name: str, pin: str | None, folder: Path) -> int:
    face = Terminal()
    with context.engine.one_shots.open(face) as runner:
        model = _restrict_to_pin(runner.model(name), pin)
        text = prompt.choose(None, [], sys.stdin.buffer.read().decode("utf-8", "surrogateescape"))
        input_args = inputs.resolve(model.inputs, inputs.collect([]), text)
        done = runner.run(Request(model, text, folder.absolute(), input_args), asks_diagnosis=False)
        if done.error is not None:
            diagnostics.fail(done.error)
        if done.result.success:
            face.note(f"[routing] {done.result.provider_name} answered")
        runner.follow_up(done)
        return done.exit_code


def _restrict_to_pin(model: Model, pin: str | None) -> Model:
    """Return the model with the pinned account alone; the places of its members stay what they were."""
    if pin is None:
        return model
    found = restrict_to_account(model, pin)
    if found is None:
        raise AccountUnusable(
            f"the account {pin!r} alone is to serve, but the pool of {model.name!r} does not have it: "
            "take its pin away, or choose another one"
        )
    return found


if __name__ == "__main__":
    sys.exit(main())
