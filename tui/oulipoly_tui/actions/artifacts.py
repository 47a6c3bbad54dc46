"""Actions on artifacts: those of a session or a run, and one by its address."""

from __future__ import annotations

from oulipoly_tui.actions.action import Action, Argument, Command

_RUN = "oulipoly_tui.commands.artifacts"
_ADDRESS = Argument("address")
_SYNONYMS = ("returned files", "outputs", "attachments", "results")

ACTIONS = (
    Action(
        "sessions.artifacts",
        "artifacts",
        "Show what its runs have returned, received, sent and kept; in the trace what this run has",
        "sessions",
        _SYNONYMS,
        keys="c",
        method="artifacts",
        weight=3,
        command=Command(
            "session artifacts",
            f"{_RUN}:list_of_session",
            (Argument("session"),),
            "show what its runs have returned, received, sent and kept",
        ),
    ),
    Action(
        "transcript.artifacts",
        "artifacts",
        "Show what the session's runs have returned, received, sent and kept",
        "transcript",
        _SYNONYMS,
        keys="c",
        method="artifacts",
        weight=2,
    ),
    Action(
        "artifacts.of_run",
        "artifacts of a run",
        "show what a run has returned, received, sent and kept, by its UUID",
        synonyms=_SYNONYMS,
        command=Command("run artifacts", f"{_RUN}:list_of_run", (Argument("run"),)),
    ),
    Action(
        "artifacts.open",
        "open artifact",
        "read an artifact by its address; its secrets are hidden",
        synonyms=("show artifact", "preview artifact"),
        command=Command("artifact open", f"{_RUN}:open_address", (_ADDRESS,)),
    ),
    Action(
        "artifacts.save",
        "save artifact as",
        "save an artifact by its address, as it was stored",
        synonyms=("download artifact", "export artifact"),
        command=Command("artifact save", f"{_RUN}:save_address", (_ADDRESS, Argument("file", is_rest=True))),
        writes=True,
    ),
    Action(
        "artifacts.remove",
        "remove artifact",
        "remove one version of an artifact by its address, after a question",
        synonyms=("delete artifact", "tombstone"),
        command=Command("artifact remove", f"{_RUN}:remove_address", (_ADDRESS,)),
        writes=True,
        destroys=True,
    ),
)
