"""What the agent of a session is told of its changes: comments on lines, and a conflict to resolve. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.records import Record

_MOST = 200
_LONGEST_LINE = 300  # characters of a line that is repeated


class Comment(Record):
    """What a person says of a line of a file."""

    path: str
    line: int  # counted from 1
    text: str
    quoted: str | None = None  # the line as it is; None: it cannot be read


def comments_prompt(comments: Sequence[Comment]) -> str:
    """Return all comments as one prompt, by file and line. Raises UsageInvalid for a comment without text."""
    if not comments:
        raise UsageInvalid("there are no comments: name PATH:LINE and TEXT")
    if len(comments) > _MOST:
        raise UsageInvalid(f"{len(comments)} comments are more than one prompt takes: send {_MOST} at most")
    parts = ["Please look at these comments on your changes, and act on each of them."]
    for one in sorted(comments, key=lambda each: (each.path, each.line)):
        if not one.text.strip():
            raise UsageInvalid(f"the comment on {one.path}:{one.line} is empty: say what is to change")
        lines = [f"{one.path}, line {one.line}:"]
        if one.quoted is not None:
            lines.append(f"> {one.quoted[:_LONGEST_LINE].rstrip()}")
        parts.append("\n".join((*lines, one.text.strip())))
    return "\n\n".join(parts) + "\n"


def conflict_prompt(branch: str, into: str, conflicts: Sequence[str], commits: Sequence[str]) -> str:
    """Return what the agent is asked when its branch cannot be merged.

    conflicts: files. commits: of `into` that the branch does not have, one line each.
    """
    lines = [f"Your branch `{branch}` cannot be merged into `{into}`: both changed the same lines of these files.", ""]
    lines += [f"- {path}" for path in conflicts]
    if commits:
        lines += ["", f"Commits of `{into}` that your branch does not have yet:", ""]
        lines += [f"- {line}" for line in commits]
    lines += [
        "",
        f"Please merge `{into}` into your branch here, in this worktree, with `git merge {into}`. Resolve each "
        "conflict so that the purpose of both sides is kept, look that nothing is left of the conflict markers, run "
        "the tests that concern these files, and commit the merge. Do not change the other branch, and do not push.",
    ]
    return "\n".join(lines) + "\n"
