"""What is installed on this machine, who is logged in, and which of it is an account already."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from oulipoly_engine.core.accounts.clis.table import CLIS
from oulipoly_engine.errors import SchemaIncompatible, StoreUnusable
from oulipoly_engine.facade.accounts.base import AccountPart
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.records import Record
from oulipoly_engine.service.accounts import setup
from oulipoly_engine.service.accounts.detect import FoundCli, Report, configured_homes, detect

# ruff: noqa: PLC0415 - most ask for no models, and the versions need the state file


class Detected(Record):
    """What was found on this machine, and what is known of it already."""

    report: Report
    accounts: Mapping[Path, str]  # by folder, links followed
    changes: Mapping[str, str]  # by CLI: the version before, where it is another one now
    models: Mapping[str, tuple[str, ...]] | None = None  # by CLI; None: nobody asked for them

    def document(self) -> dict[str, object]:
        """Return it as JSON values (contract, section 13); `homes`, `account` and `problem` are additions."""
        report = self.report
        wrappers = [{"name": one.name, "path": str(one.path), "target_cli": one.cli} for one in report.wrappers]
        return {
            "clis": [self._cli(cli) for cli in report.clis],
            "os": {"os_type": report.os_type, "arch": report.architecture},
            "wrappers": wrappers,
        }

    @property
    def summary(self) -> tuple[str, ...]:
        """Return a line a CLI: whether it is installed, and whether anybody is logged in."""
        return tuple(f"  {cli.name:<10}{CLIS[cli.name].title}: {_describe(cli)}" for cli in self.report.clis)

    def _cli(self, cli: FoundCli) -> dict[str, object]:
        homes = [
            {
                "config_dir": str(home.folder),
                "account": self.accounts.get(home.folder.resolve()),
                "authenticated": home.is_logged_in,
                "profiles": [
                    {"id": one.id, "method": one.method, "plan": one.plan, "details": {**one.details}}
                    for one in home.profiles
                ],
                "problem": home.problem,
            }
            for home in cli.homes
        ]
        models = {} if self.models is None else {"models": list(self.models.get(cli.name, ()))}
        first = homes[0] if homes else {"config_dir": None, "authenticated": False, "profiles": []}
        return {
            "name": cli.name,
            "installed": cli.path is not None,
            "path": cli.path,
            "version": cli.version,
            "authenticated": first["authenticated"],
            "config_dir": first["config_dir"],
            "profiles": first["profiles"],
            "version_changed": cli.name in self.changes,
            "previous_version": self.changes.get(cli.name),
            "problem": cli.problem,
            "homes": homes,
            **models,
        }


def _describe(cli: FoundCli) -> str:
    if cli.path is None:
        return f"not installed: npm i -g {CLIS[cli.name].package}"
    login = "logged in" if any(home.is_logged_in for home in cli.homes) else "nobody is logged in"
    return f"installed{f' {cli.version}' if cli.version else ''}, {login}"


class Detection(AccountPart):
    """The CLIs of this machine."""

    def detect(self, *, finds_models: bool = False) -> Detected:
        """Return what is installed here and who is logged in; CLIs are asked side by side.

        finds_models: they are asked for the models that they offer as well, which takes some seconds more.
        """
        paths = self._home.paths
        accounts, scripts = self.names(), self._home.quiet_files.scripts()
        environ = inherited_environment()
        used = setup.used_folders(accounts, scripts, paths.home, environ)
        report = detect(paths.home, environ, self._home.now(), configured_homes(accounts, paths.home, environ))
        changes = self._note_versions({one.name: one.version for one in report.clis if one.version})
        return Detected(report, used, changes, self._find_models(report) if finds_models else None)

    def _find_models(self, report: Report) -> Mapping[str, tuple[str, ...]]:
        from oulipoly_engine.service.setup.models import discover_models

        environ = inherited_environment()
        return {
            one.name: discover_models(one.path, environ, CLIS[one.name]) for one in report.clis if one.path is not None
        }

    def _note_versions(self, versions: Mapping[str, str]) -> Mapping[str, str]:
        """Note which versions were seen, where that can be kept, and return those before that were others."""
        from oulipoly_engine.store.runs.cli_versions import record

        with suppress(StoreUnusable, SchemaIncompatible), self._home.lend_store_to_read() as store:
            return self._home.write_along(store, lambda: record(store, versions, self._home.now()), {})
        return {}  # what is installed can be told without a state file; the doctor tells of a broken one
