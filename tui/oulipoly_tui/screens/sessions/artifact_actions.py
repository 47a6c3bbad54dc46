"""What can be done with one artifact: reading, comparing, saving, copying and removing it, with what is asked first."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oulipoly_engine.core.sessions.session_table import short_path
from oulipoly_engine.core.text.columns import size_text
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.facade.artifacts import PREVIEW_BYTES
from oulipoly_engine.facade.sessions.values import FileExists
from oulipoly_engine.paths import expand_user
from oulipoly_tui.base.app_interface import engine_of
from oulipoly_tui.driver import copying
from oulipoly_tui.screens import dialogs
from oulipoly_tui.view.sessions.artifacts import content_lines, detail_lines, diff_lines, shown, title_of
from oulipoly_tui.view.transcript.spans import Row

if TYPE_CHECKING:
    from oulipoly_engine.core.artifacts.versions import Version
    from oulipoly_engine.facade.artifacts import Artifacts
    from oulipoly_engine.facade.engine import Engine
    from oulipoly_tui.base.app_interface import AppInterface


def read(app: AppInterface, one: Version) -> None:
    """Show all that is known and can be read of it."""

    def on_read(text: str | None) -> None:
        dialogs.read(app, title_of(one), (*detail_lines(one, app.now()), (), *content_lines(one, text)))

    app.work("artifact", partial(engine_of(app).artifacts.preview, one), on_read)


def compare(app: AppInterface, before: Version, one: Version) -> None:
    """Show what differs between two versions."""

    def on_compared(lines: tuple[str, ...]) -> None:
        if lines:
            title = f"{title_of(one)}, compared with v{before.number}"
            dialogs.read(app, title, tuple(diff_lines(lines)))
        else:
            app.say(f"Nothing differs between v{before.number} and v{one.number}")

    app.work(
        "diff", partial(engine_of(app).artifacts.diff, before.address, one.address), on_compared, title="comparing"
    )


def ask_to_save(app: AppInterface, one: Version, folder: Path | None = None) -> None:
    """Ask where to, and save a content as it is. folder: where it is offered to be saved, unless it is gone."""
    is_there = folder is not None and os.path.isdir(folder)  # noqa: PTH112 - raises nothing
    place = (folder if folder is not None and is_there else Path.home()) / one.file_name
    question = f"File to write: {size_text(one.content_len)}, as it was stored, with its secrets"
    dialogs.ask_name(app, f"Save {title_of(one)} as", question, partial(save, app, one), str(place))


def copy(app: AppInterface, one: Version) -> None:
    """Choose what is copied: its address, its name, its hash, its text."""
    texts = {"address": one.address.text, "name": one.address.name, "sha256": one.sha256}
    rows = [Row(name, ((f"{name:<10}", ""), (shown(text), "dim"))) for name, text in texts.items()]
    rows.insert(1, Row("text", ((f"{'text':<10}", ""), ("without secrets", "dim"))))

    def on_read(text: str | None) -> None:
        if text is None or one.content_len > PREVIEW_BYTES:
            app.say("It is not a short text: s saves it", severity="warning")
        else:
            copying.copy(app, text)

    def on_chosen(name: str) -> None:
        if name == "text":
            app.work("artifact", partial(engine_of(app).artifacts.preview, one), on_read)
        else:
            copying.copy_line(app, texts[name])

    dialogs.choose(app, f"Copy of {title_of(one)}", rows, on_chosen)


def ask_to_remove(app: AppInterface, one: Version, then: Callable[[], object] | None = None) -> None:
    """Remove a version after a yes. then: called when it is gone."""

    def remove() -> None:
        app.work("remove", partial(engine_of(app).artifacts.remove_by_hand, one.address), lambda _: on_removed())

    def on_removed() -> None:
        app.say(f"Removed {title_of(one)}")
        pane: Any = app.frame.find("transcript")
        if pane is not None:
            pane.look_for_returned()
        if then is not None:
            then()

    question = (
        f"{title_of(one)}, {size_text(one.content_len)}. Nobody can read this version any more, and the next "
        "collection deletes its content. This cannot be undone."
    )
    dialogs.confirm(app, "Remove this artifact?", question, "remove it", remove)


def preview(engine: Engine, one: Version) -> str | RunnerError | None:
    """Return the beginning of a text, None for what is not one, or what is wrong with it: it is shown in its place."""
    try:
        return engine.artifacts.preview(one)
    except RunnerError as error:
        return error


def save(app: AppInterface, one: Version, text: str) -> None:
    """Save a content; ask before a file that is there is replaced."""
    artifacts = engine_of(app).artifacts

    def start(*, force: bool) -> None:
        work = partial(_write, artifacts, one, text, force=force)
        app.work("save", work, on_done, title=f"writing {Path(text).name}", can_stop=True)

    def on_done(done: tuple[Path, bool]) -> None:
        written, is_in_the_way = done
        if not is_in_the_way:
            place = short_path(str(written.absolute()), str(Path.home()))
            app.say(f"Saved {visible_line(place)}: {one.content_len:,} bytes")
            return
        question = f"{written} is there already. What is in it now is lost, and cannot be brought back."
        dialogs.confirm(app, "Replace this file?", question, "replace it", partial(start, force=True))

    start(force=False)


def _write(artifacts: Artifacts, one: Version, text: str, *, force: bool) -> tuple[Path, bool]:
    """Write it, into a folder under its own name; return the file, and whether one in its way was left as it is."""
    path = expand_user(text)
    target = path / one.file_name if os.path.isdir(path) else path  # noqa: PTH112 - raises nothing
    try:
        artifacts.save(one.address, target, force=force)
    except FileExists:
        return target, True
    return target, False
