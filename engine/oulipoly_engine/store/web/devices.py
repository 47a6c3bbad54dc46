"""Devices, the codes that make them, and wrong tries."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.web.devices import LOCKED_FOR, TRIES, Device
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.orm import Query
from oulipoly_engine.store.base.rows import column_values, name_values
from oulipoly_engine.store.models.web import WebCodeRow, WebDeviceRow, WebFailureRow, WebSubscriptionRow

_COLUMNS = WebDeviceRow._meta.sorted_fields


def insert(store: Store, device: Device, token_hash: str) -> None:
    """Write a new device."""
    with store.write():
        values = column_values(device) | {"scopes": " ".join(device.scopes)}
        store.insert(WebDeviceRow, token_hash=token_hash, **values)


@compile_query
def _select_device(device_id: Parameter) -> Query:
    return WebDeviceRow.select(*_COLUMNS).where(WebDeviceRow.device_id == device_id)


def find(store: Store, device_id: str) -> tuple[Device, str] | None:
    """Return a device and the hash of its secret."""
    rows = store.rows(_select_device(device_id))
    return _read(rows[0]) if rows else None


def list_devices(store: Store, *, kinds: tuple[str, ...] = ("device", "link")) -> tuple[Device, ...]:
    """Return devices, oldest first."""
    row = WebDeviceRow
    query = row.select(*_COLUMNS).where(row.kind.in_(kinds)).order_by(row.created_at, row.device_id)
    return tuple(_read(each)[0] for each in store.rows(query))


def closed(store: Store, device_ids: frozenset[str], now: datetime) -> frozenset[str]:
    """Return those of some devices whose token is not good any more."""
    row = WebDeviceRow
    query = row.select(*_COLUMNS).where(row.device_id.in_(sorted(device_ids)))
    alive = {one.device_id for one in (_read(each)[0] for each in store.rows(query)) if one.is_open(now)}
    return device_ids - alive


def note_seen(store: Store, device_id: str, now: datetime) -> None:
    """Note when a device was last there."""
    _update(store, device_id, last_seen_at=now)


def confirm(store: Store, device_id: str, until: datetime) -> None:
    """Note until when a device may do what needs a confirmation."""
    _update(store, device_id, confirmed_until=until)


def revoke(store: Store, device_id: str, now: datetime) -> bool:
    """Make a device's token worthless, and tell it nothing more. Returns whether it was good."""
    row, told = WebDeviceRow, WebSubscriptionRow
    with store.write():
        store.run(told.delete().where(told.device_id == device_id))
        query = row.update({row.revoked_at: to_text(now)}).where(row.device_id == device_id, row.revoked_at.is_null())
        return store.run(query) == 1


def revoke_for_request(store: Store, request_id: str, now: datetime) -> None:
    """Make the tokens worthless that could answer a request."""
    row = WebDeviceRow
    with store.write():
        mine = (row.request_id == request_id, row.revoked_at.is_null())
        store.run(row.update({row.revoked_at: to_text(now)}).where(*mine))


def _update(store: Store, device_id: str, **times: datetime) -> None:
    row = WebDeviceRow
    told = {getattr(row, name): to_text(at) for name, at in times.items()}
    with store.write():
        store.run(row.update(told).where(row.device_id == device_id))


# Codes ---------------------------------------------------------------------------------------------------------------
def add_code(store: Store, code_hash: str, name: str, scopes: tuple[str, ...], expires_at: datetime) -> None:
    """Keep a code."""
    with store.write():
        store.insert(
            WebCodeRow, code_hash=code_hash, name=name, scopes=" ".join(scopes), expires_at=to_text(expires_at)
        )


def take_code(store: Store, code_hash: str, now: datetime) -> tuple[str, tuple[str, ...]] | None:
    """Return the name and the scopes of a code and forget it; None: there is none, or it is too old."""
    row = WebCodeRow
    with store.write():
        store.run(row.delete().where(row.expires_at <= to_text(now)))
        found = store.rows(row.select(row.name, row.scopes).where(row.code_hash == code_hash))
        store.run(row.delete().where(row.code_hash == code_hash))
    return (found[0][0], tuple(found[0][1].split())) if found else None


# Wrong tries ---------------------------------------------------------------------------------------------------------
def is_locked(store: Store, address: str, now: datetime) -> bool:
    """Return whether an address has tried too often."""
    failures, _ = _failures(store, address, now)
    return failures >= TRIES


def add_failure(store: Store, address: str, now: datetime) -> None:
    """Count a wrong try."""
    row = WebFailureRow
    with store.write():
        failures, is_known = _failures(store, address, now)
        told = {row.failures: failures + 1, row.last_at: to_text(now)}
        if is_known:
            store.run(row.update(told).where(row.address == address))
        else:
            store.insert(row, address=address, failures=failures + 1, last_at=to_text(now))


def _failures(store: Store, address: str, now: datetime) -> tuple[int, bool]:
    """Return how many wrong tries count now, and whether there is a row."""
    row = WebFailureRow
    found = store.rows(row.select(row.failures, row.last_at).where(row.address == address))
    if not found:
        return 0, False
    failures, last_at = found[0]
    return (int(failures) if now - from_text(last_at) < LOCKED_FOR else 0), True


def _read(values: tuple[Any, ...]) -> tuple[Device, str]:
    at = name_values(_COLUMNS, values)
    token_hash = at.pop("token_hash")
    return Device(**at | {"scopes": tuple(at["scopes"].split())}), token_hash
