"""How an installed CLI differs from those that its driver was seen to work with. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from oulipoly_engine.core.accounts.clis.cli import Cli
from oulipoly_engine.core.live import failures
from oulipoly_engine.core.live.runtime_status import Diagnostic, Probe
from oulipoly_engine.records import replace

_NUMBERS = re.compile(r"\d+(?:\.\d+)+")
_OWN_BUILD = re.compile(r"^0\.0\.0$|\d-(?!alpha|beta|rc|pre|nightly)[a-z]")  # its numbers say nothing of its age
_METHOD = re.compile(r'"([a-zA-Z]{1,40}(?:/[a-zA-Z]{1,40}){1,4}|initialize)"')
_SHOWN = 10
# What a session with codex cannot do without, and what each of its orders calls (`generate-json-schema` of 0.169).
CODEX_METHODS = (
    "initialize", "account/read", "model/list", "thread/start", "thread/resume", "thread/fork", "thread/name/set",
    "thread/compact/start", "turn/start", "turn/steer", "turn/interrupt", "review/start",
    "item/commandExecution/requestApproval", "item/fileChange/requestApproval", "item/tool/requestUserInput",
    "thread/started", "turn/started", "turn/completed", "item/started", "item/completed", "item/agentMessage/delta",
    "thread/tokenUsage/updated", "account/rateLimits/updated", "serverRequest/resolved",
)  # fmt: skip


def read_numbers(version: str) -> tuple[int, ...]:
    """Return a version's numbers to compare; empty where it names none."""
    found = _NUMBERS.search(version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def check_version(probe: Probe, cli: Cli | None) -> Probe:
    """Return a probe with what its version means: too old, or other than those that were tested."""
    numbers = read_numbers(probe.version)
    if cli is None or cli.live is None or not numbers:
        return probe
    if not probe.reason and numbers < cli.oldest and not _OWN_BUILD.search(probe.version):
        oldest = ".".join(map(str, cli.oldest))
        message = f"{cli.title} {probe.version} is older than {oldest}, the oldest that is known to work: update it"
        return replace(probe, reason=failures.UNSUPPORTED_VERSION, message=message, minimum_version=oldest)
    tested = cli.live.tested
    if not tested or any(read_numbers(one) == numbers for one in tested):
        return probe
    newest = max(tested, key=read_numbers)
    message = f"{cli.title} {probe.version} was not tested with live sessions; {newest} was"
    return replace(probe, diagnostics=(*probe.diagnostics, Diagnostic("info", "cli_runtime.version_untested", message)))


def read_methods(texts: Iterable[str]) -> frozenset[str]:
    """Return the methods that files of a generated schema name."""
    return frozenset(name for text in texts for name in _METHOD.findall(text))


def describe_lost_methods(found: frozenset[str], known: Sequence[str] = CODEX_METHODS) -> Diagnostic | None:
    """Say which methods the installed version does not have; None: it has all of them, or no schema was written."""
    lost = [name for name in known if name not in found]
    if not lost or not found:
        return None
    shown = ", ".join(lost[:_SHOWN]) + (f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else "")
    return Diagnostic("warning", "cli_runtime.methods_missing", f"this version has no {shown}: what needs it will fail")
