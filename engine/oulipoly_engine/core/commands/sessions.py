"""Commands on sessions: recorded, live, and with a worktree of their own. Pure."""

from __future__ import annotations

from oulipoly_engine.core.commands.command import ACCOUNT, SESSION, TEXT, Argument, destroys, reads, writes
from oulipoly_engine.core.commands.needs import Need

_SESSIONS = Argument("sessions", is_rest=True)
_NOTE = Argument("text", is_rest=True, is_optional=True)
_FILE = Argument("file", is_rest=True)
_ACCOUNT = Argument("account", "accounts", is_optional=True)
_MESSAGE = Argument("message")

COMMANDS = (
    # find and read
    reads("session list", "list", "list the sessions of all accounts", scope="view"),
    reads(
        "session search",
        "search all",
        "search what was said in all sessions",
        synonyms=("full text search", "find message", "grep"),
        needs=(Need.RECORDS,),
    ),
    reads(
        "session show", "read session", "read a session", (SESSION,), ("show messages", "view session"), scope="view"
    ),
    reads(
        "session tree",
        "tree",
        "show all branches of a session, and where it goes on",
        (Argument("session", is_optional=True),),
        ("branches", "history tree", "messages"),
        scope="view",
    ),
    reads(
        "session compare",
        "compare branches",
        "show what two branches of a session share, and what each has alone",
        (SESSION, _MESSAGE, Argument("other", is_optional=True)),
        ("diff branches",),
        scope="view",
    ),
    writes(
        "session scan",
        "read",
        "read what the CLIs have written",
        synonyms=("scan", "reload", "ingest", "refresh sessions"),
        needs=(Need.ACCOUNTS,),
    ),
    reads("session trace", "trace", "show what the turns of a session have done", (SESSION,), scope="view"),
    reads(
        "session artifacts",
        "artifacts",
        "show what the runs of a session have returned, received, sent and kept",
        (SESSION,),
        ("returned files", "outputs", "attachments", "results"),
        scope="view",
    ),
    reads(
        "session log", "log", "print what the CLI of a session with a worktree has written", (SESSION,), scope="view"
    ),
    reads("session locate", "locate", "print where a session's transcript lies", (SESSION,)),
    # talk
    writes(
        "chat",
        "chat",
        "talk with a model's CLI: one answer for a prompt, else line by line",
        (Argument("prompt", is_rest=True, is_optional=True),),
        ("ask", "conversation", "prompt", "interactive"),
    ),
    writes(
        "session new",
        "new live session",
        "begin a session with a model's CLI, through its own protocol",
        (Argument("model", "models", is_optional=True), _ACCOUNT),
        ("start live session", "new session", "model picker", "runtimes", "chat", "structured session"),
        scope="operate",
    ),
    writes(
        "session work",
        "new work session",
        "begin a session that works by itself, on a branch of its own",
        (Argument("folder", is_optional=True),),
        ("start agent", "new task", "worktree session", "background agent"),
        scope="operate",
    ),
    writes(
        "session send",
        "write",
        "send a session a message",
        (SESSION, TEXT),
        ("type", "compose", "reply", "talk"),
        scope="operate",
    ),
    reads(
        "session status",
        "status",
        "tell whether a session is busy or asks something, and what waits",
        (SESSION,),
        scope="view",
    ),
    reads(
        "session follow",
        "open live session",
        "follow what happens in a live session, as it happens",
        (SESSION,),
        ("attach", "follow"),
        scope="view",
    ),
    writes("session steer", "steer", "give the running turn a message", (SESSION, TEXT), scope="operate"),
    writes(
        "session interrupt",
        "interrupt",
        "interrupt the running turn",
        (SESSION,),
        ("stop", "cancel turn", "abort turn"),
        scope="operate",
        needs=(Need.TURN,),
    ),
    writes(
        "session queue",
        "queue",
        "list, edit, move and take back the messages that wait for the end of the turn",
        (SESSION,),
        ("queued messages", "pending messages", "take back"),
        scope="operate",
        needs=(Need.MESSAGE,),
    ),
    reads(
        "session queue show",
        "show queue",
        "list the messages that wait for the end of the turn",
        (SESSION,),
        scope="view",
    ),
    writes(
        "session fork",
        "fork",
        "begin another session with the past of this one, which stays as it is",
        (SESSION, Argument("message", is_optional=True)),
        ("branch session", "duplicate", "clone"),
        scope="operate",
    ),
    writes(
        "session branch",
        "branch",
        "go on behind an earlier message of a session; all that was said stays in its tree",
        (SESSION, _MESSAGE),
        ("rewind", "go back", "checkpoint", "undo compaction"),
        scope="operate",
    ),
    writes(
        "session clear",
        "begin anew",
        "begin anew in a session; all that was said stays in its tree",
        (SESSION,),
        ("reset", "start over"),
        scope="operate",
    ),
    writes(
        "session label",
        "label",
        "give a message of a session a label, to find it in the tree",
        (SESSION, _MESSAGE, _NOTE),
        ("mark", "bookmark message", "tag"),
        scope="operate",
    ),
    writes(
        "session compact",
        "compact",
        "have the session's past shortened, by its CLI or else by a model's summary",
        (SESSION,),
        ("summarize", "free context"),
        scope="operate",
        needs=(Need.NO_TURN,),
    ),
    writes(
        "session review",
        "review",
        "have the CLI review what is not committed, or a branch",
        (SESSION,),
        ("code review",),
        scope="operate",
        needs=(Need.REVIEW, Need.NO_TURN),
    ),
    writes(
        "session model",
        "choose model",
        "have later turns done by another model",
        (SESSION, Argument("name")),
        ("switch model", "model picker"),
        scope="operate",
        needs=(Need.SET_MODEL,),
    ),
    writes(
        "session provider",
        "choose account",
        "tell the account that a session is on, or go on with its past on another account or runtime",
        (SESSION, Argument("name", "runtimes", is_optional=True)),
        ("switch account", "provider", "runtime"),
        scope="operate",
    ),
    reads(
        "session tools",
        "tools",
        "tell what the session's CLI can do here, and what it may do without asking",
        (SESSION,),
        ("capabilities", "abilities", "permissions"),
        scope="view",
    ),
    reads("session copy", "copy answer", "copy the last answer", (SESSION,), ("yank", "clipboard")),
    destroys(
        "session close",
        "end process",
        "end the session's CLI; a message starts it again",
        (SESSION,),
        ("close", "kill", "stop process"),
        undo="session send",
        needs=(Need.PROCESS,),
    ),
    destroys(
        "session cancel", "cancel", "end the session's turn and its process by force", (SESSION,), scope="operate"
    ),
    writes("session change", "change", "change how pages treat a session", (SESSION,), scope="operate"),
    # go on and keep in order
    writes(
        "session resume",
        "resume",
        "go on with a session in a terminal",
        (SESSION, _ACCOUNT),
        ("continue", "reopen", "go on"),
    ),
    writes(
        "session elsewhere",
        "resume on another account",
        "go on with a session on another account: it is moved there first",
        (SESSION, ACCOUNT),
        ("elsewhere", "switch account"),
    ),
    writes(
        "session move",
        "move",
        "move a session to another account",
        (SESSION, ACCOUNT),
        ("transfer", "migrate", "hand over"),
    ),
    writes(
        "session name",
        "rename",
        "give a session a name",
        (SESSION, _NOTE),
        ("name", "title", "name session"),
        scope="operate",
    ),
    writes(
        "session note", "edit note", "keep a note with a session", (SESSION, _NOTE), ("comment", "annotate", "memo")
    ),
    writes(
        "session pin", "pin", "keep a session at the top of the list", (_SESSIONS,), ("favourite", "star", "bookmark")
    ),
    writes("session unpin", "unpin", "take a session's pin away", (_SESSIONS,), ("unstar", "remove bookmark")),
    # keep and carry
    writes(
        "session export",
        "export",
        "write a session as JSON lines, Markdown or HTML",
        (SESSION, Argument("format", "export formats"), _FILE),
        ("save as", "markdown", "html", "share"),
    ),
    destroys(
        "session delete",
        "delete",
        "delete a session: its transcripts go into the archive, and no list has it",
        (SESSION,),
        ("remove session", "trash"),
        undo="session undelete",
    ),
    writes(
        "session undelete",
        "undelete",
        "put a deleted session back, with its transcripts",
        (SESSION,),
        ("recover deleted", "untrash"),
    ),
    writes(
        "session import",
        "import session file",
        "take in a session file that another tool has written",
        (Argument("file"),),
        ("pi", "oxi", "read session file"),
    ),
    writes(
        "session archive",
        "archive",
        "keep copies before the CLIs delete transcripts",
        (_SESSIONS,),
        ("back up", "save copy", "preserve"),
        needs=(Need.RECORDS,),
    ),
    writes(
        "session archive all",
        "archive all",
        "keep copies of every account's sessions",
        synonyms=("back up everything",),
    ),
    writes(
        "session restore",
        "restore",
        "restore the archive's copy of a session where its CLI had it",
        (SESSION,),
        ("put back", "recover", "undelete"),
    ),
    writes(
        "session bundle",
        "bundle",
        "pack a session into a file, for another machine",
        (SESSION, _FILE),
        ("pack", "transfer to another machine"),
    ),
    writes(
        "session unbundle",
        "unbundle",
        "unpack such a file, so that the session resumes here",
        (Argument("file"), Argument("folder", is_optional=True)),
        ("unpack", "receive"),
    ),
    # edit
    destroys(
        "session import-replace",
        "import",
        "replace a session by its edited export",
        (SESSION, _FILE),
        ("replace turns", "load file"),
        undo="session undo",
    ),
    destroys(
        "session edit",
        "edit",
        "change a session's turns in your editor, after a look at the difference",
        (SESSION,),
        ("rewrite history", "edit turns", "open in editor"),
        undo="session undo",
    ),
    destroys(
        "session undo",
        "undo replacement",
        "put a replaced session back as it was",
        (SESSION,),
        ("undo import", "undo edit"),
    ),
    # for scripts
    writes("session pause-handshake", "take lease", "take a session's lease: print a token", (SESSION,)),
    writes("session resume-handshake", "give lease back", "give a session's lease back", (SESSION,)),
    reads("session schema-probe", "probe", "describe the state file as JSON"),
)
