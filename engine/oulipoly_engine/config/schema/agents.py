"""agents/*.md: what the keys between the `---` lines are. Pure."""

from __future__ import annotations

from pydantic import Field

from oulipoly_engine.config.schema.fields import Table


class AgentKeys(Table):
    """The keys of an agent file that we read; others are other tools' own."""

    description: str | None = Field(None, description="What the agent is for.")
    model: str | None = Field(None, description="The model that serves it.")
    output_format: str | None = Field(None, description="The form of its answers; recorded only.")
