"""Lines of live sessions that begin with a slash, judged and done for faces that show text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.core.commands.needs import Need
from oulipoly_engine.core.commands.slash import lines as slash_lines
from oulipoly_engine.core.commands.slash.lines import CliCommand, Known, Line, OfExtension, Order, Prompt, list_offers
from oulipoly_engine.core.commands.slash.table import Slash
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.permissions import describe_policy
from oulipoly_engine.core.sessions.tree_lines import format_line, short_id
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.errors import SessionNotFound, UsageInvalid
from oulipoly_engine.facade.live.beginning import NewSession
from oulipoly_engine.facade.live.standing import describe_lines
from oulipoly_engine.facade.sessions.branches import compare_lines, describe_branch
from oulipoly_engine.paths import expand_user
from oulipoly_engine.records import Record
from oulipoly_engine.store.live import live_events

if TYPE_CHECKING:
    from oulipoly_engine.core.commands.command import Argument
    from oulipoly_engine.core.live.sessions import LiveSession
    from oulipoly_engine.facade.base.home import Home
    from oulipoly_engine.facade.live.runtimes import Runtimes
    from oulipoly_engine.facade.live.sessions import Begun, LiveSessions
    from oulipoly_engine.facade.sessions.sessions import Sessions

_TELL_COMMANDS = ("session_opened", "commands_changed")  # types of events
_PAGE = 1000
_FORMATS = ("markdown", "html", "canonical-jsonl")
_OF_TREE = ("message", "other", "turn")  # arguments that are entries of the session
_MOST_SESSIONS = 10_000  # the one used last is first


class Outcome(Record):
    """What a command has done."""

    lines: tuple[str, ...]  # for people
    session_id: str = ""  # of another session, which it goes on in
    turn_id: str = ""  # that has begun


class _Asked(Record):
    """A command in a session."""

    live: LiveSessions  # in whose name
    session: LiveSession
    order: Order

    @property
    def word(self) -> str:
        """Return the first word behind it; empty: there is none."""
        return self.order.words[0] if self.order.words else ""

    def do(self, order: orders.Order, done: str, *, starts: bool = True) -> Outcome:
        """Have the session do something."""
        answer = self.live.order(self.session.session_id, order, starts=starts)
        return Outcome((str(answer.get("message") or done),), turn_id=str(answer.get("turn_id") or ""))

    def refuse_short(self) -> UsageInvalid:
        """Return the error of a command that lacks a word."""
        return UsageInvalid(f"write {self.order.slash.usage}")


class SlashCommands:
    """The slash commands of one user. Every method blocks."""

    def __init__(self, home: Home, live: LiveSessions, runtimes: Runtimes, sessions: Sessions) -> None:
        self._home = home
        self._live = live
        self._runtimes = runtimes
        self._sessions = sessions

    def read_known(self, identity: str) -> Known:
        """Return what a session knows beside our own commands."""
        session = self._live.find(identity)
        session_id = session.session_id
        commands: tuple[tuple[str, str], ...] = ()
        after = 0
        with self._home.lend_store_to_read() as store:
            while True:
                events, after = live_events.of_types(store, session_id, after, _TELL_COMMANDS, _PAGE)
                for event in (numbered.event for numbered in events):
                    if isinstance(event, ev.SessionOpened | ev.CommandsChanged) and event.commands:
                        commands = event.commands
                if not after:
                    break
        own = self.read_own(Path(session.workspace))
        return own._replace(cli=tuple(CliCommand(*command) for command in commands))

    def read_own(self, workspace: Path | None = None) -> Known:
        """Return the prompt files and the commands of extensions that are on. workspace: of the session."""
        extensions = tuple(
            OfExtension(installed.name, command.name, " ".join((command.summary, command.hint)).strip())
            for installed in self._home.extensions.list_on()
            for command in installed.manifest.commands
        )
        return Known(self._read_prompts(workspace), extensions=extensions)

    def _read_prompts(self, workspace: Path | None = None) -> tuple[Prompt, ...]:
        """Return the prompt files that are on, and then those of packages. workspace: of the session they are for."""
        # ruff: noqa: PLC0415 - only a slash needs them
        from oulipoly_engine.config import prompt_files, small_files
        from oulipoly_engine.config.packages_file import enabled_resources

        paths = prompt_files.paths_for(self._home.paths, workspace)
        entries = small_files.read_settings(paths).value.prompts
        brought = enabled_resources(paths, "prompts", entries)
        prompts = (prompt_files.read_prompt(each.name, each.path, each.package) for each in brought)
        return (*prompt_files.read_prompts(paths), *(prompt for prompt in prompts if prompt is not None))

    def complete(self, identity: str, begun: str) -> Iterator[str]:
        """Yield what a line that begins with a slash may become: a name, then what may stand behind it."""
        known = self.read_known(identity)
        name, blank, rest = begun.removeprefix("/").partition(" ")
        if not blank:
            yield from (f"/{offer} " for offer, _ in list_offers(known, name) if offer.isprintable())
            return
        entry = slash_lines.map_names(known).get(name)
        words = rest.split(" ")
        arguments = entry.arguments[len(words) - 1 :] if isinstance(entry, Slash) else ()
        for choice in self._list_choices(self._live.find(identity), arguments[0]) if arguments else ():
            if choice.startswith(words[-1]) and choice.isprintable():
                yield begun[: len(begun) - len(words[-1])] + choice

    def _list_choices(self, session: LiveSession, argument: Argument) -> Iterable[str]:
        match argument.choices:
            case "session models":
                return [model.id for model in self._runtimes.models(session.runtime_id)]
            case "runtimes":
                return [runtime.id for runtime in self._runtimes.catalogue().runtimes if runtime.is_enabled]
            case "accounts":
                return sorted({runtime.account for runtime in self._runtimes.catalogue().runtimes if runtime.account})
            case "models":
                return self._home.files.model_names()
            case "export formats":
                return _FORMATS
        if argument.name in _OF_TREE:
            return [short_id(entry_id) for entry_id in self._sessions.branches.tree(session.session_id).entry_ids]
        return ()

    def judge(self, identity: str, text: str) -> Line:
        """Return what a line of a session is; nothing is read for one without a slash."""
        known = self.read_known(identity) if text.startswith("/") else Known()
        return slash_lines.judge(text, known)

    def run(self, identity: str, order: Order, live: LiveSessions | None = None) -> Outcome:
        """Do a command in a session. live: in another name than the user's. Raises RunnerError."""
        function = _FUNCTIONS.get(order.slash.command)
        if function is None:
            raise UsageInvalid(f"/{order.slash.name} does nothing here: {order.slash.instead}")
        chosen = live or self._live
        return function(self, _Asked(chosen, chosen.find(identity), order))

    def _help(self, asked: _Asked) -> Outcome:
        offers = list_offers(self.read_known(asked.session.session_id))
        rows = [(f"/{plain(name)}", plain(summary)) for name, summary in offers]
        widest = max(len(name) for name, _ in rows)
        return Outcome((*(f"{name:{widest}}  {summary}".rstrip() for name, summary in rows), "//NAME sends /NAME"))

    def _run_extension(self, asked: _Asked) -> Outcome:
        from oulipoly_engine.extension_api import Transform

        extension, _, command = asked.order.slash.name.partition(":")
        answer = self._home.extensions.run_command(extension, command, asked.word, asked.session)
        if isinstance(answer, Transform):
            turn = asked.live.send(asked.session.session_id, answer.text)
            return Outcome(("sent",), turn_id=turn.turn_id)
        return Outcome(tuple(redact(answer.text).splitlines()))

    def _tell_settings(self, _: _Asked) -> Outcome:
        from oulipoly_engine.config.show import as_text, effective

        settings = {"settings": effective(self._home.paths)["settings"]}
        return Outcome((*as_text(settings).splitlines(), "`agents config set KEY VALUE` changes them"))

    def _tell_tools(self, asked: _Asked) -> Outcome:
        status = asked.live.status(asked.session.session_id)
        able = [name.replace("_", " ") for name, can in status.capabilities.items() if can]
        commands = [f"/{plain(command.name)}" for command in self.read_known(asked.session.session_id).cli]
        return Outcome(
            (
                f"can:      {', '.join(able) or 'not told yet: the CLI has not been opened'}",
                f"may do:   {plain(describe_policy(asked.session.opening.profile, status.policy))}",
                f"commands: {', '.join(commands) or 'it tells of none'}",
            )
        )

    def _tell_extensions(self, _: _Asked) -> Outcome:
        from oulipoly_engine.core.extensions.installed import find_state

        rows = []
        for installed, standing in self._home.extensions.survey():
            commands = (f"/{installed.name}:{command.name}" for command in installed.manifest.commands)
            state = find_state(installed, standing)
            rows.append(plain(f"{installed.name}  {state}  {' '.join(commands)}".rstrip()))
        return Outcome((*rows, "`agents ext enable NAME` and `ext disable` change it") if rows else ("there are none",))

    def _choose_model(self, asked: _Asked) -> Outcome:
        session = asked.session
        if not asked.word:
            current = asked.live.status(session.session_id).model
            names = [plain(model.id) for model in self._runtimes.models(session.runtime_id)]
            return Outcome((f"model:  {plain(current) or 'as its CLI chooses'}", f"others: {', '.join(names)}"))
        name = plain(asked.word)
        if asked.live.set_model(session.session_id, asked.word):
            return Outcome((f"later turns are done by {name}",))
        return Outcome((f"{name} was asked for; the CLI has not said whether it takes it",))

    def _choose_provider(self, asked: _Asked) -> Outcome:
        session = asked.session
        if asked.word:
            return _tell_begun(asked.live.fork(session.session_id, runtime=asked.word))
        others = [
            runtime.id
            for runtime in self._runtimes.catalogue().runtimes
            if runtime.is_enabled and runtime.id != session.runtime_id
        ]
        account = f", account {session.account}" if session.account else ""
        return Outcome((f"runtime: {session.runtime_id}{account}", f"others:  {', '.join(others) or 'none'}"))

    def _begin(self, asked: _Asked) -> Outcome:
        model, account = (*asked.order.words, None, None)[:2]
        runtime = None if model else asked.session.runtime_id
        wish = NewSession(Path(asked.session.workspace), model=model, account=account, runtime=runtime)
        return _tell_begun(asked.live.begin(wish))

    def _resume(self, asked: _Asked) -> Outcome:
        session = asked.session
        turns = [turn.turn_id for turn in asked.live.left_turns() if turn.session_id == session.session_id]
        if not turns:
            return Outcome(("no turn of this session was cut off",))
        result = asked.live.resume_turn(turns[0], self._runtimes.statuses({session.runtime_id}))
        return Outcome((f"the turn goes on: {result.status}",), turn_id=result.turn_id)

    def _review(self, asked: _Asked) -> Outcome:
        return asked.do(orders.Review("branch", asked.word) if asked.word else orders.Review(), "the review has begun")

    def _name(self, asked: _Asked) -> Outcome:
        if not asked.word:
            return Outcome((plain(asked.session.title) or "it has no name",))
        self._sessions.notes.rename(asked.session.session_id, asked.word)
        return Outcome((f"it is called {plain(asked.word)}",))

    def _tell_answer(self, asked: _Asked) -> Outcome:
        session = asked.session
        turns = asked.live.turns(session.session_id)
        while not any(turn.reply for turn in turns) and session.forked_from:  # a fork that has not gone on yet
            end = session.opening.fork_turn
            at = session.created_at
            try:
                session = asked.live.find(session.forked_from)
            except SessionNotFound:
                break
            turns = tuple(turn for turn in asked.live.turns(session.session_id) if turn.created_at <= at)
            last = next((place for place, turn in enumerate(turns, 1) if turn.turn_id == end), len(turns))
            turns = turns[:last]
        replies = [turn.reply for turn in turns if turn.reply]
        return Outcome((replies[-1] if replies else "nothing was answered yet",))

    def _export(self, asked: _Asked) -> Outcome:
        from oulipoly_engine.facade.sessions.values import ExportOptions

        if len(asked.order.words) < len(asked.order.slash.arguments):
            raise asked.refuse_short()
        form, path = asked.order.words
        file = self._sessions.files.export(asked.session.session_id, ExportOptions(form), expand_user(path))
        return Outcome((f"{plain(str(file.path))}: {file.size_bytes:,} bytes",))

    def _fork(self, asked: _Asked) -> Outcome:
        if asked.order.slash.name == "save":
            return _tell_begun(asked.live.fork(asked.session.session_id, title=asked.word))
        return _tell_begun(asked.live.fork(asked.session.session_id, at_turn=asked.word))

    def _load(self, asked: _Asked) -> Outcome:
        """Go on in another live session, by its name or the beginning of its id."""
        if not asked.word:
            raise asked.refuse_short()
        name = asked.word.casefold()
        sessions = [status.session for status in asked.live.list_sessions(_MOST_SESSIONS)]
        named = [session for session in sessions if session.title.casefold() == name]
        session = named[0] if named else asked.live.find(asked.word)
        self._home.extensions.guard_live("before_switch", asked.session, target=session.session_id)
        return Outcome((f"{session.session_id}  {plain(session.title)}".rstrip(),), session.session_id)

    def _import(self, asked: _Asked) -> Outcome:
        if not asked.word:
            raise asked.refuse_short()
        imported = self._sessions.files.import_file(expand_user(asked.word))
        return Outcome((f"{imported.chain_id}: new messages: {imported.new_entries:,} of {imported.entries:,}",))

    def _tell_tree(self, asked: _Asked) -> Outcome:
        tree = self._sessions.branches.tree(asked.session.session_id, "no-tools")
        return Outcome(tuple(format_line(entry, is_leaf=entry.entry_id == tree.leaf) for entry in tree.entries))

    def _branch(self, asked: _Asked) -> Outcome:
        if not asked.word:
            raise asked.refuse_short()
        form, is_filled, instructions = (*asked.order.words[1:], "")[0].partition("=")
        if form not in ("", "--summary") or (is_filled and not form):
            raise UsageInvalid(f"behind the message stands nothing, --summary or --summary=INSTRUCTIONS, not {form!r}")
        if form:
            _, leaf, summary = asked.live.branch(asked.session.session_id, asked.word, instructions)
            return Outcome(describe_branch(leaf, summary))
        _, leaf = self._sessions.branches.branch(asked.session.session_id, asked.word)
        return Outcome((f"goes on behind {short_id(leaf)}; all that was said stays in its tree",))

    def _clear(self, asked: _Asked) -> Outcome:
        self._sessions.branches.branch(asked.session.session_id, "")
        return Outcome(("begins anew; all that was said stays in its tree",))

    def _label(self, asked: _Asked) -> Outcome:
        message, label = (*asked.order.words, "", "")[:2]
        if not message:
            raise asked.refuse_short()
        entry_id = self._sessions.branches.label(asked.session.session_id, message, label)
        return Outcome(
            (f"{short_id(entry_id)} is labelled {plain(label)}" if label else f"{short_id(entry_id)} has no label",)
        )

    def _compare(self, asked: _Asked) -> Outcome:
        left, right = (*asked.order.words, "", "")[:2]
        if not left:
            raise asked.refuse_short()
        return Outcome(tuple(compare_lines(*self._sessions.branches.compare(asked.session.session_id, left, right))))

    def _steer(self, asked: _Asked) -> Outcome:
        if not asked.word:
            raise asked.refuse_short()
        return asked.do(orders.Steer(asked.word), "the running turn has it")

    def _tell_queue(self, asked: _Asked) -> Outcome:
        messages = asked.live.queue(asked.session.session_id)
        lines = (f"{place}  {plain(message.text)}" for place, message in enumerate(messages, 1))
        return Outcome(tuple(lines) or (Need.MESSAGE.value,))


