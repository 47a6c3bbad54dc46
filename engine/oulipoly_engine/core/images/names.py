"""What names in an Agentfile may be, and which variables an agent cannot set. Pure.

Each check returns what is wrong as the second half of a sentence, or nothing. A build refuses the same variables as the
start of an agent leaves out: both ask `is_reserved`.
"""

from __future__ import annotations

import posixpath
from typing import Final

from oulipoly_engine.late_pattern import LatePattern

# In the order in which an agent's environment has them; the last three pairs are ours and openotters'.
LOCKED_NAMES: Final = (
    "PATH",
    "HOME",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "TMPDIR",
    "LANG",
    "OTTERS_AGENT_ROOT",
    "OTTERSD_URL",
    "OTTERS_AGENT_TOKEN",
)
OWN_NAMES: Final = ("RUNNER_AGENT_ROOT", "RUNNER_URL", "RUNNER_AGENT_TOKEN")
CREDENTIAL_ENDS: Final = ("_API_KEY", "_API_BASE")
CONFIG_BEGIN: Final = "RUNTIME_"  # of the variables that CONFIG values become
RESERVED_CONTEXTS: Final = ("AGENT", "WORKSPACE", "MOUNTS")
LONGEST_NAME = 63  # characters
_PATH_SAFE = LatePattern(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_DNS = LatePattern(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
_VARIABLE = LatePattern(r"[A-Z_][A-Z0-9_]*")


def is_reserved(variable: str) -> bool:
    """Tell whether an agent cannot set a variable: it is part of the locked environment, or carries credentials."""
    return (
        variable in LOCKED_NAMES
        or variable in OWN_NAMES
        or variable.endswith(CREDENTIAL_ENDS)
        or variable.startswith(CONFIG_BEGIN)
    )


def check_path_safe(name: str) -> str:
    """Check a name that becomes a file's."""
    if len(name) <= LONGEST_NAME and _PATH_SAFE.fullmatch(name):
        return ""
    return f"must begin with a letter or a digit, then letters, digits, `.`, `_`, `-`, at most {LONGEST_NAME}"


def check_label(name: str) -> str:
    """Check the key of a CONFIG, or a capability."""
    if len(name) <= LONGEST_NAME and _DNS.fullmatch(name):
        return ""
    return f"must be a DNS-1123 label: small letters, digits and `-` inside, at most {LONGEST_NAME}"


def check_variable(name: str) -> str:
    """Check the name of an ENV."""
    if not _VARIABLE.fullmatch(name):
        return "must be capital letters, digits and `_`, and not begin with a digit"
    return "is reserved: the agent's environment or its credentials have it" if is_reserved(name) else ""


def check_context(name: str) -> str:
    """Check the name of a CONTEXT."""
    if name in RESERVED_CONTEXTS:
        return f"is reserved, like {', '.join(RESERVED_CONTEXTS)}: they are written where the agent starts"
    return check_path_safe(name)


def check_source(path: str) -> str:
    """Check the path of a file beside the Agentfile."""
    parts = path.split("/")
    if path.startswith(("/", "~")) or ".." in parts or "\0" in path or posixpath.normpath(path) == ".":
        return "must be a path to a file below the folder of the Agentfile"
    return ""


def as_label(capability: str) -> str:
    """Return a capability as it is kept: daemons' catalogues write `note_save` for `note-save`."""
    return capability.replace("_", "-")
