"""The configuration as the parts of the facade ask for it: checked for a command, kept for what stays open.

A command reads each file that it needs anew, shows its warnings and ends at the first error. What stays open shows
broken files among its problems, and an earlier reading stands in for them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from oulipoly_engine.config import load
from oulipoly_engine.core.accounts.accounts import Account, Model, SessionScripts, Settings
from oulipoly_engine.errors import AccountUnknown, ModelUnknown
from oulipoly_engine.facade.base.wiring import ignore
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import Record, replace

if TYPE_CHECKING:
    from oulipoly_engine.config.base.problem import Loaded
    from oulipoly_engine.core.accounts.accounts import Agent
    from oulipoly_engine.core.ledger.prices import Rate
    from oulipoly_engine.facade.base.wiring import Note
    from oulipoly_engine.service.accounts.configuration import Configured

T = TypeVar("T")

_SHOWN_WARNINGS = 5


class CheckedFiles(Record):
    """The files, read anew at each call. Each method raises ConfigInvalid where a file has an error."""

    paths: Paths
    note: Note  # gets the warnings
    models_dir: Path | None = None
    agents_dir: Path | None = None

    def accounts(self) -> Mapping[str, Account]:
        """Return the accounts by name."""
        return self._report_problems(load.load_accounts(self.paths))

    def scripts(self) -> Mapping[str, SessionScripts]:
        """Return the accounts' scripts by account."""
        return self._report_problems(load.load_sessions(self.paths))

    def settings(self) -> Settings:
        """Return the settings; a broken config.toml gives the defaults and a warning."""
        return self._report_problems(load.load_settings(self.paths))

    def models(self) -> Mapping[str, Model]:
        """Return every model by name."""
        return self._report_problems(load.load_models(self.paths, self.models_dir))

    def model(self, name: str, accounts: Mapping[str, Account] | None = None, agent: str | None = None) -> Model:
        """Return one model. accounts: read already. agent: who names it. Raises ModelUnknown."""
        return self._report_problems(load.load_model(self.paths, name, self.models_dir, accounts=accounts, agent=agent))

    def model_names(self) -> tuple[str, ...]:
        """Return the names of the models, sorted; none of their files is read."""
        return load.list_models(self.paths, self.models_dir)

    def agent(self, name: str) -> Agent:
        """Return one agent. Raises AgentUnknown and AgentFileInvalid."""
        return self._report_problems(load.load_agent(self.paths, name, self.agents_dir))

    def agent_file(self, path: Path) -> Agent:
        """Return the agent in a file anywhere. Raises AgentFileInvalid."""
        return self._report_problems(load.load_agent_file(path, self.paths))

    def prices(self) -> Mapping[str, Rate]:
        """Return the user's own prices by model."""
        from oulipoly_engine.config.prices_file import read_prices  # noqa: PLC0415 - only who reckons needs them

        return self._report_problems(read_prices(self.paths))

    def quiet(self) -> CheckedFiles:
        """Return the same files without a word about warnings."""
        return replace(self, note=ignore)

    def _report_problems(self, loaded: Loaded[T]) -> T:
        for problem in loaded.problems[:_SHOWN_WARNINGS]:
            self.note(f"Warning: {problem.text}")
        if len(loaded.problems) > _SHOWN_WARNINGS:
            self.note(f"Warning: {len(loaded.problems) - _SHOWN_WARNINGS} more: run `agents config check`")
        return loaded.value


class KeptFiles(Record):
    """The same questions to the files as they were last read; what is wrong with them is told elsewhere."""

    read_configuration: Callable[[], Configured]

    def accounts(self) -> Mapping[str, Account]:
        """Return the accounts by name."""
        return self.read_configuration().accounts

    def scripts(self) -> Mapping[str, SessionScripts]:
        """Return the accounts' scripts by account."""
        return self.read_configuration().scripts

    def settings(self) -> Settings:
        """Return the settings."""
        return self.read_configuration().settings

    def models(self) -> Mapping[str, Model]:
        """Return every model by name."""
        return self.read_configuration().models

    def model(self, name: str) -> Model:
        """Return one model. Raises ModelUnknown."""
        models = self.models()
        if name not in models:
            from oulipoly_engine.core.text.nearest import nearest  # noqa: PLC0415 - only an error needs it

            near = nearest(name, models)
            way_out = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(models) or 'none'}"
            raise ModelUnknown(f"there is no usable model {name!r}: {way_out}")
        return models[name]

    def model_names(self) -> tuple[str, ...]:
        """Return the names of the models that can be used, sorted."""
        return tuple(sorted(self.models()))


Files = CheckedFiles | KeptFiles


def check_account(known: Collection[str], name: str) -> None:
    """Refuse an account that is not configured, naming the nearest one. Raises AccountUnknown."""
    if name not in known:
        from oulipoly_engine.core.text.nearest import nearest  # noqa: PLC0415 - as above

        near = nearest(name, known)
        way_out = f"did you mean {near[0]!r}?" if near else f"providers.toml has {', '.join(known) or 'none'}"
        raise AccountUnknown(f"there is no account {name!r}: {way_out}")
