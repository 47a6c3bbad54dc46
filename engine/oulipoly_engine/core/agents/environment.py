"""The environment and the words that an agent's processes start with. Pure.

Nothing of the host's own environment is in it. A credential is never among the words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from oulipoly_engine.core.images.agentfile import DEFAULT_EXEC
from oulipoly_engine.core.images.names import CONFIG_BEGIN, CREDENTIAL_ENDS, LOCKED_NAMES, OWN_NAMES, is_reserved
from oulipoly_engine.records import Record

RUNTIME_BINARY = "usr/local/bin/runtime"  # below an agent's root


class EnvironmentPlan(Record):
    """What the locked environment is made of."""

    root: str  # of the agent's tree, as the agent sees it
    bin_dirs: tuple[str, ...]
    url: str = ""  # of what the agent may call back
    token: str = ""


def locked_environment(plan: EnvironmentPlan) -> list[tuple[str, str]]:
    """Return the names and values that every process of an agent has, in the order of the contract."""
    pairs = [
        *box_environment(plan.root, plan.bin_dirs),
        ("OTTERS_AGENT_ROOT", plan.root),
        ("OTTERSD_URL", plan.url),
        ("OTTERS_AGENT_TOKEN", plan.token),
    ]
    return [pair for pair in pairs if pair[1]]


def box_environment(root: str, bin_dirs: Sequence[str]) -> list[tuple[str, str]]:
    """Return what every process has that stands in a box. root: of what is its own."""
    home = f"{root}/home"
    return [
        ("PATH", ":".join(bin_dirs)),
        ("HOME", home),
        ("XDG_CONFIG_HOME", f"{home}/.config"),
        ("XDG_CACHE_HOME", f"{home}/.cache"),
        ("XDG_DATA_HOME", f"{home}/.local/share"),
        ("TMPDIR", f"{root}/tmp"),  # noqa: S108 - of its own tree
        ("LANG", "C.UTF-8"),
    ]


def with_product_names(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return an environment with our own names of what agents may ask of it behind the contract's."""
    entries = list(pairs)
    known = dict(entries)
    names = zip(LOCKED_NAMES[-len(OWN_NAMES) :], OWN_NAMES, strict=True)
    return entries + [(own, known[name]) for name, own in names if name in known]


def credential_environment(model: str, key: str = "", base: str = "") -> list[tuple[str, str]]:
    """Return a provider's credentials. model: `provider/name`; without a provider there are none."""
    provider, is_qualified, _ = model.partition("/")
    if not (provider and is_qualified):
        return []
    prefix = provider.upper()
    return [(f"{prefix}{end}", value) for end, value in zip(CREDENTIAL_ENDS, (key, base), strict=True) if value]


def config_environment(configs: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return what CONFIG says as RUNTIME_ variables, sorted by its keys; an empty key is none."""
    return [(CONFIG_BEGIN + re.sub(r"[^A-Z0-9]", "_", key.upper()), configs[key]) for key in sorted(configs) if key]


def add_user_variables(
    base: Sequence[tuple[str, str]], variables: Iterable[tuple[str, str] | None]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return an environment with the user's variables, the later of one name holding, and the reserved names skipped.

    None and an empty name are passed over in silence.
    """
    environment = dict(base)
    skipped = []
    for pair in variables:
        if pair is None or not pair[0]:
            continue
        if is_reserved(pair[0]):
            skipped.append(pair[0])
        else:
            environment[pair[0]] = pair[1]
    return environment, tuple(skipped)


def runtime_words(
    root: str,
    model: str,
    exec_words: Sequence[str] = (),
    address: str = "",
    extra: Sequence[str] = (),
    *,
    program: str = "",
) -> tuple[str, ...]:
    """Return the words of an agent's own runtime. exec_words: what EXEC says. address: `host:port` to listen at.

    program: where it lies, if not in the agent's tree.
    """
    words = (program or f"{root}/{RUNTIME_BINARY}", *(exec_words or DEFAULT_EXEC), "--root", root, "--model", model)
    return (*words, *(("--addr", address) if address else ()), *extra)
