"""How extensions do: failures and what their imports take, of their files as they are."""

from __future__ import annotations

from oulipoly_engine.core.extensions.installed import Installed, Standing
from oulipoly_engine.records import replace
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.orm import Query
from oulipoly_engine.store.grants import grants
from oulipoly_engine.store.models.setup import ExtensionRow


@compile_query
def _select(name: Parameter, digest: Parameter) -> Query:
    row = ExtensionRow
    query = row.select(row.failures, row.last_failure, row.is_broken, row.load_ms)
    return query.where(row.name == name, row.digest == digest)


def read(store: Store, extension: Installed) -> Standing:
    """Return what is known of an extension, but for what the settings say."""
    with store.read():
        granted = grants.list_rights(store, extension.subject, extension.digest)
        rows = store.rows(_select(extension.name, extension.digest))
    if not rows:
        return Standing(granted)
    failures, last_failure, is_broken, load_ms = rows[0]
    return Standing(granted, False, failures, last_failure, bool(is_broken), load_ms)


def note_load(store: Store, extension: Installed, load_ms: float) -> None:
    """Note that an extension was imported and has begun."""
    with store.write():
        standing = read(store, extension)
        if standing.is_broken or standing.load_ms != load_ms:
            _write(store, extension, replace(standing, is_broken=False, load_ms=load_ms))


def note_failure(store: Store, extension: Installed, reason: str, *, is_broken: bool) -> int:
    """Note that an extension has failed and return how often it has by now. is_broken: it could not be imported."""
    with store.write():
        standing = read(store, extension)
        count = standing.failures + 1
        changed = replace(standing, failures=count, last_failure=reason, is_broken=is_broken or standing.is_broken)
        _write(store, extension, changed)
    return count


def forget(store: Store, name: str) -> None:
    """Forget how an extension did: it is switched on again."""
    row = ExtensionRow
    with store.write():
        store.run(row.delete().where(row.name == name))


def _write(store: Store, extension: Installed, standing: Standing) -> None:
    row = ExtensionRow
    with store.write():
        store.run(row.delete().where(row.name == extension.name))
        store.insert(
            row,
            name=extension.name,
            digest=extension.digest,
            failures=standing.failures,
            last_failure=standing.last_failure,
            is_broken=int(standing.is_broken),
            load_ms=standing.load_ms,
        )
