"""What a live session begins as: the account of its pool, its runtime and its opening."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oulipoly_engine.core.accounts.accounts import Model, PoolMember, restrict_to_account
from oulipoly_engine.core.boxes.box import Level
from oulipoly_engine.core.live.launch.cli_options import CliOptions, choose_thinking, find_refusal, words_for
from oulipoly_engine.core.live.models import check_model
from oulipoly_engine.core.live.permissions import OF_NEW_SESSIONS
from oulipoly_engine.core.live.runtimes import Runtime
from oulipoly_engine.core.live.sessions import LiveSession, SessionOptions
from oulipoly_engine.core.sessions.resolve import UNKNOWN_MODEL
from oulipoly_engine.errors import AccountUnusable, RuntimeUnknown, UsageInvalid
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
    """A live session to begin: a model's pool, or an account or a runtime by name; nothing named: the default."""

    folder: Path
    model: str | None = None
    account: str | None = None  # beside a model: this member of its pool alone
    runtime: str | None = None  # instead of both
    provider: str = ""  # an account, a runtime, a CLI or its vendor: beside a model or alone, only those of it
    refusals: Mapping[str, str] = {}  # by account or runtime: why it may not be chosen
    prompt: str | None = None
    profile: str = OF_NEW_SESSIONS
    cli_model: str = ""  # the CLI's own model; empty: as the pool's member says
    effort: str = ""
    asks: CliOptions = CliOptions()  # of its CLI; a pool's accounts whose CLI cannot do it are passed over
    args: tuple[str, ...] = ()  # of its CLI, behind those of the pool's member
    title: str = ""
    parent: ParentRef | None = None
    session_id: str = ""  # empty: a new one
    lifecycle: str = "persistent"  # or oneshot
    options: SessionOptions = SessionOptions()  # beside those that fields of this record say
    starts: bool = True  # False: its process is started later, and the prompt waits until then


_NAMED = "it was named"
_UNDRIVEN = "it has no CLI that can be driven"


class _Choice(Record):
    """Where a session begins."""

    runtime: Runtime
    why: str = _NAMED
    member: PoolMember | None = None
    decision: Mapping[str, Any] | None = None
    model_name: str = UNKNOWN_MODEL


def choose_session(
    home: Home, catalogue: Catalogue, store: Store, wish: NewSession, folder: Path, guard: Guard
) -> tuple[LiveSession, str | None, str]:
    """Return a session that is not written yet, the decision as JSON where there was one, and why this account."""
    from oulipoly_engine.core.live.launch.words import live_words  # noqa: PLC0415 - only a new session needs it

    is_named = wish.model is not None or bool(wish.runtime or wish.account or wish.provider)
    if not is_named:
        wish = _add_default(home, wish)
    if wish.provider and wish.model is not None and wish.model not in home.files.model_names():
        wish = replace(wish, model=None, cli_model=wish.cli_model or wish.model)  # it is the CLI's own
    choice = _choose(home, catalogue, store, wish, guard)
    runtime = choice.runtime
    cli = catalogue.clis.get(runtime.id)
    words = live_words(runtime, choice.member, None if cli is None else cli.live)
    asks = wish.asks
    if not (wish.effort or words.effort or asks.thinking):
        asks = replace(asks, thinking=choose_thinking(cli, home.files.settings().thinking_level))
    asked, own_args = words_for(runtime, cli, asks)
    effort = wish.effort or asked.effort
    if wish.cli_model:
        ask_never_asked(home, store, runtime.id)
    kept = probes.read_all(store).get(runtime.id)
    known = () if kept is None else kept.probe.models
    check_model(runtime.id, known, runtime.custom_models, wish.cli_model, effort, runtime.kind)
    now = home.now()
    session = LiveSession(
        session_id=wish.session_id or str(uuid.uuid4()),
        workspace=str(folder),
        runtime_id=runtime.id,
        runtime_kind=runtime.kind,
        model_name=choice.model_name,
        created_at=now,
        updated_at=now,
        account=runtime.account or None,
        opening=replace(
            wish.options,
            model=wish.cli_model or words.model,
            effort=effort or words.effort,
            profile=wish.profile,
            args=(*words.args, *asked.args, *wish.args),
            own_args=own_args,
        ),
        title=wish.title,
        lifecycle=wish.lifecycle,
    )
    decision = choice.decision
    why = choice.why
    if not is_named and why == _NAMED:
        why = "it is the default"
    return session, None if decision is None else json.dumps(decision, ensure_ascii=False), why


def _add_default(home: Home, wish: NewSession) -> NewSession:
    """Return a wish that names nothing with what `default_model` and `default_provider` say, or the only model."""
    settings = home.files.settings()
    models = home.files.model_names()
    if settings.default_model or settings.default_provider:
        return replace(wish, model=settings.default_model, provider=settings.default_provider or "")
    if len(models) == 1:
        return replace(wish, model=models[0])
    known = f"there are {', '.join(models)}" if models else "there are none"
    raise UsageInvalid(
        f"name a model ({known}), or an account or a CLI; the settings `default_model` and `default_provider` say what "
        "is meant else"
    )


