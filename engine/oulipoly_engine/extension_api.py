"""What extensions import: answers of the hook `input`, and how a guard refuses. docs/extensions.md says how.

In-process Python is not a sandbox: what is asked for by `context` is checked, what the code does without it is not.
"""

from __future__ import annotations

from typing import NamedTuple


class Continue(NamedTuple):
    """The message goes on as it is; the same as None."""


class Transform(NamedTuple):
    """Another text goes on, or is sent as the answer to a slash command."""

    text: str


class Handled(NamedTuple):
    """The message is not sent; the text is shown to the person."""

    text: str = ""


class Refused(Exception):
    """Raised by a guard: what was about to happen does not. It counts as no failure."""


class PermissionDenied(Exception):
    """Raised by `context`: the extension has not been allowed what it asks for. It stays active."""


class Session(NamedTuple):
    """A session as extensions see it; texts are empty where nothing is known."""

    id: str = ""
    workspace: str = ""
    runtime: str = ""
    account: str = ""
    model: str = ""
    title: str = ""
