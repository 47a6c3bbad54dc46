"""What the app shows where nothing is configured: the two ways on. Pure."""

from __future__ import annotations

from oulipoly_tui.view.spans import Line

_EXAMPLE = (
    "[claude1]",
    'command = "claude"',
    'args = ["-p"]',
    "interactive_args = []",
    'quota_script = "anthropic-usage ~/.claude/.credentials.json"',
)


def first_run(config_folder: str, *, has_problems: bool) -> tuple[Line, ...]:
    """Return the screen of an empty configuration."""
    lines: list[Line] = [
        (("No accounts yet", "heading"),),
        (),
        (("m", "key"), ("  try everything in the demo world: made-up accounts, nothing leaves this machine", "")),
        (("y", "key"), ("  copy the path of the configuration folder", "")),
        (("?", "key"), ("  every key", "")),
        (),
        (("To set it up, name your CLI's login in ", ""), (f"{config_folder}/providers.toml", "strong"), (":", "")),
        (),
        *((("    " + text, "dim"),) for text in _EXAMPLE),
        (),
        (("and a pool that it serves in ", ""), (f"{config_folder}/models/opus.toml", "strong"), (":", "")),
        (),
        (("    [[providers]]", "dim"),),
        (('    name = "claude1"', "dim"),),
        (),
        (("This screen changes by itself once the files are there. `agents config check` tells what is wrong.", ""),),
    ]
    if has_problems:
        lines.insert(1, (("! the configuration has problems: press ", "bad"), ("!", "key"), (" for the list", "bad")))
    return tuple(lines)
