"""Summaries of what a person leaves by going back, which the session goes on with: a model writes them.

It is asked before anything is changed, and its summary is an entry in the transaction that moves the leaf: whoever
fails or is killed has changed nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_engine.core.sessions.compaction import BRANCH_TASK, Plan
from oulipoly_engine.errors import RequestRefused, RunnerError
from oulipoly_engine.facade.live.compaction import LiveCompactions
from oulipoly_engine.facade.sessions.branches import SessionBranches, SessionTree
from oulipoly_engine.store.live import live_sessions
from oulipoly_engine.store.sessions import chains

if TYPE_CHECKING:
    from oulipoly_engine.core.accounts.accounts import Model


class BranchSummaries(LiveCompactions):
    """Ways to go back in a session, and to take along what was learned."""

    def plan_branch(self, text: str, entry: str) -> tuple[SessionTree, Plan, str]:
        """Return a session's tree, what a summary would be of, and the model that is asked.

        Raises RequestRefused where there is nothing to sum up, or nobody to do it, and as `SessionBranches.branch`.
        """
        tree, _, plan = SessionBranches(self._home).read_left(text, entry)
        if not plan.hidden:
            raise RequestRefused("nothing is left there that could be summed up")
        return tree, plan, self._find_model(tree.chain_id).name

    def branch(self, text: str, entry: str, instructions: str = "") -> tuple[SessionTree, str, str]:
        """Go back as `SessionBranches.branch`, with a summary of what is left; return that too, empty: nothing is.

        instructions: the user's own to the model. Raises RequestRefused where the model fails: nothing is changed.
        """
        summaries = [""]

        def sum_up(tree: SessionTree, plan: Plan) -> str:
            try:
                summaries.append(self._summarise(plan, self._find_model(tree.chain_id), instructions, BRANCH_TASK))
            except RequestRefused as error:
                raise RequestRefused(f"nothing was changed: {error.message}") from error
            return summaries[-1]

        return *SessionBranches(self._home).branch(text, entry, sum_up), summaries[-1]

    def explain_no_summary(self, chain_id: str) -> str:
        """Say why no model can sum up what a session's branch has; empty: one can be asked."""
        try:
            self._find_model(chain_id)
        except RunnerError as error:
            return error.message
        return ""

    def _find_model(self, chain_id: str) -> Model:
        with self._home.lend_store_to_read() as store:
            live = live_sessions.find(store, chain_id)
            name = live[0].model_name if live else chains.latest_model(store, chain_id)
        return self._summary_model(name or "")
