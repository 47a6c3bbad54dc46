"""What a live session begins as: the account of its pool, its runtime and its opening."""

from __future__ import annotations

import json
import uuid
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.core.accounts.accounts import restrict_to_account
from oulipoly_engine.core.live.models import check_model
from oulipoly_engine.core.live.permissions import OF_NEW_SESSIONS
from oulipoly_engine.core.live.sessions import LiveSession, SessionOptions
from oulipoly_engine.core.sessions.resolve import UNKNOWN_MODEL
from oulipoly_engine.errors import AccountUnusable, RuntimeUnknown
from oulipoly_engine.facade.live.runtimes import Runtimes
from oulipoly_engine.process.signals import Guard
from oulipoly_engine.records import Record, replace
from oulipoly_engine.store.live import probes

if TYPE_CHECKING:
    from oulipoly_engine.core.live.launch.catalogue import Catalogue
    from oulipoly_engine.core.runs.markers import ParentRef
    from oulipoly_engine.facade.base.home import Home
    from oulipoly_engine.store.base.db import Store


class NewSession(Record):
    """A live session to begin: a model's pool, or an account or a runtime by name."""

    folder: Path
    model: str | None = None
    account: str | None = None  # beside a model: this member of its pool alone
    runtime: str | None = None  # instead of both
    prompt: str | None = None
    profile: str = OF_NEW_SESSIONS
    cli_model: str = ""  # the CLI's own model; empty: as the pool's member says
    effort: str = ""
    args: tuple[str, ...] = ()  # of its CLI, behind those of the pool's member
    title: str = ""
    parent: ParentRef | None = None
    session_id: str = ""  # empty: a new one
    lifecycle: str = "persistent"  # or oneshot
    options: SessionOptions = SessionOptions()  # beside those that fields of this record say
    starts: bool = True  # False: its process is started later, and the prompt waits until then


def choose_session(
    home: Home, catalogue: Catalogue, store: Store, wish: NewSession, folder: Path, guard: Guard
) -> tuple[LiveSession, str | None, str]:
    """Return a session that is not written yet, the decision as JSON where there was one, and why this account."""
    from oulipoly_engine.core.live.launch.words import live_words  # noqa: PLC0415 - only a new session needs it

    decision, member, why = None, None, "it was named"
    model_name: str = wish.model or UNKNOWN_MODEL
    if wish.model is not None:
        files = home.files
        accounts, settings = files.accounts(), files.settings()
        model = files.model(wish.model)
        if wish.account is not None and (found := restrict_to_account(model, wish.account)) is None:
            raise AccountUnusable(f"the pool of {model.name!r} has no account {wish.account!r}")
        model = model if wish.account is None else found or model
        fresh = home.wiring.freshness(store, accounts, files.scripts(), home.note, home.listeners)
        launcher = home.wiring.launcher(store, accounts, settings, fresh, note=home.note, is_shown=True)
        able = {one.account for one in catalogue.runtimes if one.is_enabled}
        chosen = launcher.from_pool(model, guard, lambda name: name in able)
        member, decision, model_name = chosen.member, chosen.decision, chosen.model_name
        why = str((decision or {}).get("reason") or "it is the one that can be driven")
        runtime = catalogue.find_for_account(chosen.account)
    else:
        name = wish.runtime or wish.account or ""
        runtime = catalogue.find(name) or catalogue.find_for_account(name)
    if runtime is None:
        asked = wish.runtime or wish.account or wish.model
        raise AccountUnusable(f"{asked!r} has no CLI that can be driven: `agents runtime list` lists those that have")
    cli = catalogue.clis.get(runtime.id)
    words = live_words(runtime, member, None if cli is None else cli.live)
    if wish.cli_model:
        ask_never_asked(home, store, runtime.id)
    kept = probes.read_all(store).get(runtime.id)
    known = () if kept is None else kept.probe.models
    check_model(runtime.id, known, runtime.custom_models, wish.cli_model, wish.effort, runtime.kind)
    now = home.now()
    session = LiveSession(
        session_id=wish.session_id or str(uuid.uuid4()),
        workspace=str(folder),
        runtime_id=runtime.id,
        runtime_kind=runtime.kind,
        model_name=model_name,
        created_at=now,
        updated_at=now,
        account=runtime.account or None,
        opening=replace(
            wish.options,
            model=wish.cli_model or words.model,
            effort=wish.effort or words.effort,
            profile=wish.profile,
            args=(*words.args, *wish.args),
        ),
        title=wish.title,
        lifecycle=wish.lifecycle,
    )
    return session, None if decision is None else json.dumps(decision, ensure_ascii=False), why


def ask_never_asked(home: Home, store: Store, runtime_id: str) -> None:
    """Ask a runtime for its models where it never was, so that the name of one can be checked."""
    if runtime_id not in probes.read_all(store):
        with suppress(RuntimeUnknown):  # whoever starts it says so
            Runtimes(home).refresh((runtime_id,))
