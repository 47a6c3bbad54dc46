"""The table of rows: a name, a line for `--list`, and the function that measures it.

A new row is a function `(World) -> Result` and one entry here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from report import Result
from world import World

from rows import (
    agents,
    app,
    artifacts,
    boxes,
    choosing,
    crowd,
    drawing,
    extensions,
    finding,
    following,
    growth,
    images,
    kinds,
    ledger,
    live,
    live_app,
    one_shot,
    outbox,
    panes,
    passing,
    quota,
    screens,
    serve,
    sessions,
    settings,
    start_up,
    terminals,
    tree,
)


class Row(NamedTuple):
    """One entry."""

    name: str
    summary: str
    measure: Callable[[World], Result]


ROWS = (
    Row("start-version", "`--version`", start_up.version),
    Row("start-help", "`--help`", start_up.help_text),
    Row("start-usage-error", "an unknown option", start_up.usage_error),
    Row("completion-word", "a word completed in a shell", start_up.completion_word),
    Row("start-schema-probe", "`session schema-probe` on a state file", start_up.schema_probe),
    Row("start-trace", "`trace` of a recorded invocation", start_up.trace),
    Row("start-to-spawn", "a one-shot until its CLI runs", start_up.to_spawn),
    Row("start-app-frame", "the app until its first frame", app.first_frame),
    Row("start-app-data", "the app until its pools are on the screen", app.with_data),
    Row("one-shot-true", "what a whole one-shot adds to `true`", one_shot.added_to_true),
    Row("cat-pipe", "100 MB of `cat` through us into a pipe", passing.into_pipe),
    Row("cat-file", "100 MB of `cat` through us into a file", passing.into_file),
    Row("cat-memory", "peak memory with 200 MB against 10 MB", passing.memory),
    Row("live-enter", "a live session: from `send` to the CLI's stdin", live.enter),
    Row("live-delta", "from a word of the CLI to a client", live.delta),
    Row("live-screen", "from a word of the CLI to the app's terminal", live_app.screen),
    Row("live-second", "to the second of two clients", live.second_client),
    Row("live-flood", "50,000 words in 10 s: how far a client is behind", live.flood),
    Row("live-turn", "what a host adds to a turn of the demo's codex", live.turn_added),
    Row("live-attach", "the app until it shows a session of 10,000 items", live_app.attach),
    Row("live-flood-app", "the app's share of a core in such a flood", live_app.flood),
    Row("live-idle", "what an idle host holds, and takes of a core", live.idle_memory),
    Row("artifact-put", "1 GB into the artifact store", artifacts.put),
    Row("artifact-get", "1 GB out of it, through a pipe", artifacts.get),
    Row("artifact-memory", "peak memory of both", artifacts.memory),
    Row("spawn-levels", "what a box adds to a start, at each level", boxes.spawn_levels),
    Row("agent-build", "the build of an agent of 20 files", agents.build),
    Row("image-push", "1 GB into the registry that is built in", images.push),
    Row("image-pull", "1 GB out of it", images.pull),
    Row("agent-start", "a start of an agent until it is ready", agents.start),
    Row("agent-ps", "`agent ps` of 50 agents", agents.listed),
    Row("agent-ps-ready", "the same of 50 that are up on an account", agents.listed_ready),
    Row("agents-20", "20 agents at once: each change of each is in its history", agents.many),
    Row("crowd", "200 one-shots from 8 processes on one state file", crowd.one_state_file),
    Row("choose-100", "choosing among 100 accounts with 4 windows each", choosing.in_memory),
    Row("choose-store-50", "choosing among 50 accounts, everything read from the store", choosing.from_store),
    Row("outbox", "an event without a reader, and with one", outbox.published),
    Row("refresh-20", "reading 20 accounts whose scripts take 1 s each", quota.refresh),
    Row("chart-1m", "a chart over a history of a million readings", quota.chart),
    Row("screen-feed", "output into an emulated screen, and its frames", screens.feed),
    Row("screen-past", "10,000 rows of scrollback: memory, reflow, search, dump", screens.past),
    Row("search-1m", "full-text search over a million turns", finding.search),
    Row(
        "app-20-extensions", "the app until its first frame with twenty extensions, and without", extensions.with_twenty
    ),
    Row("settings", "settings of five layers as a run reads them first", settings.resolved),
    Row("list-10k", "`session list` of 10,000 sessions, in process", finding.listing),
    Row("list-10k-kinds", "the same of every kind: recorded, in terminals, live, work", kinds.listing),
    Row("tree-10k", "the app's read model of 10,000 sessions", finding.list_sessions),
    Row("branches-open", "`session tree` and `show` of 100,000 entries until the first screen", tree.opened),
    Row("branches-screen", "the first screen of a tree of 100,000 entries in the app", tree.screen),
    Row("branches-keys", "filters, folding and search in it", tree.keys),
    Row("branches-switch", "to go on behind another message of 100,000", tree.branch),
    Row("branches-append", "an entry behind 100,000, beside the sync", tree.append),
    Row("turn-snapshot", "a turn's files: a snapshot of 20,000", tree.snapshot),
    Row("serve-post", "a message by REST, 50 sessions", serve.post_message),
    Row("serve-idle", "a server with 100 listeners to whom nothing happens", serve.listeners),
    Row("serve-replay", "10,000 events of a session told again", serve.replay),
    Row("ledger-exact", "the ledger's totals against the truth, cold and grown by cuts", ledger.exact),
    Row("ledger-cold", "1 GB of transcripts into the ledger, beside ccusage", ledger.cold),
    Row("ledger-shared", "the same in two processes", ledger.shared),
    Row("ledger-memory", "peak memory of reading 1 GB", ledger.memory),
    Row("ledger-first", "the first right 5-hour and 7-day sums of 1 GB", ledger.first),
    Row("ledger-warm", "a refresh of 10,000 transcripts, nothing new", ledger.warm),
    Row("follow-stored", "an append beside 10,000 transcripts until it is stored", following.stored),
    Row("follow-idle", "a follower of 10,000 transcripts to which nothing happens", following.idle),
    Row("terminal-cat", "10 MB of `cat` in a terminal against tmux", terminals.cat_plain),
    Row("terminal-colour", "10 MB of coloured `cat` in a terminal against tmux", terminals.cat_colour),
    Row("terminal-echo", "from a key to its picture", terminals.echo_quiet),
    Row("terminal-echo-flood", "from a key to its picture beside a flooding terminal", terminals.echo_flood),
    Row("terminal-idle", "an idle terminal's cost", terminals.idle),
    Row("pane-cat", "10 MB of `cat` in a pane against tmux", panes.cat_plain),
    Row("pane-colour", "10 MB of coloured `cat` in a pane against tmux", panes.cat_colour),
    Row("pane-key", "from a key to the real terminal, through the pane", panes.key_quiet),
    Row("pane-key-flood", "the same beside a flooding pane of the same app", panes.key_flood),
    Row("pane-ink", "a picture drawn anew 30 times a second", panes.ink),
    Row("pane-idle", "an idle pane's cost", panes.idle),
    Row("pane-busy", "the app's own keys with ten flooding terminals", panes.busy),
    Row("app-keys", "a key in the app until the screen, 10,000 sessions and 100,000 turns", sessions.key_to_screen),
    Row("app-keys-busy", "the same with ten flooding terminals", sessions.key_to_screen_busy),
    Row("app-chart", "drawing a burn chart anew", drawing.chart),
    Row("app-elsewhere", "another process's reading until the app shows it", sessions.reading_elsewhere),
    Row("app-idle", "the app to which nothing happens, 10,000 sessions and 100,000 turns", sessions.idle),
    Row("app-memory", "the app's memory with 10,000 sessions and 100,000 turns", sessions.memory),
    Row("app-growth-keys", "the app's memory while it is used by keys", growth.keys),
    Row("app-growth-shots", "the same with a stream of one-shots", growth.keys_and_shots),
    Row("app-append", "an append to the transcript shown until the screen", sessions.append_to_screen),
)
