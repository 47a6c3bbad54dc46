"""The model and the effort of one live session: chosen by a person, refused by its CLI, and noted in the tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oulipoly_engine.clock import Clock
from oulipoly_engine.core.live.models import check_model
from oulipoly_engine.core.live.orders import SetModel
from oulipoly_engine.core.transcripts.turn_script import MODEL_CHANGE, THINKING_LEVEL_CHANGE
from oulipoly_engine.drivers.base import Driver
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.service.live.turn.session_record import SessionRecord
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import own_entries, probes


class Models:
    """The model in force, and what was chosen since."""

    def __init__(self, store: Store, record: SessionRecord, driver: Driver, clock: Clock) -> None:
        self._store = store
        self._record = record
        self._driver = driver
        self._clock = clock
        self.model = driver.opening.model  # as the CLI has told it last
        self._before: Mapping[str, Any] | None = None  # until the CLI refuses another one
        self._changes: tuple[str, ...] = ()  # the entries that tell of that one
        self._noted: list[tuple[str, str]] = []  # (kind, id) of those since the last turn

    @property
    def is_chosen(self) -> bool:
        """Return whether a person has chosen one that its CLI may refuse."""
        return self._before is not None

    def choose(self, order: SetModel) -> None:
        """Have later turns done by another model. Raises UsageInvalid."""
        model = order.model.strip()
        effort = order.effort.strip()
        self._check(model, effort)
        opening = self._record.session.opening
        self._driver.set_model(model, effort)
        self._before = {"model": opening.model, "effort": opening.effort}
        with self._store.write():  # the tree has it at once, or nobody has chosen it
            self._record.change_opening(model=model, effort=effort)
            self._note(model, effort, opening.effort)

    def _note(self, model: str, effort: str, effort_before: str) -> None:
        """Make entries of what is another one from here on, once there is something that they can follow on."""
        session = self._record.session
        chain_id = self._record.find_chain()
        owner = session.account or session.runtime_id
        changes = [(MODEL_CHANGE, f"{owner}/{model}")] if model != self.model else []
        changes += [(THINKING_LEVEL_CHANGE, effort)] if effort not in ("", effort_before) else []
        now = self._clock.now()
        if chain_id is None:
            changes = []
        noted = [(kind, own_entries.add(self._store, chain_id or "", kind, text, now)) for kind, text in changes]
        self._changes = tuple(entry_id for _, entry_id in noted)
        self._noted += noted

    def take_back(self) -> None:
        """Take back what was chosen last, which the CLI has refused."""
        if self._before is not None:
            self._record.change_opening(**self._before)  # else the next process would be started with it
        self._before = None
        chain_id = self._record.find_chain()
        if chain_id is not None and self._changes:
            own_entries.drop(self._store, chain_id, self._changes)
        self._noted = [each for each in self._noted if each[1] not in self._changes]
        self._changes = ()

    def drop_superseded(self) -> None:
        """Leave of several changes between two turns the last of each kind."""
        last = dict(self._noted).values()
        superseded = [entry_id for _, entry_id in self._noted if entry_id not in last]
        self._noted = []
        chain_id = self._record.find_chain() if superseded else None
        if chain_id is not None:
            with self._store.write():
                own_entries.drop(self._store, chain_id, superseded)

    def _check(self, model: str, effort: str) -> None:
        """Raise UsageInvalid for a model or an effort that the runtime, as it has told, does not have."""
        if not model:
            raise UsageInvalid("name a model: `agents runtime models RUNTIME` lists them")
        session = self._record.session
        kept = probes.read_all(self._store).get(session.runtime_id)
        known = () if kept is None else kept.probe.models
        custom = self._driver.opening.custom_models
        check_model(session.runtime_id, known, custom, model, effort, session.runtime_kind)
