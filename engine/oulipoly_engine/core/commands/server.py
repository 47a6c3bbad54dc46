"""Commands on the server for phones and scripts, its devices, and what was allowed. Pure."""

from __future__ import annotations

from oulipoly_engine.core.commands.command import Argument, destroys, reads, writes
from oulipoly_engine.core.commands.needs import Need

_DEVICE = Argument("device")

COMMANDS = (
    writes("serve", "serve", "serve sessions to scripts and to your phone"),
    reads(
        "server",
        "server",
        "show the server: its address, a code for a phone, the devices that may use it",
        synonyms=("serve", "phone", "pair", "qr code", "devices", "remote"),
    ),
    destroys("server end", "end server", "end the server for every device; sessions go on", needs=(Need.SERVER,)),
    reads("server config", "server settings", "show what the server offers, and within which limits", scope="view"),
    reads("server events", "events", "follow what happens in all sessions", scope="view"),
    reads("folder list", "browse", "list the folders in which sessions can be begun", scope="view"),
    reads("device list", "devices", "list the devices and links that may use the server", scope="operate"),
    writes("device pair", "pair", "show a QR code that makes a phone a device"),
    writes("device link", "make link", "make a link for somebody who may look and nothing more"),
    writes(
        "device confirm",
        "confirm device",
        "let a device put code on this computer for a quarter of an hour",
        (_DEVICE,),
        scope="answer",
    ),
    destroys("device revoke", "revoke device", "make a device worthless, at once", (_DEVICE,), scope="operate"),
    destroys("device leave", "leave", "make the device that asks worthless, at once", scope="view"),
    reads(
        "grants list",
        "grants",
        "list what you have allowed: devices, commands, sessions",
        synonyms=("permissions", "trust", "revoke", "allowed", "approvals", "devices"),
    ),
    destroys(
        "grants revoke", "revoke grant", "withdraw something that you have allowed, at once", (Argument("grant"),)
    ),
)