def _choose(home: Home, catalogue: Catalogue, store: Store, wish: NewSession, guard: Guard) -> _Choice:
    runtimes = _find_runtimes(catalogue, wish)
    if wish.model is not None:
        model = home.files.model(wish.model)
        if wish.account is not None:
            own = restrict_to_account(model, wish.account)
            if own is None:
                raise AccountUnusable(f"the pool of {model.name!r} has no account {wish.account!r}")
            model = own
        accounts = {runtime.account for runtime in runtimes}
        if wish.provider and accounts.isdisjoint(member.account for member in model.members):
            raise AccountUnusable(f"the pool of {model.name!r} has no account of {wish.provider!r}")
        return _choose_from_pool(home, catalogue, store, wish, model, guard)
    named = wish.runtime or wish.account or wish.provider
    if not runtimes:
        raise AccountUnusable(f"{named!r} has no CLI that can be driven: `agents runtime list` lists those that have")
    pooled = dict.fromkeys(runtime.account for runtime in runtimes if runtime.account and runtime.is_enabled)
    if len(runtimes) == 1 or not pooled:
        return _Choice(next((each for each in runtimes if each.id not in wish.refusals), runtimes[0]))
    pool = Model(UNKNOWN_MODEL, tuple(PoolMember(index, account) for index, account in enumerate(pooled)))
    return replace(_choose_from_pool(home, catalogue, store, wish, pool, guard), member=None)


def _find_runtimes(catalogue: Catalogue, wish: NewSession) -> tuple[Runtime, ...]:
    """Return those among which a session may begin. wish: names a runtime, an account, a provider, or a model alone."""
    if wish.provider:
        runtimes = catalogue.find_all(wish.provider)
        if not runtimes:
            raise AccountUnusable(
                f"there is no account, runtime or CLI {wish.provider[:80]!r} that can be driven: `agents runtime list` "
                "lists them"
            )
        return runtimes
    if wish.model is not None:
        return catalogue.runtimes
    name = wish.runtime or wish.account or ""
    runtime = catalogue.find(name) or catalogue.find_for_account(name)
    return () if runtime is None else (runtime,)


def _choose_from_pool(
    home: Home, catalogue: Catalogue, store: Store, wish: NewSession, model: Model, guard: Guard
) -> _Choice:
    """Return the member whose account's quota lasts, of those whose CLI can do what is asked of it."""
    files = home.files
    accounts, settings = files.accounts(), files.settings()
    pooled = {member.account for member in model.members}
    able = [runtime for runtime in _find_runtimes(catalogue, wish) if runtime.is_enabled and runtime.account in pooled]
    driven = {
        runtime.account: find_refusal(runtime, catalogue.clis.get(runtime.id), wish.asks)
        or wish.refusals.get(runtime.account, "")
        for runtime in able
    }
    if not driven:
        raise AccountUnusable(
            f"no account of the pool {model.name!r} has a CLI that can be driven: `agents runtime list` lists them"
        )
    if all(driven.values()):
        raise UsageInvalid("; ".join(dict.fromkeys(driven.values())))
    if wish.options.isolation == Level.SEALED:
        driven = _refuse_unkept(home, catalogue, able, driven)
    refusals = {account: driven.get(account, _UNDRIVEN) for account in pooled if driven.get(account, _UNDRIVEN)}
    fresh = home.wiring.freshness(store, accounts, files.scripts(), home.note, home.listeners)
    launcher = home.wiring.launcher(store, accounts, settings, fresh, note=home.note, is_shown=True)
    chosen = launcher.from_pool(model, guard, refusals, str(wish.folder.absolute()))
    why = str((chosen.decision or {}).get("reason") or "it is the one that can be driven")
    runtime = catalogue.find_for_account(chosen.account)
    if runtime is None:
        raise AccountUnusable(
            f"{wish.model!r} has no CLI that can be driven: `agents runtime list` lists those that have"
        )
    return _Choice(runtime, why, chosen.member, chosen.decision, chosen.model_name)


def _refuse_unkept(
    home: Home, catalogue: Catalogue, runtimes: Sequence[Runtime], refusals: Mapping[str, str]
) -> dict[str, str]:
    """Return the refusals with those of accounts whose login no sealed box can do without. Raises AccountUnusable."""
    from oulipoly_engine.service.agents.logins import (  # noqa: PLC0415 - 40 ms, few are in boxes
        explain_refusals,
        refuse_login,
    )

    known = {
        runtime.account: find_login_in_reach(home, catalogue, Level.SEALED, runtime.id)
        for runtime in runtimes
        if not refusals[runtime.account]
    }
    refusals = {**refusals, **{account: reason and refuse_login(reason) for account, reason in known.items()}}
    if all(refusals.values()):
        raise AccountUnusable(explain_refusals("the session", refusals, Level.SEALED))
    return refusals


def find_login_in_reach(home: Home, catalogue: Catalogue, level: str, runtime_id: str) -> str:
    """Return why the login of a runtime's account would be within reach of a CLI in a box; empty: it would not."""
    from oulipoly_engine.service.agents.logins import CliAccount, describe_login  # noqa: PLC0415 - as above

    runtime = catalogue.find(runtime_id)
    if runtime is None:
        return ""
    chosen = CliAccount(runtime, catalogue.clis.get(runtime.id), home.files.accounts().get(runtime.account))
    return describe_login(level, chosen, home.clock)


def ask_never_asked(home: Home, store: Store, runtime_id: str) -> None:
    """Ask a runtime for its models where it never was, so that the name of one can be checked."""
    if runtime_id not in probes.read_all(store):
        with suppress(RuntimeUnknown):  # whoever starts it says so
            Runtimes(home).refresh((runtime_id,))
