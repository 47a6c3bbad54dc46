"""Who may use the server: devices, codes, links, confirmations. Every method blocks."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from oulipoly_engine.core.web.devices import (
    CODE_LIFE,
    CONFIRMED_FOR,
    LINK_LIFE,
    Device,
    PairingRefused,
    ServerEntry,
    TooManyTries,
    clean_name,
    confirmation_prompt,
    free_name,
    read_scopes,
    split_token,
)
from oulipoly_engine.core.web.replies import Reply
from oulipoly_engine.errors import DeviceNotFound, IdAmbiguous, RequestRefused, ServerNotRunning, UsageInvalid
from oulipoly_engine.events import Listeners
from oulipoly_engine.facade.base.home import Home
from oulipoly_engine.facade.live.requests import own_client
from oulipoly_engine.facade.web.push import PushAccess
from oulipoly_engine.facade.web.settings import WebSettings, web_settings
from oulipoly_engine.process.liveness import was_alive_at
from oulipoly_engine.records import Record
from oulipoly_engine.store.live import live_requests
from oulipoly_engine.store.web import devices, replies, servers

if TYPE_CHECKING:
    from oulipoly_engine.core.web.push import Subscription
    from oulipoly_engine.service.following.watch import Watch

_SEEN_EVERY = timedelta(minutes=1)
_ID_BYTES, _SECRET_BYTES, _CODE_BYTES = 6, 32, 16
_LONGEST_LINK_H = 24 * 30


class Code(Record):
    """A code that can be traded for a device's token, once."""

    code: str
    scopes: tuple[str, ...]
    expires_at: datetime


class Paired(Record):
    """A device and its token, which nobody can read again."""

    device: Device
    token: str


