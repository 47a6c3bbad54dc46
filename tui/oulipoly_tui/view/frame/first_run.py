"""What the app shows where nothing is configured: the ways on. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_tui.view.transcript.spans import Line

if TYPE_CHECKING:
    from oulipoly_engine.facade.configuration import SetUp

_EXAMPLE = (
    "[claude1]",
    'command = "claude"',
    'args = ["-p"]',
    "interactive_args = []",
    'quota_script = "anthropic-usage ~/.claude/.credentials.json"',
)


def first_run(config_folder: str, *, has_problems: bool, read_only: bool = False) -> tuple[Line, ...]:
    """Return the screen of an empty configuration; in read-only mode without what would be refused."""
    writing: tuple[Line, ...] = (
        (("A", "key"), ("   add an account: log in to a CLI, with a home of its own", "")),
        (("a", "key"), ("   set up the logins of this machine: every file is shown first", "")),
        (("S", "key"), ("   let a model set it up: it asks before every command and file", "")),
    )
    lines: list[Line] = [
        (("No accounts yet", "heading"),),
        (),
        *(() if read_only else writing),
        (("f3", "key"), ("  run the doctor: it checks everything and says what mends it", "")),
        (("m", "key"), ("   try everything with made-up accounts; nothing leaves this machine", "")),
        (("y", "key"), ("   copy the path of the configuration folder", "")),
        (("?", "key"), ("   every key", "")),
        (),
        (
            ("To set it up by hand, name your CLI's login in ", ""),
            (f"{config_folder}/providers.toml", "strong"),
            (":", ""),
        ),
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


def store_lost(failure: str) -> tuple[Line, ...]:
    """Return what stands in the place of pools whose state file cannot be read; the configuration may be whole."""
    return (
        (("The state file cannot be read", "heading"),),
        (),
        ((f"! {failure}", "bad"),),
        (),
        (("Pools and quota are not known until then. This screen changes by itself once it can be read.", ""),),
        (("!", "key"), ("  everything that is wrong, each with its fix", "")),
    )


def set_up_lines(found: SetUp) -> tuple[Line, ...]:
    """Return what was found, and what would change in every file."""
    lines: list[Line] = [(("Found", "heading"),)]
    for login in found.logins:
        quota = "its quota can be read" if login.has_credentials else "its calls are counted: no quota is known"
        lines.append(((f"  {login.account}", "strong"), (f"  {login.cli.title} in {login.folder}; {quota}", "")))
    if not found.logins:
        text = "  no login that is not an account yet: install claude, codex, gemini or opencode, or log in once more"
        lines.append(((text, "warn"),))
    lines += [((f"  ! {note}", "warn"),) for note in found.notes]
    for change in found.files:
        verb = "create" if change.before is None else "change"
        lines += [(), ((f"would {verb} {change.path}", "heading"),)]
        added = [line[1:] for line in change.diff.splitlines()[2:] if line.startswith("+")]  # the rest may hold secrets
        lines += [(("    " + line, "dim" if line.startswith("#") else ""),) for line in added]
    return tuple(lines)
