"""How a session with an agent is opened: its version, a new, resumed, loaded or forked session, its settings. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from oulipoly_engine import __version__
from oulipoly_engine.core.live import failures
from oulipoly_engine.core.live.events import AnyEvent, Notice, SessionFailed
from oulipoly_engine.drivers.acp.failure_codes import describe, is_login_wanted
from oulipoly_engine.drivers.acp.settings import Order, Settings
from oulipoly_engine.drivers.base import Capabilities, Opening
from oulipoly_engine.drivers.json_values import Json, listing, mapping, text_of
from oulipoly_engine.drivers.jsonrpc import Endpoint, Failure

_VERSION = 1
_COMPACT_UNTOLD = ("OpenCode",)  # opencode 1.18.33, seen 2026-11
_STARTUP_S = 60.0  # node and bun agents took up to 13 s on a busy machine


class Handshake:
    """The way to a session that is ready; it ends once, in `opened` or in SessionFailed."""

    def __init__(
        self, opening: Opening, endpoint: Endpoint, say: Callable[[AnyEvent], None], opened: Callable[[], None]
    ) -> None:
        self.opening = opening
        self.settings = Settings()
        self.session_id = ""
        self.is_over = False
        self.is_open = False
        self.capabilities = Capabilities()
        self._endpoint, self._say, self._opened = endpoint, say, opened
        self._agent: Mapping[str, Json] = {}  # the answer to `initialize`
        self._orders: list[tuple[str, Order]] = []  # what is left to be said before the session is ready

    @property
    def name(self) -> str:
        """Return the agent's name for people."""
        told = mapping(self._agent.get("agentInfo"))
        return text_of(told.get("title")) or text_of(told.get("name")) or "the agent"

    @property
    def compacts(self) -> bool:
        """Return whether it shortens the past at `/compact` though it does not name that among its commands."""
        return text_of(mapping(self._agent.get("agentInfo")).get("name")) in _COMPACT_UNTOLD

    @property
    def version(self) -> str:
        """Return the agent's version."""
        return text_of(mapping(self._agent.get("agentInfo")).get("version"))

    def begin(self) -> None:
        """Say who we are. Files and terminals stay with the agent, whose own tools need no help."""
        capabilities = {
            "fs": {"readTextFile": False, "writeTextFile": False},
            "terminal": False,
            "elicitation": {"form": {}},
        }
        client = {"name": "oulipoly-agent-runner", "title": "Oulipoly Agent Runner", "version": __version__}
        params = {"protocolVersion": _VERSION, "clientCapabilities": capabilities, "clientInfo": client}
        self._endpoint.request("initialize", params, self._initialized, _STARTUP_S)

    def _initialized(self, result: Json, failure: Failure | None) -> None:
        if failure is not None:
            self._fail(failures.HANDSHAKE_FAILED, failure)
            return
        self._agent = mapping(result)
        version = self._agent.get("protocolVersion")
        if version != _VERSION or isinstance(version, bool):
            text = f"the agent speaks version {version} of ACP, and only version {_VERSION} is spoken here"
            self._give_up(failures.UNSUPPORTED_VERSION, text)
            return
        self._advertise()
        self._open_session()

    def _advertise(self) -> None:
        steering = mapping(mapping(self._agent.get("_meta")).get("steering"))
        self.capabilities = Capabilities(
            resume=self._can_load or self._offers_session("resume"),
            fork=self._offers_session("fork"),
            steer=steering.get("supported") is True,
            interrupt=True,
            command_approvals=True,
            file_change_approvals=True,
            usage=True,
        )

    def _open_session(self) -> None:
        params: dict[str, Json] = {"cwd": self.opening.cwd, "mcpServers": self._servers()}
        if not self.opening.resume:
            self._endpoint.request("session/new", params, self._session_opened, _STARTUP_S)
            return
        params["sessionId"] = self.opening.resume
        if self.opening.fork:
            self._fork(params)
        elif self._offers_session("resume"):
            self._endpoint.request("session/resume", params, self._session_resumed, _STARTUP_S)
        elif self._can_load:
            self._load(params)
        else:
            self._give_up(failures.THREAD_LOST, f"{self.name} cannot go on with an earlier session")

    def _servers(self) -> list[Json]:
        return [
            {
                "name": server.name,
                "command": server.command[0],
                "args": list(server.command[1:]),
                "env": [{"name": name, "value": value} for name, value in server.environment.items()],
            }
            for server in self.opening.servers
        ]

    def _offers_session(self, name: str) -> bool:
        told = mapping(self._agent.get("agentCapabilities"))
        return _is_told(mapping(told.get("sessionCapabilities")), name)

    @property
    def _can_load(self) -> bool:
        return mapping(self._agent.get("agentCapabilities")).get("loadSession") is True

    def _load(self, params: dict[str, Json]) -> None:
        """Load the session: the agent tells the whole past before its reply, which may take long."""
        self._endpoint.request("session/load", params, self._session_opened, None)

    def _session_resumed(self, result: Json, failure: Failure | None) -> None:
        """Load a session that cannot be resumed: qwen 0.15.10 offers `session/resume` and does not have it."""
        if failure is not None and failure.kind == "native" and self._can_load:
            self._load({"cwd": self.opening.cwd, "mcpServers": self._servers(), "sessionId": self.opening.resume})
            return
        self._session_opened(result, failure)

    def _fork(self, params: dict[str, Json]) -> None:
        if self.capabilities.fork and not self.opening.fork_at:
            self._endpoint.request("session/fork", params, self._session_opened, None)
            return
        what = "only after its last turn" if self.capabilities.fork else "not at all"
        self._give_up(failures.HANDSHAKE_FAILED, f"{self.name} can fork a session {what}")

    def _session_opened(self, result: Json, failure: Failure | None) -> None:
        wanted = self.opening.resume
        if failure is not None:
            self._fail(failures.THREAD_LOST if wanted else failures.HANDSHAKE_FAILED, failure)
            return
        told = mapping(result)
        is_same = bool(wanted) and not self.opening.fork
        self.session_id = text_of(told.get("sessionId")) or (wanted if is_same else "")
        if not self.session_id:
            self._give_up(failures.HANDSHAKE_FAILED, f"{self.name} opened a session without an id")
            return
        if is_same and self.session_id != wanted:
            text = f"{self.name} opened session {self.session_id} instead of {wanted}"
            self._give_up(failures.THREAD_MISMATCH, text)
            return
        self.settings.take(told)
        if self.opening.is_probe:
            self._leave_session()
            return
        orders = [("set the mode", self.settings.mode_order(self.opening.profile))]
        if self.opening.model:
            orders.append(("set_model", self.settings.model_order(self.opening.model)))
        if self.opening.effort:
            orders.append(("set the effort", self.settings.effort_order(self.opening.effort)))
        for what, order in orders:
            if order is not None:
                self._orders.append((what, order))
            elif what != "set the mode":
                self._say(Notice(f"{self.name} lets nobody {what.replace('_', ' the ')}", "warning", "setting"))
        self._next_order()

    def _leave_session(self) -> None:
        """Have the session of a probe removed, else closed, where the agent offers that: nobody will talk in it."""
        word = next((word for word in ("delete", "close") if self._offers_session(word)), "")
        if word:
            self._orders.append((f"{word} the session of the probe", (f"session/{word}", {})))
        self._next_order()

    def _next_order(self) -> None:
        """Say the next of what is left to be said, and have the session ready after the last."""
        if not self._orders:
            self.is_over = self.is_open = True
            self._opened()
            return
        what, (method, params) = self._orders.pop(0)

        def settle(result: Json, failure: Failure | None) -> None:
            if failure is None:
                self.settings.apply(params, mapping(result))
            elif failure.kind == "closed":
                self._fail(failures.CLOSED, failure)
                return
            else:
                self._say(Notice(f"{self.name} refuses to {what}: {failure.message}", "warning", "setting"))
            self._next_order()

        self._endpoint.request(method, {"sessionId": self.session_id, **params}, settle, _STARTUP_S)

    def _fail(self, reason: str, failure: Failure) -> None:
        if failure.kind == "closed":
            self._give_up(failures.CLOSED, f"{self.name} ended before it was ready")
        elif failure.kind == "timeout":
            self._give_up(failures.TIMED_OUT, f"{self.name} was not ready in time: {failure.message}")
        elif is_login_wanted(failure):
            self._give_up(failures.NEEDS_AUTH, self._login_text())
        else:
            self._give_up(reason, describe(failure).message)

    def _give_up(self, reason: str, message: str) -> None:
        if not self.is_over:
            self.is_over = True
            self._say(SessionFailed(reason, message))

    def _login_text(self) -> str:
        methods = [mapping(one) for one in listing(self._agent.get("authMethods"))]
        ways = [": ".join(filter(None, (text_of(m.get("name")), text_of(m.get("description"))))) for m in methods]
        return f"{self.name} wants a login" + (f" ({'; '.join(ways)})" if ways else "")


def _is_told(capabilities: Mapping[str, Json], name: str) -> bool:
    """Tell whether a capability is advertised: an empty object is a yes."""
    return capabilities.get(name) not in (None, False)
