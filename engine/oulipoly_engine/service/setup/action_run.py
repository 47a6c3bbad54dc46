"""Do what a model asks for, one action at a time: checked, shown, agreed to, done, and told to the model.

Whatever goes wrong is told to the model; only what ends the set-up is raised.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from oulipoly_engine import stopping
from oulipoly_engine.core.setup import commands, feedback, memory
from oulipoly_engine.core.setup.actions import (
    AnyAction,
    AskUser,
    CompleteAction,
    RunCommand,
    StatusAction,
    SyncMcp,
    SyncSkill,
    TestIntegration,
    UpdateMemory,
    WriteConfig,
    kind_of,
)
from oulipoly_engine.core.setup.dialogs import CommandOutput, ConfigWritten, TestResult
from oulipoly_engine.core.setup.events import Agreement, Status
from oulipoly_engine.core.setup.turn import BadAction
from oulipoly_engine.errors import Interrupted, RequestRefused, RunnerError
from oulipoly_engine.records import replace
from oulipoly_engine.service.setup import command_run
from oulipoly_engine.service.setup.ask_user import Asking
from oulipoly_engine.service.setup.face import Ports, SetupCancelled
from oulipoly_engine.service.setup.file_plan import plan_file
from oulipoly_engine.service.setup.sync import Sync, SyncPlan

_GIVEN = (
    "this is not a copy of what {source} has, the model wrote it; {target} starts its program, or asks its address, "
    "with all your rights"
)
_MOST_CHANGES = 100  # of a set-up: all of them are kept to be undone
_MOST_TESTS = 10  # of a set-up: each is a prompt that counts against somebody's quota


class ActionRun:
    """The actions of one set-up."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._asking = Asking(ports)
        self._tests = 0
        self.changes: list[str] = []  # what can be undone, in the past tense

    def do(self, action: AnyAction | BadAction) -> str:
        """Do one action and return what the model is told of it.

        Raises SetupCancelled where the person ends the set-up, Interrupted and Stopped.
        """
        if isinstance(action, BadAction):
            return feedback.of_refusal(action.kind, action.reason)
        kind = kind_of(action)
        try:
            return self._do(action)
        except (Interrupted, stopping.Stopped, SetupCancelled):
            raise
        except RunnerError as error:
            message = self._ports.secrets.clean(error.message)
            self._ports.face.tell(Status(f"not done: {message}"))
            return feedback.of_refusal(kind, message)

    def _do(self, action: AnyAction) -> str:
        match action:
            case StatusAction():
                self._ports.face.tell(Status(action.message))
                return "status: shown"
            case RunCommand():
                return self._run_command(action)
            case WriteConfig():
                return self._write(action)
            case TestIntegration():
                return self._test(action)
            case AskUser():
                return self._asking.ask(action.action)
            case SyncSkill():
                names = (action.source_cli, action.target_cli, action.skill_name)
                self._check_target(action.target_cli)
                return self._sync(f"sync_skill {action.skill_name}", lambda sync: sync.plan_skill_sync(*names))
            case SyncMcp():
                servers = (action.source_cli, action.target_cli, action.mcp_name, action.config or None)
                self._check_target(action.target_cli)
                given = _GIVEN.format(source=action.source_cli, target=action.target_cli) if action.config else ""
                return self._sync(f"sync_mcp {action.mcp_name}", lambda sync: sync.plan_mcp_sync(*servers), given)
            case UpdateMemory():
                return self._remember(action)
            case CompleteAction():
                return ""

    def _run_command(self, asked: RunCommand) -> str:
        commands.check_command(asked, self._ports.cli)
        shown = commands.shown_command(asked)
        if asked.command in commands.LOOK_UPS:
            return self._tell_output(command_run.look_up(asked, self._ports.environ))
        command_run.find_program(asked.command, self._ports.environ)
        question = Agreement("command", "Run this command?", shown, asked.description, commands.warning(asked))
        if not self._ports.face.agree(question):
            return feedback.of_no("run_command", shown)
        done = command_run.run_command(asked, self._ports.environ, self._ports.paths.home)
        return self._tell_output(done.output, done.stopped)

    def _tell_output(self, output: CommandOutput, stopped: str = "") -> str:
        clean = self._ports.secrets.clean_output
        out, err = clean(output.stdout), clean(output.stderr)
        command = self._ports.secrets.clean(output.command)
        shown = replace(output, command=command, stdout=out[: commands.SHOWN], stderr=err[: commands.SHOWN])
        self._ports.face.show(shown)
        return feedback.of_command(output.command, output.exit_code, out, err, stopped)

    def _write(self, asked: WriteConfig) -> str:
        ports = self._ports
        plan = plan_file(asked, ports.paths, ports.environ, ports.cli)
        if not plan.is_needed:
            return f"write_config {asked.path}: it says that already"
        self._check_count()
        question = Agreement("file", f"Write {plan.path}?", plan.diff, asked.description, plan.warning, is_diff=True)
        if not self._ports.face.agree(question):
            return feedback.of_no("write_config", asked.path)
        if plan_file(asked, ports.paths, ports.environ, ports.cli) != plan:  # links too may have changed since
            raise RequestRefused(f"{plan.path} was changed in the meantime, so nothing was written")
        self._ports.write(plan.step)
        self.changes.append(plan.step.what)
        self._ports.face.show(ConfigWritten(str(plan.path), asked.description, plan.diff))
        return f"write_config {asked.path}: written"

    def _check_count(self) -> None:
        if len(self.changes) >= _MOST_CHANGES:
            raise RequestRefused(f"{_MOST_CHANGES} changes are the most of one set-up")

    def _test(self, asked: TestIntegration) -> str:
        if self._tests >= _MOST_TESTS:
            raise RequestRefused(f"{_MOST_TESTS} tests are the most of one set-up: each spends the user's quota")
        self._tests += 1
        self._ports.face.tell(Status(f"test prompt to {asked.model_name}"))
        success, output = self._ports.test_model(asked.model_name)
        output = self._ports.secrets.clean_output(output)
        self._ports.face.show(TestResult(asked.model_name, success, output))
        return feedback.of_test(asked.model_name, output, success=success)

    def _check_target(self, name: str) -> None:
        """Refuse to copy to another CLI than the one that the set-up is about alone."""
        cli = self._ports.cli
        if cli is not None and self._ports.sync().home(name).cli.name != cli.name:
            message = f"{name} is not a home of {cli.title}, which this set-up is about alone: nothing is copied to it"
            raise RequestRefused(message)

    def _sync(self, kind: str, make: Callable[[Sync], SyncPlan], given: str = "") -> str:
        """Copy something. given: what to think of an entry that is the model's own."""
        sync = self._ports.sync()
        plan = make(sync)
        if not plan.is_needed:
            return f"{kind}: the target has it already"
        self._check_count()
        replaced = "the target has another one of that name, which this replaces" if plan.replaces else ""
        warning = "; ".join(filter(None, (given, replaced)))
        notes = "\n".join(plan.notes)
        question = "Add this MCP server?" if given else "Copy this?"
        if not self._ports.face.agree(Agreement("sync", question, plan.diff, notes, warning, is_diff=True)):
            return feedback.of_no(kind, "")
        sync.apply(plan)
        self.changes.append(plan.what)
        return self._ports.secrets.clean(f"{kind}: {plan.what}. {notes}".strip())

    def _remember(self, asked: UpdateMemory) -> str:
        data = memory.hide_secrets(asked.data)
        shown = json.dumps(data, ensure_ascii=False, indent=1)
        if self._ports.secrets.clean(shown) != shown:
            raise RequestRefused("the data has what looks like a key or a password: nothing secret is kept")
        edges = tuple((edge.target_label, edge.edge_type) for edge in asked.edges)
        lines = [f"{asked.node_type}: {asked.label}", shown, *(f"{kind} {target}" for target, kind in edges)]
        question = Agreement("memory", "Keep this for the next set-up?", "\n".join(lines))
        if not self._ports.face.agree(question):
            return feedback.of_no("update_memory", asked.label)
        return f"update_memory: {self._ports.remember(asked.node_type, asked.label, data, edges)}"
