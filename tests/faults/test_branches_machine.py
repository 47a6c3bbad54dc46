"""Appending, going back, labelling, forking, deleting and crashing in any order: the tree is as a naive model says."""

import os
from datetime import UTC, datetime, timedelta
from functools import partial

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.sessions.tree import build
from oulipoly_engine.core.sessions.tree_lines import path_to
from oulipoly_engine.core.transcripts.session_file.decode import decode
from oulipoly_engine.core.transcripts.turn_script import NO_PARENT, BodyChunk, EntryLine, encode_body
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.facade.sessions.values import ExportOptions
from oulipoly_engine.store.sessions import chains, imported, labels, leaves
from oulipoly_engine.store.transcripts import entries

AT = datetime(2026, 1, 1, tzinfo=UTC)
NUMBERS = st.integers(0, 1000)


class Talk:
    """What is known of one session: entries are (parent, whether it is a compaction), by their ids in order."""

    def __init__(self, session_id, said=None, leaf=None):
        self.session_id, self.said, self.leaf = session_id, dict(said or {}), leaf
        self.labels, self.is_deleted = {}, False

    def path(self, entry_id):
        """Return the ids from the beginning to an entry."""
        return [] if entry_id is None else [*self.path(self.said[entry_id][0]), entry_id]

    def context(self):
        """Return the ids that a turn would send."""
        path = self.path(self.leaf)
        last = max((place for place, entry_id in enumerate(path) if self.said[entry_id][1]), default=0)
        return path[last:]

    def lines(self):
        """Return the ids depth first, each with its depth and the lines before it."""
        return [*self._below(None, 0, "")]

    def _below(self, above, depth, rest):
        children = [entry_id for entry_id, (parent, _) in self.said.items() if parent == above]
        for child in children:
            own = of_rest = rest
            if len(children) > 1 and above is not None:
                is_last = child == children[-1]
                own, of_rest = rest + ("└─ " if is_last else "├─ "), rest + ("   " if is_last else "│  ")
            yield child, depth, own
            yield from self._below(child, depth + 1, of_rest)


