"""Ask a person what a model wants to know, and return what the model is told: never a key, never a password."""

from __future__ import annotations

from oulipoly_engine.core.accounts.clis.cli import Cli
from oulipoly_engine.core.accounts.clis.table import CLIS
from oulipoly_engine.core.setup import feedback
from oulipoly_engine.core.setup.dialogs import (
    Answer,
    AnyDialog,
    Cancelled,
    Form,
    KeyGiven,
    KeyRequest,
    LoginDone,
    LoginRequest,
    Wizard,
    WizardAnswer,
    check_dialog,
)
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.records import replace
from oulipoly_engine.service.setup.face import Ports, SetupCancelled

_VENDORS = {vendor: cli.name for cli in CLIS.values() for vendor in cli.vendors}


_OWN_COMMAND = "Careful: the model wrote this command, and it does whatever it says, with all your rights."


class Asking:
    """The questions of one set-up."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports

    def ask(self, dialog: AnyDialog) -> str:
        """Ask, do what the answer orders, and return what the model is told.

        Raises SetupCancelled, and RequestRefused for what nobody could answer.
        """
        check_dialog(dialog)
        match dialog:
            case Wizard():
                return self._ask_wizard(dialog)
            case LoginRequest():
                return self._ask_login(dialog)
            case KeyRequest():
                return self._ask_key(dialog)
            case _:
                answer = self.put(dialog)
                return self._ports.secrets.clean_output(
                    feedback.of_answer(answer, dialog if isinstance(dialog, Form) else None)
                )

    def put(self, dialog: AnyDialog) -> Answer:
        """Ask a person. Raises SetupCancelled."""
        answer = self._ports.face.ask(dialog)
        if isinstance(answer, Cancelled):
            raise SetupCancelled("the set-up was cancelled")
        return answer

    def _ask_wizard(self, wizard: Wizard) -> str:
        """Ask step by step; an answer to an earlier step is a step back."""
        told: dict[int, str] = {}
        number = wizard.current_step
        while number < len(wizard.steps):
            answer = self.put(replace(wizard, current_step=number))
            told[number] = self._ports.secrets.clean_output(
                feedback.of_answer(answer, replace(wizard, current_step=number))
            )
            number += 1
            if isinstance(answer, WizardAnswer) and 0 <= answer.step < number - 1:
                told[answer.step] = told.pop(number - 1)
                number = answer.step + 1
        return "\n".join(told[step] for step in sorted(told))

    def _ask_login(self, asked: LoginRequest) -> str:
        cli = find_cli(asked.provider, asked.login_command)
        self._check_cli(cli)
        if cli is not None:  # our own way: a home, a quota, a pool; the model's command is not run
            told = f"The model says: {asked.instructions}" if asked.instructions else ""
            command = f"agents account add {cli.name}"
            asked = replace(asked, provider=cli.title, login_command=command, cli=cli.name, instructions=told)
        else:
            asked = replace(asked, cli="", instructions="\n".join(filter(None, (asked.instructions, _OWN_COMMAND))))
        answer = self.put(asked)
        told = feedback.of_answer(answer)
        if isinstance(answer, LoginDone):
            told += f"\n{self._ports.after_login()}"
        return self._ports.secrets.clean(told)

    def _check_cli(self, cli: Cli | None) -> None:
        """Refuse an account of another CLI than the one that the set-up is about alone."""
        own = self._ports.cli
        if own is not None and cli is not None and cli.name != own.name:
            raise RequestRefused(f"this set-up is about {own.title} alone, so nobody is asked to log in to {cli.title}")

    def _ask_key(self, asked: KeyRequest) -> str:
        cli = find_cli(asked.provider, asked.env_var)
        if cli is None or cli.api_key is None:
            names = ", ".join(one.name for one in CLIS.values() if one.api_key is not None)
            message = f"this program keeps API keys for {names} alone: the user can log in to others by themselves"
            raise RequestRefused(message)
        self._check_cli(cli)
        providers = cli.api_key.providers
        if not (asked.env_var.endswith("_API_KEY") if providers else asked.env_var in cli.stand_ins):
            message = f"{asked.env_var} keeps no key of {cli.title}"  # else another secret would be sent to its vendor
            raise RequestRefused(message)
        vendor = asked.env_var.lower().removesuffix("_api_key") if providers else ""
        keyring = self._ports.find_keyring() if cli.api_key.keyring is not None else None
        whose = f"{cli.title} ({vendor})" if vendor else cli.title  # whatever the model calls it: there the key goes
        answer = self.put(replace(asked, provider=whose, keyring=keyring or ""))
        if not isinstance(answer, KeyGiven):
            return feedback.of_answer(answer)
        self._ports.secrets.add(answer.key)
        done = self._ports.add_by_key(cli.name, vendor, answer)
        return self._ports.secrets.clean(f"{feedback.of_answer(answer)}\n{done}")


def find_cli(provider: str, hint: str = "") -> Cli | None:
    """Return the CLI that a model means. hint: a command that begins with it, or a variable that keeps its key."""
    wanted = provider.strip().lower()
    for cli in CLIS.values():
        if wanted in (cli.name, cli.title.lower()) or hint in cli.stand_ins:
            return cli
    first = hint.split(maxsplit=1)[0] if hint.strip() else ""
    return CLIS.get(_VENDORS.get(wanted, first))
