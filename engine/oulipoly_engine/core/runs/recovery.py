"""What to do about each class of failure. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from oulipoly_engine.core.runs.invocations import RETURNED_ARTIFACTS, Category

# Reasons beside the categories, as rows have them.
SPAWN_FAILED, OUTPUT_FAILED, GUARD_DROP = "spawn_error", "stdout_failed", "guard_drop"
_FIXES: Mapping[str, str] = {
    # The CLI's own login, called by hand, would mend its usual home alone.
    Category.AUTH_EXPIRED: "log in again: `agents account login {account}`",
    Category.CLI_VERSION_MISMATCH: "the CLI does not know a flag: update it, or correct `args` in providers.toml or "
    "the model's file",
    Category.NETWORK_ERROR: "nothing is wrong with the account: try again once the network or the vendor is back",
    Category.RATE_LIMIT: "it passes by itself: others serve meanwhile; `why` (w) tells until when",
    Category.QUOTA_EXHAUSTED: "others serve meanwhile; a reading that goes well clears its mark: press u on it in "
    "Pools, or c to take the mark away unread",
    Category.RESUME_SESSION_MISMATCH: "the CLI went on with another session: `agents session list` shows which there "
    "are, a longer id tells them apart",
    Category.HUNG_SUBPROCESS: "raise `timeout_seconds` of the account, or `--timeout`, if it only needed longer",
    RETURNED_ARTIFACTS: "nothing is wrong with the account: have the agent return what it makes by `agent-messenger "
    "return`, which writes the receipt, and run it again",
    SPAWN_FAILED: "install the program, or correct where it is named: `command` of [{account}] in providers.toml, or "
    "`program` of [runtimes.{account}] in config.toml",
    OUTPUT_FAILED: "who read the output went away, or the disk is full: run it again",
    GUARD_DROP: "its runner was killed: go on with the session by `agents repl --resume`",
}
_OTHER = "`agents trace {run}` shows what it printed; so does enter on it in the trace of Sessions"


def find_fix(*reasons: str | None, account: str | None = None) -> str | None:
    """Return what to do about a failure of a known kind.

    reasons: category or reason, the first known one decides. account: its name, or that of a runtime without
    one; None: unknown.
    """
    fix = next((_FIXES[reason] for reason in reasons if reason is not None and reason in _FIXES), None)
    return fix and fix.replace("{account}", account or "ACCOUNT")


def fix_of(*reasons: str | None, account: str | None = None, run: str = "RUN") -> str:
    """Return what to do about any failure, arguments as in `find_fix`. run: the id by which it can be looked at."""
    return find_fix(*reasons, account=account) or _OTHER.format(run=run)
