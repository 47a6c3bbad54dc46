"""Painting a widget's rows in the turn of the loop in which they change, not four turns later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from textual.geometry import Region
from textual.screen import Screen

from oulipoly_tui.widgets.standing import is_standing

if TYPE_CHECKING:
    from rich.console import Console
    from textual.strip import Strip
    from textual.widget import Widget

# What is used below and is not promised to us; a Textual without it paints in its own time.
_IS_POSSIBLE = all(hasattr(Screen, name) for name in ("_on_timer_update", "_set_dirty", "is_current"))
_AT_REST = ("_layout_required", "_scroll_required", "_repaint_required")
_Update: Any = getattr(import_module("textual._compositor"), "CompositorUpdate", None)


def _find_dirty_widgets(screen: Screen[Any]) -> set[Widget] | None:
    """Return the widgets that Textual draws next; None where it keeps them otherwise, or holds its pictures back."""
    dirty = getattr(screen, "_dirty_widgets", None)
    is_free = getattr(screen.app, "_batch_count", None) == 0
    return dirty if is_free and isinstance(dirty, set) else None


def paint_at_once(widget: Widget, regions: Sequence[Region], row: Callable[[int], Strip] | None = None) -> bool:
    """Paint regions of a widget now; False: it cannot be done now, and `refresh` will do it.

    row: gives a row as wide as the widget, for one that has no border, no padding, nothing that shines through, and all
    its own colours: then Textual has nothing to add.

    By itself Textual goes from the widget's queue to the screen's, from there to a timer and back to the screen. That
    timer is also what holds pictures back: whoever calls this has to be no more frequent than a screen can show.
    """
    if not (_IS_POSSIBLE and is_standing(widget)):
        return False
    screen = widget.app.screen
    if widget.screen is not screen or not screen.is_current or not widget.display:
        return False
    waiting = _find_dirty_widgets(screen)
    if waiting is None:
        return False
    if widget not in waiting and _paint_alone(widget, screen, regions, row):
        return True
    widget._set_dirty(*regions)
    waiting.add(widget)
    screen._on_timer_update()
    return True


def _paint_alone(
    widget: Widget, screen: Screen[Any], regions: Sequence[Region], row: Callable[[int], Strip] | None
) -> bool:
    """Write just these rows, where nothing lies over them.

    Textual would draw every line of every widget that a changed line crosses, the screen behind them included: at 50
    lines that takes four times as long as all the rest.
    """
    compositor: Any = getattr(screen, "_compositor", None)
    cache: Any = getattr(widget, "_styles_cache", None)
    display = getattr(widget.app, "_display", None)
    visible = getattr(compositor, "visible_widgets", None)
    mark = getattr(cache, "set_dirty", None)
    if _Update is None or display is None or mark is None or not isinstance(visible, dict):
        return False
    if any(getattr(screen, name, True) for name in _AT_REST) or widget not in visible:
        return False
    area, clip = visible[widget]
    visible_part = area.intersection(clip)
    at = area.offset + widget.content_offset
    parts = [part for region in regions if (part := region.translate(at).intersection(visible_part))]
    for other, (region, clip) in visible.items():
        if other is widget:
            break  # the others lie below
        above = region.intersection(clip)
        if any(above.overlaps(part) for part in parts):
            return False
    own = [part.translate(-area.offset) for part in parts]
    mark(*(region.translate(widget.content_offset) for region in regions))  # what is cut off too: it may be seen later
    draw = widget.render_lines if row is None or area.size != widget.size else partial(_draw_rows, widget, row)
    display(screen, _Rows([(part, draw(inside)) for part, inside in zip(parts, own, strict=True)]))
    return True


def _draw_rows(widget: Widget, row: Callable[[int], Strip], region: Region) -> list[Strip]:
    strips = [row(y) for y in region.line_range]
    for change in widget.get_line_filters():
        background = widget.background_colors[1]
        strips = [strip.apply_filter(change, background) for strip in strips]
    if region.width < widget.size.width:
        return [strip.crop(region.x, region.right) for strip in strips]
    return strips


if _Update is not None:

    class _Rows(_Update):  # type: ignore[misc, valid-type, unused-ignore]
        """Strips, and where on the screen they belong."""

        def __init__(self, parts: Sequence[tuple[Region, Sequence[Strip]]]) -> None:
            self._parts = parts

        def render_segments(self, console: Console) -> str:
            """Return what the terminal is sent."""
            return "".join(
                f"\x1b[{y};{part.x + 1}H{strip.render(console)}"
                for part, strips in self._parts
                for y, strip in enumerate(strips, part.y + 1)
            )
