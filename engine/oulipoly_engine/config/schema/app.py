"""app.toml and themes/*.toml: what their tables hold. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from oulipoly_engine.config.base.app_settings import PANES, PLACEHOLDERS, RUNS, list_placeholders
from oulipoly_engine.config.base.problem import Fault
from oulipoly_engine.config.schema.fields import (
    OPTION,
    AlsoNamed,
    Filled,
    InProject,
    NameOf,
    OneOf,
    Table,
    Text,
    make_whole_check,
)
from oulipoly_engine.core.sessions.saved_view import GROUPINGS
from oulipoly_engine.core.sessions.sessions import Sort
from oulipoly_engine.core.text.inline_programs import find_inline_programs
from oulipoly_engine.core.text.nearest import nearest

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

    theme: Annotated[Text | None, NameOf("themes"), InProject(is_harmless=True), AlsoNamed("OXI_THEME")] = Field(
        None, description="The name of a theme, of the app's own or of a file in `themes`."
    )
    preset: Annotated[str, OneOf("default", "vim", "emacs", notes=_PRESETS)] = Field(
        "default", description="The keys to begin with."
    )
    footer: Annotated[str, OneOf("full", "compact", "off", notes=_FOOTERS), InProject(is_harmless=True)] = Field(
        "full", description="The line of keys below."
    )
    motion: Annotated[str, OneOf("full", "reduced", notes=_MOTIONS), InProject(is_harmless=True)] = Field(
        "full", description="Whether anything moves by itself.", json_schema_extra={OPTION: "--no-anim"}
    )
    read_only: bool = Field(
        False, description="Whether the app changes nothing.", json_schema_extra={OPTION: "--read-only"}
    )
    escape_leaves: bool = Field(False, description="Whether Escape, pressed twice in haste, leads out of a terminal.")
    keys: Annotated[dict[str, str], make_whole_check('a table of texts, `"pools.drain" = "ctrl+d"`')] = Field(
        {}, description='The keys of an action, separated by commas, or "none".'
    )
    progress: Annotated[str, OneOf("auto", "always", "off", notes=_PROGRESS)] = Field(
        "auto", description="Whether the outer terminal is told that work is under way."
    )
    status: Annotated[dict[str, str], make_whole_check('a table of texts, `tmux = "{worst}"`')] = Field(
        {}, description="Templates of status lines by name."
    )
    # Each view is looked at alone, so that a slip in one costs that one and not the file.
    views: Annotated[dict[str, dict[str, Any]], make_whole_check("tables with names, `[views.mine]`")] = Field(
        {}, description="Views of the list of sessions by name."
    )
    # So is each command.
    commands: Annotated[list[dict[str, Any]], make_whole_check("tables in double brackets, `[[commands]]`")] = Field(
        [], description="Commands of your own on the row under the cursor."
    )


_RUNS = (
    "In a terminal of its own, in a tab.",
    "Unseen; what it prints is shown when it has ended.",
    "On the whole screen, from which the app steps back until it has ended.",
)
_LONGEST_NAME = 40


class CommandTable(Table):
    """One `[[commands]]` of app.toml: a command of your own on the row under the cursor."""

    name: Filled = Field(description="What it is called in menu, palette, help and behind `:`.")
    command: Annotated[list[Text] | Text, make_whole_check("a text, or a list of texts in brackets")] = Field(
        description="The program and its arguments, as a list or as a line that no shell reads; {session}, {cwd} and "
        "the like stand for what the row has, each as one word."
    )
    key: Text = Field("", description="Its keys, as in `[keys]`; without any it is found in menu, palette and help.")
    panes: list[Annotated[str, OneOf(*PANES)]] = Field(
        [], description="The panes whose row it is for; without any, all of them."
    )
    run: Annotated[str, OneOf(*RUNS, notes=_RUNS)] = Field("terminal", description="Where it runs.")
    confirm: bool = Field(False, description="Whether you are asked first.")

    @property
    def words(self) -> tuple[str, ...]:
        """Return the program and its arguments. Raises ValueError for a line with an open quote."""
        return tuple(shlex.split(self.command) if isinstance(self.command, str) else self.command)

    def refusals(self) -> Iterator[Fault]:
        """Find a name that cannot be typed, and what cannot be filled in without a risk."""
        if not self.name.isprintable() or self.name != self.name.strip() or len(self.name) > _LONGEST_NAME:
            message = f"{self.name[:_LONGEST_NAME]!r} is not a name: 1 to {_LONGEST_NAME} characters on one line"
            yield Fault(("name",), message, "change it")
        try:
            words = self.words
            placeholders = [list_placeholders(word) for word in words]
        except ValueError as error:
            yield Fault(("command",), str(error), "close each quote, double a brace that stands for itself")
            return
        if not words or not words[0].strip():
            yield Fault(("command",), "it names no program", "write a program and its arguments")
            return
        for name in (name for names in placeholders for name in names if name not in PLACEHOLDERS):
            near = nearest(name, PLACEHOLDERS)
            fix = f"write {{{near[0]}}}" if near else f"known are {', '.join(PLACEHOLDERS)}"
            yield Fault(("command",), f"there is no placeholder {{{name}}}", fix)
        if placeholders[0]:
            yield Fault(("command",), "the program itself depends on the row", "name a program first")
        for place, reader in find_inline_programs(words).items():
            if place < len(words) and placeholders[place]:
                name, word = placeholders[place][0], words[place]
                message = f"{{{name}}} stands in what `{reader}` runs as a program: a title could become a command"
                fix = f"""write `["sh", "-c", 'echo "$1"', "sh", "{{{name}}}"]`"""
                yield Fault(("command",), f"{message} ({word[:_LONGEST_NAME]!r})", fix)


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
