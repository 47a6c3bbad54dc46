"""What was found on this machine, for the person and for a model, which needs no name and no mail address."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from oulipoly_engine.config.base import mask
from oulipoly_engine.config.edit.write_files import read_text
from oulipoly_engine.errors import ConfigInvalid
from oulipoly_engine.paths import Paths
from oulipoly_engine.service.accounts.detect import Report

_MOST_MODELS = 60  # names of a CLI


def summary_lines(report: Report, accounts: Mapping[Path, str], home: Path) -> tuple[str, ...]:
    """Return a line for each CLI and for each of its homes. accounts: whose each folder is, links followed."""
    return tuple(_lines(report, accounts, home))


def model_report(report: Report, accounts: Mapping[Path, str], home: Path, models: Mapping[str, Sequence[str]]) -> str:
    """Return it as JSON for a model: who is logged in is left out, that somebody is stands there.

    models: names of those that each CLI offers.
    """
    clis = [
        {
            "name": cli.name,
            "installed": cli.path is not None,
            "version": cli.version,
            "models": list(models.get(cli.name, ())[:_MOST_MODELS]),
            "homes": [
                {
                    "config_dir": short_path(one.folder, home),
                    "account": accounts.get(one.folder.resolve()),
                    "authenticated": one.is_logged_in,
                    "logins": [{"method": profile.method, "plan": profile.plan} for profile in one.profiles],
                }
                for one in cli.homes
            ],
        }
        for cli in report.clis
    ]
    wrappers = [{"path": short_path(one.path, home), "target_cli": one.cli} for one in report.wrappers]
    system = {"os_type": report.os_type, "arch": report.architecture}
    return json.dumps({"clis": clis, "os": system, "wrappers": wrappers}, ensure_ascii=False)


def configuration_text(paths: Paths, models: Path) -> str:
    """Return the files of accounts, pools and settings, secrets masked."""
    files = [paths.providers, paths.settings, paths.sessions, *sorted(models.glob("*.toml"))]
    parts = []
    for file in files:
        try:
            text = read_text(file)
        except ConfigInvalid:
            continue
        if text is not None:
            parts.append(f"--- {short_path(file, paths.home)}\n{mask.lines(text, [text])}")
    return "\n".join(parts)


def _lines(report: Report, accounts: Mapping[Path, str], home: Path) -> Iterator[str]:
    for cli in report.clis:
        yield f"{cli.name}: not installed" if cli.path is None else f"{cli.name}: {cli.version or 'installed'}"
        for one in cli.homes:
            who = ", ".join(profile.text for profile in one.profiles) or one.problem or "nobody is logged in"
            owner = accounts.get(one.folder.resolve())
            yield f"  {short_path(one.folder, home)}: {who}; {f'account {owner}' if owner else 'no account yet'}"


def short_path(path: Path, home: Path) -> str:
    """Return a path with `~` for the home."""
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) and path != home else str(path)
