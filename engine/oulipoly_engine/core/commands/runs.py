"""Commands that run a CLI, and on its runs. Pure."""

from __future__ import annotations

from oulipoly_engine.core.commands.command import ACCOUNT, MODEL, SESSION, TEXT, Argument, destroys, reads, writes
from oulipoly_engine.core.commands.needs import Need

_RUN = Argument("run", choices="runs")
_JOB = Argument("job")
_AGENT = Argument("agent name")  # of a running one
_OTHER = Argument("other agent")
_NOTE = Argument("note")

COMMANDS = (
    writes("prompt", "send prompt", "send one prompt to a model", (MODEL, TEXT), ("ask", "one-shot", "run")),
    writes(
        "prompt account",
        "send prompt to account",
        "send one prompt to a model on this account of its pool",
        (ACCOUNT, MODEL, TEXT),
        ("ask account", "run on account"),
    ),
    writes(
        "repl",
        "start interactive session",
        "talk to a model's CLI in a terminal, or go on with a session",
        (MODEL, Argument("account", "accounts", is_optional=True)),
        ("repl", "chat", "new terminal", "new tab"),
        needs=(Need.ACCOUNTS,),
    ),
    writes(
        "resume",
        "resume with prompt",
        "send a prompt to a session, without a screen",
        (SESSION, TEXT),
        needs=(Need.ACCOUNTS,),
    ),
    reads("trace", "trace", "show a run and everything it started", (_RUN,), ("sub-agents", "call tree", "spawned")),
    reads("wait", "wait", "wait for a run's end and print its result", (_RUN,)),
    destroys(
        "run stop",
        "stop run",
        "stop a run that a prompt has started",
        (_RUN,),
        ("cancel prompt", "abort run", "interrupt"),
        needs=(Need.RUN,),
    ),
    destroys(
        "run end",
        "kill run",
        "end a CLI that runs on although what ran it was killed",
        (_RUN,),
        ("kill orphan", "stop run"),
    ),
    reads("agent list", "agents", "list what sessions can be begun with", scope="view"),
    writes(
        "agent run",
        "run agent",
        "run an agent from an Agentfile, an agent definition or an image",
        (Argument("source"),),
        ("persona", "agentfile", "image"),
    ),
    reads(
        "agent ps",
        "running agents",
        "list the agents that run: status, isolation, what they work on",
        synonyms=("list agents",),
        scope="view",
    ),
    writes(
        "agent start",
        "start agent",
        "start a stopped or failed agent again on its tree",
        (_AGENT,),
        ("restart agent",),
        scope="operate",
        is_confirmed=True,
    ),
    destroys(
        "agent stop",
        "stop agent",
        "stop an agent: its sessions' processes and its tools end",
        (_AGENT,),
        ("end agent", "kill agent"),
        undo="agent start",
        scope="operate",
    ),
    destroys("agent rm", "remove agent", "stop an agent and remove its tree", (_AGENT,), ("delete agent",)),
    reads(
        "agent logs",
        "agent log",
        "show the last lines of an agent's log",
        (_AGENT,),
        ("what an agent logged",),
        scope="view",
    ),
    reads(
        "agent inspect",
        "inspect agent",
        "show all that is known of an agent, and what its isolation holds",
        (_AGENT,),
        ("agent details",),
        scope="view",
    ),
    writes("agent exec", "run tool", "run a tool that an agent declares", (_AGENT, Argument("tool"), TEXT), ("exec",)),
    writes(
        "agent prompt",
        "ask agent",
        "send a prompt to an agent and print the answer",
        (_AGENT, TEXT),
        ("message agent",),
        scope="operate",
        is_confirmed=True,
    ),
    reads("agent sessions", "agent sessions", "list the sessions of an agent, the newest first", (_AGENT,)),
    writes("agent link", "link agents", "let an agent prompt another one", (_AGENT, _OTHER)),
    destroys("agent unlink", "unlink agents", "let an agent prompt another one no more", (_AGENT, _OTHER)),
    reads("agent links", "agent links", "list which agents may prompt which"),
    reads("note ls", "notes", "list the notes that an agent keeps", (_AGENT,)),
    reads("note get", "read note", "print a note of an agent", (_AGENT, _NOTE)),
    writes("note set", "set note", "keep a text for an agent", (_AGENT, _NOTE, TEXT)),
    destroys("note rm", "remove note", "remove a note of an agent", (_AGENT, _NOTE), ("delete note",)),
    writes("note pin", "pin note", "have a note be part of the context of an agent's next sessions", (_AGENT, _NOTE)),
    writes("note unpin", "unpin note", "have a note be part of an agent's context no more", (_AGENT, _NOTE)),
    writes(
        "token create", "create token", "create a token that gives what an agent may do", (_AGENT,), ("make token",)
    ),
    reads("token ls", "tokens", "list the tokens that give what agents may do; without their text"),
    destroys("token revoke", "revoke token", "make a token of an agent worthless, at once", (Argument("token"),)),
    writes("agent chat", "talk to agent", "talk to an agent line by line", (_AGENT,), ("agent session",)),
    writes(
        "job run",
        "run job",
        "run a tool of an agent in the background",
        (_AGENT, Argument("tool"), TEXT),
        ("background tool",),
    ),
    reads("job ls", "jobs", "list the jobs of agents, the newest first", synonyms=("tools that ran",), scope="view"),
    reads("job inspect", "inspect job", "show all that is known of a job", (_JOB,)),
    reads("job await", "await job", "wait for the end of a job and print what it has written", (_JOB,)),
    destroys("job cancel", "cancel job", "end a job that waits or runs", (_JOB,), ("end job",)),
)
