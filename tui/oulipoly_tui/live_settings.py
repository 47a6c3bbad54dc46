"""Let the app look and listen as its files say now, while it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import constants

from oulipoly_engine.records import replace
from oulipoly_tui.keys import keymap
from oulipoly_tui.widgets import theming

if TYPE_CHECKING:
    from oulipoly_tui.base.app_interface import AppInterface, Options


class LiveSettings:
    """Reads the files again when they have changed, one reading at a time: a late one must not undo a newer one."""

    def __init__(self, app: AppInterface, read: Callable[[], Options] | None) -> None:
        self._app = app
        self._read = read  # None: this app was given its options, and no files
        self._is_reading = self._is_dirty = False
        self._after: list[Callable[[], object]] = []
        self.readings = 0  # how often the files were read because they may have changed

    def read(self, then: Callable[[], object] | None = None) -> None:
        """Read, and change what has changed. then: called once that is done."""
        if self._read is None:
            if then is not None:
                then()
            return
        if then is not None:
            self._after.append(then)
        self._is_dirty = self._is_reading
        if not self._is_reading:
            self._is_reading = True
            self._app.work("look", self._read, self._apply_options, self._finish_reading)

    def warn(self) -> None:
        """Say what is wrong in the files: whoever has written a setting believes that it holds."""
        warnings = self._app.options.warnings
        if warnings:
            count = f"{len(warnings)} problems, the first: " if len(warnings) > 1 else ""
            self._app.say(f"{count}{warnings[0]}", severity="warning")

    def _apply_options(self, found: Options) -> None:
        before = self._app.options.warnings
        change(self._app, found)
        if tuple(found.warnings) != tuple(before):
            self.warn()
        self._finish_reading()

    def _finish_reading(self, _error: Exception | None = None) -> None:
        self._is_reading = False
        self.readings += 1
        if self._is_dirty:
            self.read()
            return
        after, self._after = self._after, []
        for then in after:
            then()


def change(app: AppInterface, found: Options) -> None:
    """Take keys, footer, motion and themes from options that were read anew.

    Read-only mode and the saved layout stay as they were at the start: the engine was opened for the one, and the other
    is older than what is on the screen.
    """
    before = app.options
    app.options = replace(found, read_only=before.read_only, saved=before.saved, reads_quota=before.reads_quota)
    keys = resolve_keys(app.options)
    if keys != app.keys:
        app.keys = keys
        app.set_keymap(dict(keys.changed))
        app.show_keys()
    app.animation_level = "none" if found.reduced_motion else constants.TEXTUAL_ANIMATIONS
    if tuple(found.themes) != tuple(before.themes) or found.theme != before.theme:
        _recolour(app, before, found)


def resolve_keys(options: Options) -> keymap.Keymap:
    """Return the keys as options have them."""
    return keymap.resolve(options.preset, options.own_keys, read_only=options.read_only, commands=options.commands)


def _recolour(app: AppInterface, before: Options, found: Options) -> None:
    """Draw with the themes as they are now; one of the same name may have other colours."""
    theming.register(app, found.themes)
    wanted = found.theme if found.theme != before.theme else app.theme
    gone = {theme.name for theme in before.themes} - {theme.name for theme in found.themes}
    chosen = theming.choose(None if wanted in gone else wanted, app.available_themes)
    if chosen == app.theme:
        app.theme = next(name for name in theming.ORDER if name != chosen)  # the same name alone would change nothing
    app.theme = chosen
    for name in gone:
        app.unregister_theme(name)
