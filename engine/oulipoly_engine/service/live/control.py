"""Who writes to one live session, and who watches it: names, for people. Nobody is ever kept from writing.

The controller is the person who wrote last, in the app or on a page. What commands and scripts send is theirs by name
and takes no control; nor does an answer to a request, which every device may give at least one of.
"""

from __future__ import annotations

from collections.abc import Iterable

from oulipoly_engine.core.live.events import ClientsChanged, ControlChanged
from oulipoly_engine.core.live.orders import LOOKS, Answer, AskClients, Close, Order
from oulipoly_engine.service.live.clients import ClientSeat
from oulipoly_engine.service.live.protocol import NAME_LIMIT

_MOST_NAMES = 100  # of one connection


class Control:
    """The controller and the watchers; gone with the session's process."""

    def __init__(self) -> None:
        self._controller = self._since = ""

    def take(self, order: Order, name: str, now: str) -> ControlChanged | None:
        """Take note of an order of a person that was carried out. now: RFC 3339. Returns what is to be told of it."""
        is_writing = not isinstance(order, (*LOOKS, Answer)) and order != Close(if_idle=True)
        if not is_writing or name == self._controller:
            return None
        before, self._controller, self._since = self._controller, name, now
        return ControlChanged(name, before) if before else None

    def read(self, seats: Iterable[ClientSeat]) -> ClientsChanged:
        """Return who has control and who is attached."""
        attached = (name for seat in seats if seat.follows for name in seat.names or (seat.name,))
        return ClientsChanged(self._controller, self._since, tuple(sorted(attached)))

    def listen(self, seat: ClientSeat, order: AskClients, seats: Iterable[ClientSeat]) -> ClientsChanged:
        """Take who watches over a connection, and whether it wants to be told of changes."""
        if order.names is not None:
            seat.names = tuple(name[:NAME_LIMIT] for name in order.names[:_MOST_NAMES])
        if order.tell:  # whatever is otherwise than for one who is alone is told at once
            seat.told_clients = ClientsChanged(attached=tuple(sorted(seat.names or (seat.name,))))
        return self.read(seats)
