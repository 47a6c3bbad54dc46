"""Which runtimes of the user's accounts can serve an agent, and whether their logins are within its reach."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from oulipoly_engine.core.agents.agents import Agent
from oulipoly_engine.core.boxes.box import Level
from oulipoly_engine.core.live.launch.catalogue import Catalogue
from oulipoly_engine.core.live.launch.cli_options import CliOptions, find_refusal
from oulipoly_engine.core.live.runtimes import Runtime
from oulipoly_engine.errors import AccountUnusable, ProgramMissing, RunnerError
from oulipoly_engine.facade.base.home import Home
from oulipoly_engine.facade.live.catalogue import catalogue_of
from oulipoly_engine.service.agents.logins import (
    CliAccount,
    describe_login,
    describe_served,
    explain_refusals,
    refuse_login,
)
from oulipoly_engine.service.agents.start import find_cli


class Serving:
    """What can serve agents, as it is configured now; what was read once is not read again."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._runtimes: dict[str, tuple[Runtime, ...]] = {}  # by model
        self._unable: dict[str, Mapping[str, str]] = {}  # by model: why accounts of its pool serve no agent
        self._reasons: dict[tuple[str, str], str] = {}  # by level and runtime: why its login is within reach

    @cached_property
    def _catalogue(self) -> Catalogue:
        return catalogue_of(self._home)

    def logins(self, agent: Agent) -> Mapping[str, str]:
        """Return why the login of each account that can serve an agent is within its reach; empty: it is not."""
        try:
            runtimes = self.find_runtimes(agent)
            return {runtime.account or runtime.id: self._describe(agent.isolation, runtime) for runtime in runtimes}
        except RunnerError:
            return {}

    def _describe(self, level: str, runtime: Runtime) -> str:
        key = (level, runtime.id)
        if key not in self._reasons:
            self._reasons[key] = describe_login(level, self.choose_account(runtime), self._home.clock)
        return self._reasons[key]

    def choose_account(self, runtime: Runtime) -> CliAccount:
        """Return what serves an agent on a runtime."""
        cli = self._catalogue.clis.get(runtime.id)
        return CliAccount(runtime, cli, self._home.quiet_files.accounts().get(runtime.account))

    def find_refusals(self, agent: Agent) -> Mapping[str, str]:
        """Return why accounts of a model cannot serve an agent at its level. Raises AccountUnusable where none can."""
        able = self.find_runtimes(agent)
        reasons = {**self._unable[agent.plan.model]}
        reasons |= {runtime.account or runtime.id: self._refuse(agent, runtime) for runtime in able}
        if all(reasons.values()):
            raise AccountUnusable(explain_refusals(describe_served(agent), reasons, agent.isolation))
        return {account: reason for account, reason in reasons.items() if reason}

    def _refuse(self, agent: Agent, runtime: Runtime) -> str:
        try:
            find_cli(runtime)
        except ProgramMissing as error:
            return error.message
        reason = self._describe(agent.isolation, runtime) if agent.isolation == Level.SEALED else ""
        return reason and refuse_login(reason)

    def choose_runtime(self, agent: Agent) -> Runtime:
        """Return the first runtime that can serve an agent. Raises AccountUnusable, which says why none can."""
        refusals = self.find_refusals(agent)
        return next(each for each in self.find_runtimes(agent) if (each.account or each.id) not in refusals)

    def find_runtimes(self, agent: Agent) -> tuple[Runtime, ...]:
        """Return the runtimes that can serve an agent. Raises AccountUnusable, which says why none can."""
        model = agent.plan.model
        if model not in self._runtimes:
            named = self._find_named(model)
            self._runtimes[model] = self._find_able(model, named)
            able = {each.account for each in self._runtimes[model]}
            pooled = self._home.files.model(model).members if model in self._home.files.model_names() else ()
            others = [member.account for member in pooled if member.account not in able]
            self._unable[model] = {account: self._explain_unable(account, named) for account in others}
        return self._runtimes[model]

    def _find_named(self, model: str) -> tuple[Runtime, ...]:
        """Return the runtimes that a model names; without a model: all."""
        provider, is_qualified, _ = model.partition("/")
        files = self._home.files
        if model in files.model_names():
            pooled = {member.account for member in files.model(model).members}
            return tuple(each for each in self._catalogue.runtimes if each.account in pooled)
        if is_qualified:
            return self._catalogue.find_all(provider)
        if model:
            raise AccountUnusable(
                f"MODEL {model} names no provider and is none of your models "
                f"({', '.join(files.model_names()) or 'there are none'}): `--model NAME` says which is meant"
            )
        return self._catalogue.runtimes

    def _explain_unable(self, account: str, runtimes: tuple[Runtime, ...]) -> str:
        own = [each for each in runtimes if each.account == account]
        if any(each.is_enabled for each in own):
            return "its CLI takes no text for its system prompt from us"
        return "its runtime is switched off" if own else "it has no CLI that can be driven"

    def _find_able(self, model: str, runtimes: tuple[Runtime, ...]) -> tuple[Runtime, ...]:
        asks = CliOptions(system_prompt="x")
        able = [each for each in runtimes if each.is_enabled]
        refusals = [find_refusal(each, self._catalogue.clis.get(each.id), asks) for each in able]
        served = tuple(each for each, refusal in zip(able, refusals, strict=True) if not refusal)
        if not self._catalogue.runtimes:
            raise AccountUnusable("there are no accounts yet: `agents config init` takes the logins of this machine")
        if not served:
            why = f"no account of yours serves {model or 'an agent without MODEL'}"
            if refusals:
                why = "; ".join(each.partition(":")[0] for each in refusals)
            raise AccountUnusable(
                f"{why}: `agents runtime list` lists what can be driven; `--model` names another model"
            )
        return served
