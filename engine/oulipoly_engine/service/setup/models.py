"""Ask CLIs which models they offer. It runs them, so it is done only when somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from oulipoly_engine.core.accounts.clis.cli import Cli
from oulipoly_engine.core.setup.models import is_model_name, model_names, model_names_in_help
from oulipoly_engine.process.script import run_script
from oulipoly_engine.service.accounts.logins import spare_home

_TIMEOUT_S = 10.0  # of one question
_LONGEST = 1 << 20  # bytes
_HELP = ("--help",)
_MOST = 500  # names


def discover_models(program: str, environ: Mapping[str, str], cli: Cli | None = None) -> tuple[str, ...]:
    """Return the names of the models that a program tells of, sorted; none where it tells none.

    cli: what the program is, where that is known. A program that is not known is asked with `models list`, `models` and
    `--help` in turn. Of the known ones Claude Code and Gemini CLI would send these words to a model as a prompt (seen
    with 2.1.197 and 0.61), so each is asked with the words of its own bundle, or for its help. One that was never used
    makes no home for itself by that, which would pass for a login.
    """
    if cli is None:
        return _ask(program, environ, None)
    with spare_home(cli, environ) as variables:
        return _ask(program, {**environ, **variables}, cli)


def _ask(program: str, environ: Mapping[str, str], cli: Cli | None) -> tuple[str, ...]:
    for words, read in _questions(cli):
        done = run_script(
            'exec "$@"', environ, timeout_s=_TIMEOUT_S, arguments=(program, *words), output_limit=_LONGEST
        )
        names = read(done.stdout.decode("utf-8", "replace")) if done.succeeded else ()
        if names:
            return names[:_MOST]
    return ()


def _questions(cli: Cli | None) -> Iterator[tuple[tuple[str, ...], Callable[[str], tuple[str, ...]]]]:
    if cli is None:
        yield ("models", "list"), model_names
        yield ("models",), model_names
    elif cli.models is not None:
        read = cli.models.read
        yield cli.models.words, model_names if read is None else lambda text: _clean(read(text))
    yield _HELP, model_names_in_help


def _clean(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted({name for name in names if is_model_name(name)}))
