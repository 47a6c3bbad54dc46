"""Whether the login of an account stays on the host, away from a box, and what its CLI starts with then."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.clock import Clock, SystemClock
from oulipoly_engine.core.accounts import arguments
from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.core.accounts.clis.cli import Cli
from oulipoly_engine.core.accounts.clis.host_login import (
    STAND_IN,
    URL,
    ApiLogin,
    HostLogin,
    LoginOrder,
    LoginSources,
    hide_login,
)
from oulipoly_engine.core.accounts.clis.table import CLIS
from oulipoly_engine.core.agents.agents import Agent
from oulipoly_engine.core.agents.boxes import agent_network
from oulipoly_engine.core.agents.containers import CONTAINER
from oulipoly_engine.core.boxes.allow_list import Target, parse_allowed
from oulipoly_engine.core.boxes.box import Box, Level, Network
from oulipoly_engine.core.boxes.bubblewrap import PROXY_PORT, PROXY_VARIABLES
from oulipoly_engine.core.live.runtimes import Runtime, proxy_environment
from oulipoly_engine.errors import IsolationUnavailable, SystemRefused
from oulipoly_engine.private_files import make_folder
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.records import Record, replace
from oulipoly_engine.regular_files import read_regular
from oulipoly_engine.service.accounts.environment import read_environment
from oulipoly_engine.service.agents.log import find_log, write_line
from oulipoly_engine.service.agents.start import (
    ALL_NETWORK,
    AgentStart,
    Reach,
    cli_start,
    find_cli,
    list_homes_of_wrapper,
)

if TYPE_CHECKING:
    from oulipoly_engine.process.boxes.api_route import ApiRoute

# ruff: noqa: PLC0415 - proxy, TLS and random tokens take 12 ms: a list, which only describes logins, needs none of them

CLI_HOMES = "cli"  # of an agent's tree: the homes of its CLIs, which it writes and cannot put aside
_LONGEST_FILE = 1 << 20
_MOST_REFUSALS = 200  # that one start has in the log
_SEPARATED = re.compile(r"[^A-Za-z0-9]")
_DIRECT = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}


class CliStart(Record):
    """How the CLI of an agent is started."""

    start: AgentStart
    environment: Mapping[str, str]  # the whole of it
    words: tuple[str, ...] = ()  # behind its own arguments
    login: LoginOrder | None = None  # None: its login is in the box, or nothing holds it
    reason: str = ""  # why


class CliAccount(Record):
    """Whose login a CLI uses."""

    runtime: Runtime
    cli: Cli | None
    account: Account | None


class CliBox(Record):
    """Where a CLI stands that is started on an account."""

    served: str  # what it is started for, as people read it
    level: str
    homes: Path  # in which the homes are made that it has where its login is kept
    workspace: str  # the folder that it works in
    network: Network  # where its login is kept
    addresses: tuple[str, ...]  # that a sealed one reaches besides
    make_start: Callable[[str, tuple[str, ...], Network], AgentStart]  # of its program and its homes, empty ones none
    log: str = ""  # the file that says what its proxy does not let through; empty: nobody asks


def start_cli(root: Path, agent: Agent, chosen: CliAccount, clock: Clock, reach: Reach = ALL_NETWORK) -> CliStart:
    """Return how the CLI of an agent is started on an account. Raises as `start_cli_in_box`."""

    def make_start(program: str, homes: tuple[str, ...], network: Network) -> AgentStart:
        return cli_start(root, agent, program, homes, replace(reach, network=network))

    network = agent_network(agent.isolation)
    addresses = agent.plan.overrides.addresses
    place = CliBox(
        describe_served(agent),
        agent.isolation,
        root / CLI_HOMES,
        str(root / "workspace"),
        network,
        addresses,
        make_start,
        str(find_log(root)),
    )
    return start_cli_in_box(place, chosen, clock)


def start_cli_in_box(place: CliBox, chosen: CliAccount, clock: Clock) -> CliStart:
    """Return how a CLI is started on an account, with its login kept on the host where that is possible.

    Raises ProgramMissing, AccountUnusable, IsolationUnavailable where a sealed box cannot be had without the login.
    """
    runtime = chosen.runtime
    program = find_cli(runtime)
    speaker = chosen.cli or CLIS.get(runtime.kind)  # a script that starts it may have any name
    names = () if speaker is None else speaker.place.own_variables
    homes = (runtime.home, runtime.shadow_home, *list_homes_of_wrapper(program, names))
    start = place.make_start(program, homes, Network.SHARED)
    environment = _environment(chosen, start.environment)
    if start.box is None or start.box.level is Level.NONE:
        return CliStart(start, environment, reason=_unkept(place.level))
    login = _find_login(chosen, environment, clock)
    if isinstance(login, str) or chosen.cli is None or chosen.cli.host_login is None:
        reason = login if isinstance(login, str) else "its CLI is not known"
        if start.box.level is Level.SEALED:
            refusals = {runtime.account or runtime.id: refuse_login(reason)}
            raise IsolationUnavailable(explain_refusals(place.served, refusals, place.level))
        return CliStart(start, environment, reason=reason)
    name = chosen.cli.name
    home = place.homes / (runtime.account or runtime.id).replace("/", "_")
    links = _link_kept(home, Path(runtime.home) if runtime.home else None, login, place.workspace)
    start = place.make_start(program, (str(home), *links), place.network)
    environment_of_account = _environment(chosen, {})
    environment = hide_login(environment, login, chosen.cli.host_login.variables)
    environment |= {**login.environment, login.variable: str(home), **proxy_variables(start.box)}
    sources = LoginSources(environment_of_account, _home_of(runtime))
    order = LoginOrder(name, sources, place.addresses, place.log)
    return CliStart(start, environment, login.words, order)


def describe_login(level: str, chosen: CliAccount, clock: Clock) -> str:
    """Return why the login of an account is within an agent's reach; empty: it is kept on the host.

    No keyring is asked: a key that is there is taken as given.
    """
    if level not in (Level.GUARDED, Level.SEALED):
        return _unkept(level)
    environment = _environment(chosen, {"PATH": inherited_environment().get("PATH", "")}, asks_keyring=False)
    login = _find_login(chosen, environment, clock)
    return login if isinstance(login, str) else ""


def describe_served(agent: Agent) -> str:
    """Return what an account serves there, as people read it."""
    return agent.plan.model or "an agent without MODEL"


def refuse_login(reason: str) -> str:
    """Say why an account cannot serve a sealed agent. reason: why its login cannot be kept."""
    return f"its login cannot be kept out of a sealed box: {reason}"


def explain_refusals(served: str, reasons: Mapping[str, str], level: str) -> str:
    """Say that no account can serve something, why each cannot, and what to do. served: what."""
    listed = "; ".join(f"{account}: {reason}" for account, reason in reasons.items())
    other = ", or --isolation guarded" if level == Level.SEALED else ""
    return f"no account serves {served} ({listed}): choose others with --model{other}"


@contextlib.contextmanager
def serve_box(box: Box, path: Path, order: LoginOrder | None, clock: Clock) -> Iterator[tuple[Box, str, str]]:
    """Have a proxy for a box during the block: yield the box that reaches it, its URL and the token it takes.

    path: of its socket, of a box whose network is a proxy. Raises SystemRefused where it cannot listen.
    """
    import secrets

    from oulipoly_engine.process.boxes.proxy import AllowListProxy

    token = f"sk-ant-agent-{secrets.token_urlsafe(32)}"
    addresses = () if order is None else tuple(parse_allowed(text) for text in order.addresses)
    route = None if order is None else _make_route(order, token, clock)
    is_alone = box.network is Network.PROXY
    with contextlib.ExitStack() as stack:
        try:
            path.unlink(missing_ok=True)  # of one that was killed
            note = _Refusals("" if order is None else order.log, clock).note
            proxy = stack.enter_context(AllowListProxy(path if is_alone else None, addresses, note, route))
        except OSError as error:
            raise SystemRefused(f"the agent's proxy cannot listen: {error.strerror or error}") from error
        port = PROXY_PORT if is_alone else proxy.port
        yield (replace(box, proxy=str(path)) if is_alone else box), f"http://127.0.0.1:{port}", token


@contextlib.contextmanager
def reach_addresses(start: AgentStart, agent: Agent, root: Path) -> Iterator[AgentStart]:
    """Have the proxy of a program's box listen during the block, and yield how the program is started.

    It asks no model: it reaches what its agent may besides. Raises SystemRefused where the proxy cannot listen.
    """
    if start.box is None or start.box.network is not Network.PROXY:
        yield start
        return
    from tempfile import TemporaryDirectory

    order = LoginOrder("", LoginSources({}), agent.plan.overrides.addresses, str(find_log(root)))
    with (
        TemporaryDirectory(prefix="agents-") as folder,
        serve_box(start.box, Path(folder, "proxy"), order, SystemClock()) as (box, _, _),
    ):
        yield replace(start, box=box, environment={**start.environment, **proxy_variables(box)})


class _Refusals:
    """Writes down what a proxy did not let through, each address once."""

    def __init__(self, log: str, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._known: set[str] = set()

    def note(self, target: Target, problem: str) -> None:
        is_new = problem and target.text not in self._known
        if self._log and is_new and len(self._known) < _MOST_REFUSALS:
            self._known.add(target.text)
            write_line(Path(self._log), f"network: {target.text} {problem}", self._clock.now())


def _unkept(level: str) -> str:
    return "its container is given it" if level == CONTAINER else "nothing holds it"


def proxy_variables(box: Box | None) -> dict[str, str]:
    """Return the variables that lead a program to the proxy of its box; none where it has none."""
    if box is None or box.network is not Network.PROXY:
        return {}
    return {**PROXY_VARIABLES, **_DIRECT}


def fill_in(text: str, url: str, token: str) -> str:
    """Return a word or the value of a variable with the address and the token of a proxy in place."""
    return text.replace(URL, url).replace(STAND_IN, token)


def _make_route(order: LoginOrder, token: str, clock: Clock) -> ApiRoute | None:
    host_login = CLIS[order.cli].host_login if order.cli else None
    if host_login is None:
        return None

    def read() -> ApiLogin | str:
        return host_login.read(_read_files(host_login, order.sources), clock.now())

    from oulipoly_engine.process.boxes.api_route import ApiRoute

    login = read()
    return ApiRoute(token, () if isinstance(login, str) else login.paths, read)


def _find_login(chosen: CliAccount, environment: Mapping[str, str], clock: Clock) -> ApiLogin | str:
    runtime = chosen.runtime
    cli = chosen.cli
    if cli is None or cli.host_login is None:
        return "its CLI takes no address of a proxy from us"
    program = Path(runtime.program).name
    if program != cli.name:
        return f"its program {program} is not {cli.name} itself, and may log in by itself"
    if runtime.proxy:
        return "it reaches its API through a proxy of yours"
    sources = LoginSources(environment, _home_of(runtime))
    return cli.host_login.read(_read_files(cli.host_login, sources), clock.now())


def _environment(chosen: CliAccount, inherited: Mapping[str, str], *, asks_keyring: bool = True) -> dict[str, str]:
    """Return what a CLI has of its account, behind what it has anyway."""
    runtime = chosen.runtime
    account = chosen.account
    own = dict(inherited)
    if account is not None and account.keyring is not None and not asks_keyring:
        own = {**arguments.environment(inherited, account), account.keyring.variable: "kept"}
    elif account is not None:
        own = read_environment(inherited, account)
    own |= {**proxy_environment(runtime.proxy), **runtime.environment}
    environment = {name: value for name, value in own.items() if name not in runtime.unset_environment}
    if chosen.cli is not None and runtime.home:  # its login is not in the agent's home
        return {**chosen.cli.place.environment(runtime.home), **environment}
    return environment


def _read_files(host_login: HostLogin, sources: LoginSources) -> LoginSources:
    texts = {}
    for name in host_login.files if sources.home else ():
        with contextlib.suppress(OSError, UnicodeDecodeError):
            texts[name] = read_regular(Path(sources.home, name), _LONGEST_FILE).decode()
    return replace(sources, files=texts)


def _home_of(runtime: Runtime) -> str:
    return runtime.shadow_home or runtime.home


def _link_kept(home: Path, account_home: Path | None, login: ApiLogin, workspace: str) -> tuple[str, ...]:
    """Have a CLI of an agent write its sessions where its account's are, and return these folders.

    Claude Code's lie apart for each folder that it works in, so that an agent reaches its own alone.
    """
    try:
        make_folder(home)
        if account_home is None or not account_home.is_dir():
            return ()
        names = [name.format(workspace=_SEPARATED.sub("-", workspace)) for name in login.session_folders]
        return tuple(_link_folder(home, account_home, name) for name in names)
    except OSError as error:
        raise SystemRefused(f"the home of the agent's CLI cannot be prepared: {error.strerror or error}") from error


def _link_folder(home: Path, account_home: Path, name: str) -> str:
    target = account_home / name
    make_folder(target)
    link = home / name
    if link.parent != home and (link.parent.is_symlink() or not link.parent.is_dir()):
        link.parent.unlink(missing_ok=True)  # the agent has put something there
    make_folder(link.parent)
    real = str(target.resolve())
    if not (link.is_symlink() and str(link.readlink()) == real):
        if link.is_dir() and not link.is_symlink():
            import shutil

            shutil.rmtree(link)
        else:
            link.unlink(missing_ok=True)
        link.symlink_to(real)
    return real