class WebAccess:
    """The server's access of one user."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self.push = PushAccess(home)

    def settings(self) -> WebSettings:
        """Return the server's settings."""
        return web_settings(self._home.files.settings(), self._home.paths.home)

    # Making --------------------------------------------------------------------------------------------------------
    def make_code(self, name: str = "", scopes: Iterable[str] = (), life: timedelta = CODE_LIFE) -> Code:
        """Return a new code. Raises UsageInvalid for a scope that there is not."""
        self._home.refuse_if_read_only("pair a device")
        code, granted = secrets.token_urlsafe(_CODE_BYTES), read_scopes(scopes)
        expires_at = self._home.now() + life
        with self._home.lend_store() as store:
            devices.add_code(store, _hash(code), clean_name(name), granted, expires_at)
        return Code(code, granted, expires_at)

    def redeem(self, code: str, name: str, address: str, usual_name: str = "a device") -> Paired:
        """Trade a code for a device's token; that of a link or a notice is its own.

        usual_name: where neither `name` nor who made the code has given one. Raises PairingRefused or TooManyTries.
        """
        now = self._home.now()
        self.refuse_locked(address)
        with self._home.lend_store() as store:
            found = devices.take_code(store, _hash(code), now)
        if found is None:
            link = self.authenticate(code)
            if link is not None and link.kind in ("link", "request"):
                return Paired(link, code)
            self.note_failure(address)
            raise PairingRefused("this code is wrong, was used, or is too old: `agents device pair` shows a new one")
        known, scopes = found
        device_name = clean_name(name) or known or usual_name
        return self._make(device_name, scopes, confirmed_until=now + CONFIRMED_FOR)

    def make_link(self, name: str = "", hours: float | None = None) -> Paired:
        """Return a link for somebody else, who may look and nothing more. Raises UsageInvalid."""
        self._home.refuse_if_read_only("make a link")
        life = LINK_LIFE if hours is None else timedelta(hours=hours)
        if not timedelta(0) < life <= timedelta(hours=_LONGEST_LINK_H):
            raise UsageInvalid(f"a link lives for up to {_LONGEST_LINK_H} hours")
        return self._make(clean_name(name) or "a link", ("view",), kind="link", expires_at=self._home.now() + life)

    def make_request_token(self, request_id: str, owner: Subscription | None = None) -> str:
        """Return a token that can answer one request and do nothing else.

        owner: the device that it is sent to; then it can approve where that device can, and ends with it.
        """
        scopes = tuple(one for one in ("view", "answer") if owner is None or one in owner.scopes)
        told = {"request_id": request_id, "expires_at": self._home.now() + LINK_LIFE}
        named = {"owner_id": owner.device_id} if owner is not None else {}
        return self._make(owner.name if owner else "a notice", scopes, kind="request", **told, **named).token

    def _make(self, name: str, scopes: Sequence[str], **more: object) -> Paired:
        identity, secret = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
        told, now = {"kind": "device", **more}, self._home.now()
        with self._home.lend_store() as store, store.write():
            taken = {device.name for device in devices.list_devices(store) if device.is_open(now)}
            device = Device(
                device_id=identity,
                name=name if told["kind"] == "request" else free_name(name, taken),
                scopes=tuple(scopes),
                created_at=now,
                **told,  # type: ignore[arg-type]  # fields of the record
            )
            devices.insert(store, device, _hash(secret))
        return Paired(device, f"{identity}.{secret}")

    # Asking ----------------------------------------------------------------------------------------------------------
    def authenticate(self, token: str, address: str = "") -> Device | None:
        """Return the device that a token belongs to; None: it is not good. A wrong one counts against the address."""
        identity, secret = split_token(token)
        now = self._home.now()
        with self._home.lend_store_to_read() as store:
            found = devices.find(store, identity) if identity else None
        # Compared in any case, so that an id that is known takes no longer.
        is_right = hmac.compare_digest(_hash(secret), found[1] if found is not None else _hash("nobody"))
        if found is None or not is_right:
            if address:
                self.note_failure(address)
            return None
        device = found[0]
        if not device.is_open(now) or (device.owner_id is not None and self.closed_devices([device.owner_id])):
            return None
        if device.last_seen_at is None or now - device.last_seen_at >= _SEEN_EVERY:
            with self._home.lend_store() as store:
                devices.note_seen(store, identity, now)
        return device

    def refuse_locked(self, address: str) -> None:
        """Raise TooManyTries where an address has shown too many wrong tokens or codes."""
        with self._home.lend_store_to_read() as store:
            if devices.is_locked(store, address, self._home.now()):
                raise TooManyTries("too many wrong tries from this address: wait a quarter of an hour")

    def note_failure(self, address: str) -> None:
        """Count a wrong token or code."""
        with self._home.lend_store() as store:
            devices.add_failure(store, address, self._home.now())

    def devices(self) -> tuple[Device, ...]:
        """Return the devices and links whose tokens are good, oldest first."""
        now = self._home.now()
        with self._home.lend_store_to_read() as store:
            return tuple(one for one in devices.list_devices(store) if one.is_open(now))

    def closed_devices(self, device_ids: Iterable[str]) -> frozenset[str]:
        """Return those of some devices whose tokens are not good any more."""
        asked = frozenset(device_ids)
        if not asked:
            return asked
        with self._home.lend_store_to_read() as store:
            return devices.closed(store, asked, self._home.now())

    def revoke(self, identity: str) -> Device:
        """Make a device's token worthless, at once. Raises RequestRefused where there is none."""
        self._home.refuse_if_read_only("revoke a device")
        device = self._find(identity)
        with self._home.lend_store() as store:
            devices.revoke(store, device.device_id, self._home.now())
        return device

    def confirm(self, identity: str) -> Device:
        """Let a device do for a quarter of an hour what can put code on this computer. Raises RequestRefused."""
        self._home.refuse_if_read_only("confirm a device")
        device = self._find(identity)
        if "operate" not in device.scopes and "answer" not in device.scopes:
            raise RequestRefused(f"the device {device.name!r} may only look: pair it anew with more scopes")
        now = self._home.now()
        by = own_client(is_app=self._home.is_app).name
        with self._home.lend_store() as store, store.write():
            devices.confirm(store, device.device_id, now + CONFIRMED_FOR)
            live_requests.settle_asked(store, "device", device.device_id, "", now, decision="approve", by=by)
        return device

    def ask_confirmation(self, identity: str) -> str:
        """Ask who is at the computer to confirm a device, and return the id of the request. Raises RequestRefused."""
        device = self._find(identity)
        prompt = confirmation_prompt(device)
        now = self._home.now()
        with self._home.lend_store() as store:
            request = live_requests.ask_once(store, "device", device.device_id, "", "permission_approval", prompt, now)
        return request.request_id

    def confirm_by_code(self, device_id: str, code: str, address: str) -> None:
        """Confirm a device by a code of `device pair`, which is used up. Raises PairingRefused or TooManyTries."""
        self.refuse_locked(address)
        with self._home.lend_store() as store:
            found = devices.take_code(store, _hash(code), self._home.now())
        if found is None:
            self.note_failure(address)
            raise PairingRefused("this code is wrong, was used, or is too old: `agents device pair` shows a new one")
        self.confirm(device_id)

    def _find(self, identity: str) -> Device:
        known = self.devices()
        found = [one for one in known if one.device_id == identity]
        found = found or [one for one in known if identity and one.device_id.startswith(identity)]
        found = found or [one for one in known if one.name == identity]
        if len(found) == 1:
            return found[0]
        way_out = "`agents device list` lists them with their ids"
        if found:
            raise IdAmbiguous(f"several devices are called {identity[:60]!r}: {way_out}")
        raise DeviceNotFound(f"there is no device {identity[:60]!r}: {way_out}")

    def watch(self, changed: Callable[[], None]) -> Watch:
        """Call a function in a thread whenever the state file or the configuration has changed, until it is closed."""
        from oulipoly_engine.service.following.watch import Watch, Watched  # noqa: PLC0415 - only a server watches

        listeners = Listeners(failed=lambda _error: None)
        listeners.subscribe(lambda _event: changed())
        return Watch(Watched(self._home.store, self._home.places.fingerprint), listeners, self._home.clock)

    # Servers ---------------------------------------------------------------------------------------------------------
    def note_server(self, url: str, fingerprint: str) -> None:
        """Note that this process serves at an address."""
        with self._home.lend_store() as store:
            servers.insert(store, ServerEntry(os.getpid(), url, fingerprint, self._home.now()))

    def forget_server(self) -> None:
        """Note that this process serves no longer."""
        with self._home.lend_store() as store:
            servers.delete(store, os.getpid())

    def servers(self) -> tuple[ServerEntry, ...]:
        """Return the servers that run, the newest first."""
        with self._home.lend_store_to_read() as store:
            found = servers.list_servers(store)
        return tuple(one for one in found if was_alive_at(one.pid, one.started_at))

    def start_server(self, address: str = "127.0.0.1", port: int | None = None) -> str:
        """Start a server that outlives us, and return its address. Raises RequestRefused, SpawnFailed."""
        from oulipoly_engine.facade.web.server_process import ServerOrder, start_server  # noqa: PLC0415 - few start one

        self._home.refuse_if_read_only("start a server")
        return start_server(ServerOrder(address, port))

    def end_server(self, server: ServerEntry) -> None:
        """Ask a server to end; its last answers are given first."""
        from oulipoly_engine.facade.web.server_process import end_server  # noqa: PLC0415 - few end one

        self._home.refuse_if_read_only("end a server")
        end_server(server.pid, server.started_at)

    def last_server(self) -> ServerEntry:
        """Return the server that was started last. Raises RequestRefused where none runs."""
        found = self.servers()
        if not found:
            raise ServerNotRunning("no server runs: `agents serve` starts one, in another terminal")
        return found[0]

    # Answers that are given once -------------------------------------------------------------------------------------
    def begin_reply(self, device_id: str, key: str, digest: str) -> Reply | None:
        """Note that an order is carried out; or return what is known of one with the same key."""
        with self._home.lend_store() as store:
            return replies.begin(store, device_id, key, digest, self._home.now())

    def keep_reply(self, device_id: str, key: str, reply: Reply) -> None:
        """Keep the answer to an order."""
        with self._home.lend_store() as store:
            replies.keep(store, device_id, key, reply)

    def forget_reply(self, device_id: str, key: str) -> None:
        """Forget an order that has come to nothing."""
        with self._home.lend_store() as store:
            replies.forget(store, device_id, key)

    # Notices ---------------------------------------------------------------------------------------------------------
    def claim_notice(self, notice_id: str) -> bool:
        """Note that a person is told of something. Returns whether nobody did it since it was last taken back."""
        with self._home.lend_store() as store:
            return replies.claim_notice(store, notice_id, self._home.now())

    def claim_withdrawals(self, pending: Iterable[str], *, keeps_alerts: bool = False) -> tuple[str, ...]:
        """Return the notices that were told and are not pending, each once; tokens for them die.

        keeps_alerts: those that are of no request are left.
        """
        now = self._home.now()
        with self._home.lend_store() as store:
            settled = replies.claim_withdrawals(store, pending, now, keeps_alerts=keeps_alerts)
            for identity in settled:
                devices.revoke_for_request(store, identity, now)
        return settled


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
