"""The one-shot on the command line: which model, which prompt, and the marker lines around the CLI's bytes."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from oulipoly_engine.cli.base import commands
from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.core.accounts.accounts import Agent, Model
from oulipoly_engine.core.runs import markers, prompt
from oulipoly_engine.errors import AgentUnknown, OutputFailed, RequestRefused
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.base.own_process import parent_invocation
from oulipoly_engine.facade.runs.one_shots import PROMPT_RESOLUTION, DispatchFailed, Invoked, OneShotRunner, Request

_MANY = 64 << 10  # bytes at once, from which a wider pipe pays


class Terminal:
    """Our streams as the service's face."""

    def __init__(self) -> None:
        self._is_wide = False

    def stdout(self, data: bytes | memoryview) -> None:
        """Pass bytes of the CLI's answer on."""
        if len(data) >= _MANY and not self._is_wide:
            self._is_wide = True
            output.widen()
        output.write_bytes(data)

    def stderr(self, data: bytes | memoryview) -> None:
        """Pass bytes of the CLI's stderr on."""
        diagnostics.write_bytes(data)

    def note(self, line: str) -> None:
        """Say something about the run itself."""
        diagnostics.note(line)


def run(context: Context, options: Namespace) -> int:
    """Run a one-shot and return the CLI's exit code."""
    try:
        with context.engine.one_shots.open(Terminal()) as runner:
            invoked = runner.run(_request(context, options, runner))
            code = conclude(invoked, to_stderr=options.result_on_stderr)
            runner.follow_up(invoked)
            return code
    except DispatchFailed as error:
        output.write_line(markers.failure_line(error.failure))
        raise


def _request(context: Context, options: Namespace, runner: OneShotRunner) -> Request:
    model, text = _model_and_prompt(context, options, runner)
    return Request(
        model=model,
        prompt=text,
        input_args=_resolve_inputs(model, options.input, text),
        working_directory=folder(options.project),
        parent=parent_invocation(),
        timeout_s=options.timeout,
    )


def _resolve_inputs(model: Model, pairs: Sequence[str], text: str) -> tuple[str, ...]:
    if not pairs and not model.inputs:
        return ()
    from oulipoly_engine.core.accounts import inputs  # noqa: PLC0415 - most models take none

    return inputs.resolve(model.inputs, inputs.collect(pairs), text)


def conclude(invoked: Invoked, *, to_stderr: bool) -> int:
    """Say how a one-shot ended, the result line last, and return our exit code."""
    if invoked.error is not None:
        diagnostics.fail(invoked.error)
    line = markers.result_line(invoked.result)
    if to_stderr or isinstance(invoked.error, OutputFailed):
        diagnostics.note(line)
    elif not invoked.stdout_closed:
        try:
            output.write_lines(("", line) if markers.needs_newline(invoked.last_byte) else (line,))
        except BrokenPipeError:
            output.abandon()
    return invoked.exit_code


def _model_and_prompt(context: Context, options: Namespace, runner: OneShotRunner) -> tuple[Model, str]:
    if options.model is not None:
        model = runner.model(options.model)
        try:
            body = "" if options.agent_file is None else runner.agent_file(options.agent_file).body
            return model, prompt.with_instructions(body, _prompt(options, options.words))
        except RequestRefused as error:
            failure = markers.PreInvocationFailure(
                stage=PROMPT_RESOLUTION,
                reason=error.message,
                finished_at=context.clock.now(),
                model_name=options.model,
            )
            raise DispatchFailed(failure, error) from error
    agent, words = _agent(context, options, runner)
    if not agent.model:
        message = f"the agent {agent.name!r} names no model: add `model:` to its frontmatter, or give one with --model"
        raise RequestRefused(message)
    return runner.model(agent.model, agent.name), prompt.with_instructions(agent.body, _prompt(options, words))


def _agent(context: Context, options: Namespace, runner: OneShotRunner) -> tuple[Agent, list[str]]:
    if options.agent_file is not None:
        return runner.agent_file(options.agent_file), options.words[1:]
    if not options.words:
        raise AgentUnknown(
            f"no agent and no model: say `{context.program} AGENT PROMPT...` or `{context.program} -m MODEL PROMPT...` "
            f"(see `{context.program} --help`; `{context.program} demo` needs no account)"
        )
    name, *words = options.words
    try:
        return runner.agent(name), words
    except AgentUnknown as error:
        near = commands.nearest_to(name)
        if near:
            error.message += f"; or did you mean the command `{near}`?"
        raise


def _prompt(options: Namespace, words: list[str]) -> str:
    if words and options.file is None:
        return prompt.choose(None, words, None)
    from oulipoly_engine.cli.base import stdio  # noqa: PLC0415 - most prompts are words

    from_file = None if options.file is None else stdio.read_prompt(options.file)
    piped = None
    if from_file is None:
        piped = stdio.read_piped_text() if stdio.is_piped() else None
    return prompt.choose(from_file, words, piped)


def folder(path: Path | None) -> Path:
    """Return the folder in which the CLI works: the one that `-p` names, else ours. Raises RequestRefused."""
    if path is None:
        try:
            return Path.cwd()
        except OSError as error:
            message = "the working directory is gone: change to another one, or name one with -p/--project"
            raise RequestRefused(message) from error
    if not path.is_dir():
        raise RequestRefused(f"the project folder {path} is not a directory: correct -p/--project")
    return path.absolute()
