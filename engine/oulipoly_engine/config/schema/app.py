"""app.toml and themes/*.toml: what their tables hold. Pure."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from oulipoly_engine.config.app_settings import PRESETS, PROGRESS
from oulipoly_engine.config.schema.fields import NameOf, OneOf, Table, Text, make_whole_check
from oulipoly_engine.core.sessions.saved_view import GROUPINGS
from oulipoly_engine.core.sessions.sessions import Sort

_PRESETS = (
    "The app's own keys.",
    "Keys as vim has them; the app's own have most of them.",
    "Keys as emacs has them, where they differ.",
)
_FOOTERS = ("Each key with its label.", "The keys without labels.", "No line at all.")
_MOTIONS = ("What is under way moves.", "Nothing moves but what a key moves.")
_PROGRESS = (
    "Where the terminal is known to show it.",
    "Also where nobody knows whether the terminal shows it.",
    "Never.",
)


class AppTable(Table):
    """app.toml: how the full-screen app looks, and which keys it takes."""

    theme: Annotated[Text | None, NameOf("themes")] = Field(
        None, description="The name of a theme, of the app's own or of a file in `themes`."
    )
    preset: Annotated[str, OneOf(*PRESETS, notes=_PRESETS)] = Field("default", description="The keys to begin with.")
    footer: Annotated[str, OneOf("full", "compact", "off", notes=_FOOTERS)] = Field(
        "full", description="The line of keys below."
    )
    motion: Annotated[str, OneOf("full", "reduced", notes=_MOTIONS)] = Field(
        "full", description="Whether anything moves by itself."
    )
    read_only: bool = Field(False, description="Whether the app changes nothing.")
    escape_leaves: bool = Field(False, description="Whether Escape, pressed twice in haste, leads out of a terminal.")
    keys: Annotated[dict[str, str], make_whole_check('a table of texts, `"pools.drain" = "ctrl+d"`')] = Field(
        {}, description='The keys of an action, separated by commas, or "none".'
    )
    progress: Annotated[str, OneOf(*PROGRESS, notes=_PROGRESS)] = Field(
        "auto", description="Whether the outer terminal is told that work is under way."
    )
    status: Annotated[dict[str, str], make_whole_check('a table of texts, `tmux = "{worst}"`')] = Field(
        {}, description="Templates of status lines by name."
    )
    # Each view is looked at alone, so that a slip in one costs that one and not the file.
    views: Annotated[dict[str, dict[str, Any]], make_whole_check("tables with names, `[views.mine]`")] = Field(
        {}, description="Views of the list of sessions by name."
    )


class ViewTable(Table):
    """One `[views.NAME]` of app.toml."""

    filter: Text = Field("", description="What is typed to narrow the list.")
    group: Annotated[str, OneOf(*GROUPINGS)] = Field(GROUPINGS[0], description="What the headings are.")
    sort: Annotated[str, OneOf(*map(str, Sort))] = Field(str(Sort.USED), description="What the list is sorted by.")
    reversed: bool = Field(False, description="Whether the order is turned round.")


class ThemeTable(Table):
    """A file in `themes`: a theme of the user's own. Colours are names or `#rrggbb`."""

    dark: bool = Field(True, description="Whether light text stands on a dark ground.")
    primary: Text = Field(description="The colour of headings and of the focus.")
    secondary: Text | None = Field(None, description="The colour of a second kind of heading.")
    warning: Text | None = Field(None, description="The colour of warnings.")
    error: Text | None = Field(None, description="The colour of errors.")
    success: Text | None = Field(None, description="The colour of what went well.")
    accent: Text | None = Field(None, description="The colour of what stands out.")
    foreground: Text | None = Field(None, description="The colour of the text.")
    background: Text | None = Field(None, description="The colour of the ground.")
    surface: Text | None = Field(None, description="The colour of the ground of panes.")
    panel: Text | None = Field(None, description="The colour of the ground of boxes.")
