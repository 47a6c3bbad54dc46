"""From nothing to an account that can serve the set-up agent's turns (agent-runner section 13, "Flow")."""

from __future__ import annotations

from collections.abc import Callable

from oulipoly_engine.core.accounts.clis.cli import Cli
from oulipoly_engine.core.accounts.clis.table import CLIS
from oulipoly_engine.core.setup.dialogs import CliChoice, CliOption, CliSelection, DetectionSummary, LoginRequest
from oulipoly_engine.core.setup.events import Failure, Outcome, Status
from oulipoly_engine.core.setup.lifecycle import Life, Occurrence, Phase, advance
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.setup.ask_user import Asking
from oulipoly_engine.service.setup.face import Ports


class Found(Record):
    """What there is to begin with."""

    installed: tuple[Cli, ...]
    accounts: tuple[str, ...]
    lines: tuple[str, ...]  # that tell a person so

    @property
    def occurrence(self) -> Occurrence:
        """Return what that means for the set-up; an account of a CLI that nobody knows counts as well."""
        if self.accounts:
            return Occurrence.READY
        return Occurrence.NO_ACCOUNT if self.installed else Occurrence.NOTHING_INSTALLED


def bootstrap(life: Life, ports: Ports, look: Callable[[], Found], add_logins: Callable[[], str]) -> Life:
    """Return a life that is asking the model, or that has ended.

    add_logins: offers the logins that are there and no accounts yet. Raises SetupCancelled.
    """
    ports.face.tell(Status("looking for CLIs, logins and accounts"))
    found = look()
    ports.face.show(DetectionSummary(found.lines))
    asking = Asking(ports)
    life = advance(life, found.occurrence)
    if life.phase is Phase.INSTALLING:
        asking.put(_installation(ports.cli))
        found = look()
        life = advance(life, found.occurrence)
    if life.phase is Phase.ADDING:
        add_logins()
        if not look().accounts:
            _log_in(asking, found.installed)
            add_logins()
        life = advance(life, look().occurrence)
    if life.outcome is Outcome.FAILED_BOOTSTRAP:
        missing = (
            "no CLI is installed: install one"
            if ports.cli is None
            else f"{ports.cli.title} is not installed: install it"
        )
        without = "there is no account yet: `agents account add` adds one"
        reason = f"{without if found.installed else missing}, then begin again"
        ports.face.tell(Failure(reason, recoverable=False))
        life = replace(life, reason=reason)
    return life


def _installation(cli: Cli | None) -> LoginRequest:
    if cli is not None:
        text = f"{cli.title} is not installed. Install it in another terminal, then go on."
        return LoginRequest(cli.title, cli.install, text)
    first, *others = CLIS.values()
    ways = "\n".join(f"{cli.title}: {cli.install}" for cli in others)
    text = f"No CLI is installed that this program knows. Install one in another terminal, then go on.\nOthers:\n{ways}"
    return LoginRequest(first.title, first.install, text)


def _log_in(asking: Asking, installed: tuple[Cli, ...]) -> None:
    chosen: tuple[str, ...] = tuple(cli.name for cli in installed)
    if len(installed) > 1:
        options = tuple(CliOption(cli.name, installed=True, description=cli.title) for cli in installed)
        answer = asking.put(CliSelection(options, "Which CLI gets the first account?"))
        chosen = answer.selected if isinstance(answer, CliChoice) else ()
    for name in chosen:
        text = f"agents account add {name}"
        asking.put(LoginRequest(CLIS[name].title, text, "The set-up needs one account to begin with.", name))
