"""The API key that stands in for a login: where it is taken from, whose it is, and where it is kept."""

from __future__ import annotations

from argparse import Namespace

from oulipoly_engine.cli.base import stdio
from oulipoly_engine.cli.base.parser import Parser, path
from oulipoly_engine.cli.base.questions import Questions
from oulipoly_engine.errors import RequestRefused, UsageInvalid
from oulipoly_engine.facade.accounts.additions import AccountAdditions, Candidate, check_provider
from oulipoly_engine.facade.base.own_process import inherited_environment

_ENDING = "_API_KEY"  # of the variables in which people keep keys: OPENAI_API_KEY


def add_options(parser: Parser) -> None:
    """Take the options of a key."""
    parser.add_argument("--api-key-env", metavar="VARIABLE", help="use the API key in this variable, not a login")
    parser.add_argument("--api-key-file", type=path, metavar="FILE", help="use the API key in this file, not a login")
    parser.add_argument("--provider", metavar="NAME", help="whose key it is, for a CLI with several: anthropic, openai")


def read_key(options: Namespace) -> str | None:
    """Return the key that options name; None: they name none. Raises UsageInvalid."""
    if options.api_key_env and options.api_key_file:
        raise UsageInvalid("--api-key-env and --api-key-file name two keys: give one of them")
    if options.api_key_env:
        found = inherited_environment().get(options.api_key_env)
        if not found:
            message = f"the variable {options.api_key_env!r} is not set: export the key in it, or give --api-key-file"
            raise UsageInvalid(message)
        return found
    if options.api_key_file is not None:
        with stdio.open_file(options.api_key_file) as file:
            return stdio.read_text(file)
    if options.provider is not None:
        raise UsageInvalid("--provider says whose API key it is: give --api-key-env or --api-key-file too")
    return None


def ask_provider(candidate: Candidate, options: Namespace, questions: Questions) -> str:
    """Return whose key it is; empty where a CLI has keys of one provider. Raises UsageInvalid where nobody says it."""
    cli = candidate.cli
    known = () if cli.api_key is None else cli.api_key.providers
    if options.provider is not None or not known:
        check_provider(cli, options.provider or "")
        return options.provider or ""
    named = (options.api_key_env or "").lower().removesuffix(_ENDING.lower())
    help_text = f"{cli.title} keeps a key for each provider: {', '.join(known)} or another one, as it calls them."
    default = named if named in known else ""
    return questions.ask("Provider of the key", default, lambda name: check_provider(cli, name), help_text)


def keyring_question(keyring: str) -> str:
    """Return the question whether a key goes into a keyring. keyring: what it is called."""
    return f"Keep the key in the keyring ({keyring})? Otherwise it is in a file that you alone can read."


def choose_keyring(additions: AccountAdditions, candidate: Candidate, questions: Questions, *, is_wanted: bool) -> bool:
    """Return whether the key goes into the keyring; else it goes into a file. Raises RequestRefused for none there."""
    can_ask = questions.can_ask and not questions.is_agreed
    if candidate.cli.api_key is None or not (is_wanted or can_ask):
        return False
    keyring = additions.find_keyring()
    if keyring is None and is_wanted:
        raise RequestRefused(
            "there is no keyring that keeps secrets: a desktop session has one (Secret Service, KWallet, macOS "
            "Keychain), and `pip install 'oulipoly-agent-runner[keyring]'` lets this program use it; without --keyring "
            "the key is in a file that you alone can read"
        )
    if keyring is None or is_wanted:
        return is_wanted
    return questions.confirm(keyring_question(keyring))
