"""`[cli_agent_runtime]`, one setting for codex and claude together, as a `[runtimes.x]` for each."""

from __future__ import annotations

from oulipoly_engine.config.base.problem import summary
from oulipoly_engine.config.edit.write_files import FileChange, edit_lines
from oulipoly_engine.config.toml.toml_file import TomlFile
from oulipoly_engine.core.live.runtimes import normalise_id
from oulipoly_engine.core.live.wires.table import FORMER_NAMES
from oulipoly_engine.errors import ConfigInvalid

KEY = "cli_agent_runtime"


def plan_runtimes(file: TomlFile) -> tuple[FileChange | None, tuple[str, ...]]:
    """Return the change of config.toml, and what it does in a sentence; None: there is nothing to bring forward.

    A runtime that is there already stays as it is. Raises ConfigInvalid where the older table is wrong.
    """
    values = file.data.get(KEY)
    if values is None:
        return None, ()
    from oulipoly_engine.config.schema.faults import check  # noqa: PLC0415 - 100 ms, few files have this table
    from oulipoly_engine.config.schema.runtimes import OldRuntimeTable  # noqa: PLC0415 - as above
    from oulipoly_engine.config.toml import toml_edit  # noqa: PLC0415 - tomlkit, 60 ms, as above

    table, faults = check(OldRuntimeTable, values, (KEY,))
    if table is None:
        raise ConfigInvalid(summary(file.problems(faults)))
    there = file.data.get("runtimes", {})
    known = {normalise_id(name) for name in there} if isinstance(there, dict) else set()
    added = [kind for kind in FORMER_NAMES if kind not in known]
    try:
        text = toml_edit.remove_table(file.text, (KEY,))
        for kind in added:
            own = {"kind": kind, "name": FORMER_NAMES[kind], "enabled": table.enabled}
            text = toml_edit.put_table(text, ("runtimes", kind), own)
    except (KeyError, ValueError) as error:
        raise ConfigInvalid(f"{file.path} cannot be migrated: {error}; write [{KEY}] as a plain table first") from error
    names = " and ".join(f"[runtimes.{kind}]" for kind in added)
    note = f"[{KEY}] becomes {names}" if added else f"[{KEY}] goes: its runtimes are there already"
    return edit_lines(file.path, file.text, text), (note,)
