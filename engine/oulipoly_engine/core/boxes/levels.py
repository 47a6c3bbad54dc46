"""Which levels a machine can give, and what to do where it cannot. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from oulipoly_engine.core.boxes.box import Level
from oulipoly_engine.core.boxes.landlock import LEAST_ABI
from oulipoly_engine.records import Record

INSTALL = "install bubblewrap, for example by `apt install bubblewrap` or `dnf install bubblewrap`"
APPARMOR = "kernel.apparmor_restrict_unprivileged_userns"
NAMESPACES = "kernel.unprivileged_userns_clone"
MOST_NAMESPACES = "user.max_user_namespaces"
SETTINGS = (APPARMOR, NAMESPACES, MOST_NAMESPACES)


class Availability(Record):
    """Whether a level can be had here."""

    level: Level
    reason: str = ""  # why not; empty: it can
    fix: str = ""  # what to do about it

    @property
    def is_available(self) -> bool:
        """Return whether it can be had."""
        return not self.reason

    @property
    def obstacle(self) -> str:
        """Return why not, and what to do, in a sentence; empty: it can be had."""
        return self.reason and f"{self.reason}: {self.fix}"


def judge_guarded(abi: int, *, has_filter: bool) -> Availability:
    """Tell whether Landlock and a filter of system calls hold enough. abi: 0 where there is no Landlock."""
    if abi == 0:
        return _refuse_guarded("this kernel has no Landlock, or it is switched off", "add `landlock` to `lsm=`")
    if abi < LEAST_ABI:
        return _refuse_guarded(f"Landlock of this kernel is too old (version {abi})", "use Linux 6.2 or newer")
    if not has_filter:
        return _refuse_guarded("there is no filter of system calls for this processor", "use the level sealed")
    return Availability(Level.GUARDED)


def _refuse_guarded(reason: str, fix: str) -> Availability:
    return Availability(Level.GUARDED, f"the level guarded needs Landlock: {reason}", fix)


def judge_sealed(program: str | None, failure: str, settings: Mapping[str, str]) -> Availability:
    """Tell whether bubblewrap makes a box. failure: what it wrote when it failed; empty: it has made one.

    settings: of the kernel, by their names as sysctl has them, where they exist.
    """
    if program is None:
        return Availability(Level.SEALED, "its sandbox needs bubblewrap, which is not installed", INSTALL)
    if not failure:
        return Availability(Level.SEALED)
    reason, fix = _explain(failure, settings)
    return Availability(Level.SEALED, f"bubblewrap makes no sandbox here: {reason}", fix)


def _explain(failure: str, settings: Mapping[str, str]) -> tuple[str, str]:
    if "disable-userns" in failure:
        return "it is older than 0.8", "install a newer one"
    if settings.get(NAMESPACES) == "0":
        return "user namespaces are switched off", f"`sysctl {NAMESPACES}=1`, as root"
    if settings.get(MOST_NAMESPACES) == "0":
        return "no user namespaces are allowed", f"`sysctl {MOST_NAMESPACES}=10000`, as root"
    if settings.get(APPARMOR) == "1":
        return "AppArmor keeps it from it", "allow `bwrap` `userns` by a profile in /etc/apparmor.d (apparmor-profiles)"
    last = failure.strip().rpartition("\n")[2][:200]
    return last, "allow this container or service user namespaces"