class Machine(RuleBasedStateMachine):
    """Each rule does a thing, or does it in a process that ends before it commits: then nothing has happened."""

    runs = 0

    @initialize()
    def begin(self):
        Machine.runs += 1
        self.engine, self.number, self.talks = Engine(), 0, []
        self.add_session({}, None)

    def teardown(self):
        if hasattr(self, "engine"):
            self.engine.close()

    def do(self, work, *, crashes):
        """Write to the state file. Returns whether it is there to stay."""
        if not crashes:
            with self.engine.sessions.branches._home.lend_store() as store, store.write():
                work(store)
            return True
        child = os.fork()
        if not child:
            try:
                with Engine().sessions.branches._home.lend_store() as store, store.write():
                    work(store)
                    os._exit(9)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
        return False

    def add_session(self, said, leaf):
        talk = Talk(f"5e55{Machine.runs:04}-0000-4000-8000-{len(self.talks):012}", said, leaf)
        self.talks.append(talk)
        self.said_in(talk, "user" if leaf is None else "assistant", False)
        return talk

    def said_in(self, talk, role, is_compaction, *, crashes=False):
        self.number += 1
        entry_id = f"e{Machine.runs:04}-{self.number:04}"
        written = [(entry_id, talk.leaf, is_compaction)]
        if len(talk.said) == len(talk.path(talk.leaf)) and not crashes:  # of a fork what it has copied, too
            written = [(known, *talk.said[known]) for known in talk.said] + written
        lines = [
            EntryLine(
                talk.session_id,
                known,
                to_text(AT + timedelta(seconds=int(known[-4:]))),
                role,
                parent_entry_id=NO_PARENT if parent is None else parent,
                is_compaction_boundary=compacts,
                body=encode_body((BodyChunk("text", f"words {known}"),)),
            )
            for known, parent, compacts in written
        ]

        def write(store):
            entries.insert_new(store, "a", lines, AT)
            imported.adopt(store, "a", [talk.session_id])
            leaves.move_to(store, chains.chain_of(store, "a", talk.session_id), entry_id)

        if self.do(write, crashes=crashes):
            talk.said[entry_id] = (talk.leaf, is_compaction)
            talk.leaf = entry_id

    def pick(self, number):
        talk = self.talks[number % len(self.talks)]
        return talk, [*talk.said][number % len(talk.said)]

    @rule(number=NUMBERS, role=st.sampled_from(["user", "assistant"]), compacts=st.booleans(), crashes=st.booleans())
    def append(self, number, role, compacts, crashes):
        self.said_in(self.pick(number)[0], role, compacts and crashes is False and number % 3 == 0, crashes=crashes)

    @rule(number=NUMBERS)
    def branch(self, number):
        talk, entry_id = self.pick(number)
        tree, leaf = self.engine.sessions.branches.branch(talk.session_id, entry_id)

        assert (talk.leaf, entry_id) == (tree.leaf, leaf)
        talk.leaf = entry_id

    @rule(number=NUMBERS)
    def clear(self, number):
        talk, _ = self.pick(number)
        self.engine.sessions.branches.branch(talk.session_id, "")
        talk.leaf = None

    @rule(number=NUMBERS, crashes=st.booleans())
    def move_leaf(self, number, crashes):
        talk, entry_id = self.pick(number)
        work = lambda store: leaves.move_to(store, chains.chain_of(store, "a", talk.session_id), entry_id)  # noqa: E731
        if self.do(work, crashes=crashes):
            talk.leaf = entry_id

    @rule(number=NUMBERS, label=st.sampled_from(["", "good", "bad"]), crashes=st.booleans())
    def label(self, number, label, crashes):
        talk, entry_id = self.pick(number)

        def put(store):
            labels.put(store, chains.chain_of(store, "a", talk.session_id), entry_id, label, AT)

        if self.do(put, crashes=crashes):
            talk.labels[entry_id] = label

    @rule(number=NUMBERS)
    def fork(self, number):
        talk, entry_id = self.pick(number)
        if len(self.talks) < 4:
            self.add_session({known: talk.said[known] for known in talk.path(entry_id)}, entry_id)

    @rule(number=NUMBERS, crashes=st.booleans())
    def delete_or_undelete(self, number, crashes):
        talk, _ = self.pick(number)
        at = None if talk.is_deleted else to_text(AT)
        note = partial(self.note_deleted, talk.session_id, at)
        if self.do(note, crashes=crashes):
            talk.is_deleted = not talk.is_deleted

    @staticmethod
    def note_deleted(session_id, at, store):
        chains.note_deleted(store, chains.chain_of(store, "a", session_id), at)

    @invariant()
    def the_trees_are_as_the_model_says(self):
        catalogue = self.engine.sessions.catalogue
        listed = {row.session.active.session_id for row in catalogue.board().rows}
        for talk in getattr(self, "talks", ()):
            tree = self.engine.sessions.branches.tree(talk.session_id, "all")
            exported = self.engine.sessions.files.blocks(talk.session_id, ExportOptions("session-v3"))
            with exported as blocks:
                file = decode(b"".join(blocks).splitlines(keepends=True))
            context = [entry.text for entry in build(file.entries).context()]

            assert talk.lines() == [
                (entry.entry_id, depth, entry.prefix)
                for entry, depth in zip(tree.entries, tree.layout.depths, strict=True)
            ]
            assert talk.leaf == tree.leaf
            assert talk.path(talk.leaf) == path_to(tree.leaf, tree.parents)
            assert [f"words {entry_id}" for entry_id in talk.context()] == context
            assert [talk.labels.get(entry.entry_id, "") for entry in tree.entries] == [
                entry.label for entry in tree.entries
            ]
            assert talk.is_deleted != (talk.session_id in listed)


def test_a_tree_is_what_a_naive_model_says_whatever_happens(home):
    home.mkdir(exist_ok=True)
    run_state_machine_as_test(Machine, settings=settings(max_examples=5, stateful_step_count=20))
