"""What a live session can be told to do: one record for each order, from whoever gives it to its host.

On the wire an order is its verb (the tag) and its fields; one at its default is left out. Hosts live for weeks, so
either end may be older than the other: an order keeps its verb, and a field that is added has a default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from oulipoly_engine.core.sessions.compaction import Hidden, Reason
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.records import Record, prepare

ANSWER_S = 30.0  # that clients wait for the answer to an order


class Order(Record, tag_field="verb", omit_defaults=True):
    """Any of them."""


class AskStatus(Order, tag="status"):
    """Tell how the session stands."""


class AskClients(Order, tag="clients"):
    """Tell who has control and who is attached, as `core.live.events.ClientsChanged`. Old hosts refuse it."""

    names: tuple[str, ...] | None = None  # who watches over this connection; None: as before
    tell: bool = False  # of each change from now on


class TellMessage(Order, tag="tell_message"):
    """Tell what is written of the message that is not whole yet."""


class Send(Order, tag="send"):
    """Begin a turn with a message, or have it wait for the end of the running one."""

    text: str
    turn_id: str = ""  # empty: the host names it
    if_idle: bool = False  # refuse where it would have to wait
    kind: str = ""  # `recovery`: it goes on with a turn that was cut off


class Steer(Order, tag="steer"):
    """Give the running turn a message; where that cannot be, it is sent."""

    text: str
    turn_id: str = ""  # of the turn that is meant; empty: whichever runs


class Interrupt(Order, tag="interrupt"):
    """End the running turn."""


class Compact(Order, tag="compact"):
    """Shorten the past."""


class BeginCompaction(Order, tag="begin_compaction"):
    """Let no turn begin until a summary comes over the same connection, or that ends. Old hosts refuse it."""

    reason: Reason = "manual"  # an automatic one is refused where none is due


class NoteCompaction(Order, tag="note_compaction"):
    """Tell how far a compaction is."""

    done: int  # runs
    total: int


class EndCompaction(Order, tag="end_compaction"):
    """Take the summary, and have the next process go on with it; without one all stays as it was."""

    summary: str = ""
    hides: Hidden | None = None
    failure: str = ""  # why there is no summary
    is_automatic: bool = False


class Review(Order, tag="review"):
    """Have changes reviewed; the kinds are `drivers.base.REVIEW_KINDS`."""

    kind: str = "uncommitted"
    value: str = ""  # the branch, the commit, the instructions


class Rename(Order, tag="rename"):
    """Name the session; an empty text takes its name away, so that it is called by its first words again."""

    text: str


class SetModel(Order, tag="set_model"):
    """Have later turns done by another model."""

    model: str
    effort: str = ""


class Answer(Order, tag="answer"):
    """Answer what the session asks."""

    request_id: str
    decision: str  # of `core.live.requests.parse_decision`
    reason: str = ""
    answers: Mapping[str, tuple[str, ...]] = {}  # by a question's id


class ChangeQueue(Order, tag="queue"):
    """Change a message that waits."""

    act: str  # edit, move, remove
    message_id: str
    text: str = ""  # to edit it
    place: int = 1  # to move it: 1 is the next to be sent


class Close(Order, tag="close"):
    """End the session's process; the session stays."""

    if_idle: bool = False  # refuse where a turn runs
    why: str = ""  # a sentence for those who follow the session; empty: a person has closed it


class Cancel(Order, tag="cancel"):
    """Interrupt what runs, and end the process at once."""


AnyOrder = (
    AskStatus
    | AskClients
    | TellMessage
    | Send
    | Steer
    | Interrupt
    | Compact
    | BeginCompaction
    | NoteCompaction
    | EndCompaction
    | Review
    | Rename
    | SetModel
    | Answer
    | ChangeQueue
    | Close
    | Cancel
)
LOOKS = (AskStatus, AskClients, TellMessage)  # change nothing
_VERBS = {kind.__struct_config__.tag for kind in get_args(AnyOrder)}


def verb_of(order: Order) -> str:
    """Return an order's verb."""
    return str(type(order).__struct_config__.tag)  # type: ignore[attr-defined]  # msgspec's


def write_order(order: Order) -> tuple[str, dict[str, Any]]:
    """Return the verb and the fields that go over the wire."""
    fields: dict[str, Any] = msgspec.to_builtins(order)
    return fields.pop("verb"), fields


def read_order(verb: str, fields: Mapping[str, Any]) -> AnyOrder:
    """Return an order that came over the wire; fields that are not known are left out. Raises UsageInvalid."""
    if verb not in _VERBS:
        raise UsageInvalid(f"there is no order {verb!r}")
    try:
        order: AnyOrder = msgspec.convert({**fields, "verb": verb}, prepare(AnyOrder))
    except msgspec.ValidationError as error:
        raise UsageInvalid(f"the order {verb!r} is not written as it should be: {error}") from error
    return order