def _tell_begun(begun: Begun) -> Outcome:
    session = begun.session
    losses = f"; left behind: {', '.join(begun.losses)}" if begun.losses else ""
    return Outcome((f"{session.session_id} on {session.runtime_id}: {begun.why}{losses}",), session.session_id)


_FUNCTIONS: Mapping[str, Callable[[SlashCommands, _Asked], Outcome]] = {  # by the names of commands
    "help": SlashCommands._help,
    "session status": lambda _, asked: Outcome(tuple(describe_lines(asked.live.status(asked.session.session_id)))),
    "ext run": SlashCommands._run_extension,
    "settings": SlashCommands._tell_settings,
    "session tools": SlashCommands._tell_tools,
    "ext list": SlashCommands._tell_extensions,
    "session model": SlashCommands._choose_model,
    "session provider": SlashCommands._choose_provider,
    "session new": SlashCommands._begin,
    "turn resume": SlashCommands._resume,
    "session fork": SlashCommands._fork,
    "session follow": SlashCommands._load,
    "session import": SlashCommands._import,
    "session tree": SlashCommands._tell_tree,
    "session branch": SlashCommands._branch,
    "session clear": SlashCommands._clear,
    "session label": SlashCommands._label,
    "session compare": SlashCommands._compare,
    "session compact": lambda _, asked: asked.do(orders.Compact(), "compact: done"),
    "session review": SlashCommands._review,
    "session name": SlashCommands._name,
    "session copy": SlashCommands._tell_answer,
    "session export": SlashCommands._export,
    "session steer": SlashCommands._steer,
    "session queue": SlashCommands._tell_queue,
    "session interrupt": lambda _, asked: asked.do(orders.Interrupt(), "interrupt: done", starts=False),
    "session close": lambda _, asked: asked.do(orders.Close(), "close: done", starts=False),
}
