"""Which devices are told by web push, and where. Every method blocks."""

from __future__ import annotations

from oulipoly_engine.core.web.push import Subscription
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.facade.base.home import Part
from oulipoly_engine.store.web import devices, subscriptions


class NotPaired(RequestRefused, slug="not-allowed"):
    """Who asks to be told is not a paired device."""


class PushAccess(Part):
    """The subscriptions of one user's devices."""

    def is_on(self, device_id: str) -> bool | None:
        """Return whether a device is told; None: it is not one that can be, as links and own programs."""
        with self._home.lend_store_to_read() as store:
            found = devices.find(store, device_id)
            known = {one.device_id for one in subscriptions.list_subscriptions(store)}
        return None if found is None or found[0].kind != "device" else device_id in known

    def subscribe(self, subscription: Subscription) -> None:
        """Tell a device there from now on, and nowhere else. Raises NotPaired."""
        if self.is_on(subscription.device_id) is None:
            raise NotPaired("only a paired device can be notified: `agents device pair` on the computer shows a code")
        with self._home.lend_store() as store:
            subscriptions.put(store, subscription)

    def unsubscribe(self, device_id: str, endpoint: str | None = None) -> None:
        """Tell a device nothing more. endpoint: not there, for the push service says that it is gone."""
        with self._home.lend_store() as store:
            subscriptions.delete(store, device_id, endpoint)

    def subscriptions(self, told_of: str | None = None) -> tuple[Subscription, ...]:
        """Return where devices are told. told_of: those alone that were told of this request."""
        with self._home.lend_store_to_read() as store:
            return subscriptions.list_subscriptions(store, request_id=told_of)
