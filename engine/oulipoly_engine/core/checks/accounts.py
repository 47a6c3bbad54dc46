"""What is wrong with the accounts' programs, folders, logins and quota. Pure: it judges what `service/checks` saw."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta

from oulipoly_engine.core.accounts.clis.table import CLIS
from oulipoly_engine.core.checks.finding import Area, Finding, Severity, cut_line, in_shell, tell_well
from oulipoly_engine.core.runs.invocations import Category
from oulipoly_engine.core.runs.recovery import fix_of
from oulipoly_engine.core.runs.vendor_text import means_login_is_over
from oulipoly_engine.core.text.quantities import duration
from oulipoly_engine.records import Record

_OLD = timedelta(days=1)  # a reading of quota; runs and the app read every half minute where there is a script


class SeenProgram(Record):
    """An account's program as it was found."""

    account: str
    program: str  # as the configuration has it
    state: str  # "found", "missing", "not executable", "none": the account names no program
    install: str = ""  # the command that installs it; empty: a program that we know nothing of
    version: str = ""
    age: str | None = None  # says that it is older than any that is known to work
    problem: str = ""  # of asking for its version
    named_in: str = "`command` in providers.toml"  # the key and the file where a user corrects it


class SeenScript(Record):
    """A script of an account that cannot be started."""

    account: str
    key: str  # of the configuration: `quota_script`
    file: str  # that has it: "providers" or "sessions"
    program: str  # that is not there


class SeenHome(Record):
    """The folder that an account's CLI keeps its login and its sessions in."""

    account: str
    cli: str  # its name
    path: str
    state: str  # "folder", "missing", "no folder", "broken link", "unreadable"
    link: str = ""  # where it leads, if it is a link
    is_ours: bool = True
    can_write: bool = True
    sign_in: str = ""  # the command that begins a login of this account
    variable: str = ""  # of the environment, that leads there though the account does not set it
    real: str = ""  # the path without links
    has_login: bool = True  # the login lies there; False: a key stands in for it, and many may use the folder
    others_write: bool = False  # every user of the machine
    others_read: bool = False


class SeenLogin(Record):
    """What an account is signed in with."""

    account: str
    cli: str
    path: str  # of its file
    state: str  # "file", "missing", "unreadable", "key": a variable holds one, "keyring"
    fault: str = ""  # what `login_files.find_fault`, the keyring or the system says of it
    mode: int = 0o600
    sign_in: str = ""
    fix: str = ""  # of what the keyring says
    is_signed_in: bool = False  # as the CLI itself says
    who: str = ""
    unknown: str = ""  # why the CLI has not said it, as a sentence's second half; empty: it has


class SeenQuota(Record):
    """How reading an account's quota has gone."""

    account: str
    has_source: bool
    is_disabled: bool
    refreshed_at: datetime | None
    last_failure: str | None
    can_have_source: bool = True  # there is an adapter for its CLI


def judge_programs(seen: Sequence[SeenProgram]) -> Iterator[Finding]:
    """Say which programs cannot be started, and the versions of those that can."""
    for one in seen:
        yield from _judge_program(one)
    versions: dict[str, list[str]] = {}
    for one in seen:
        if one.state == "found" and not one.problem and one.age is None:
            versions.setdefault(one.version or f"{one.program} is there", []).append(one.account)
    for version, accounts in versions.items():
        yield tell_well(Area.PROGRAMS, version, ", ".join(accounts))
    if not seen:
        yield tell_well(Area.PROGRAMS, "no account names a program yet")


def _judge_program(one: SeenProgram) -> Iterator[Finding]:
    cannot = f"no run and no session on {one.account} can start"
    if one.state == "none":
        fix = f'add `command = "claude"` or the like to [{one.account}] in providers.toml'
        yield _warn(Area.PROGRAMS, one.account, "it has no `command`", cannot, fix, "agents config path")
    elif one.state == "missing":
        fix = f"install it, correct {one.named_in}, or add its folder to PATH"
        command = one.install or in_shell("command", "-v", one.program)
        yield _fail(Area.PROGRAMS, one.account, f"the program {one.program!r} was not found", cannot, fix, command)
    elif one.state == "not executable":
        cause = f"{one.program!r} is not an executable file"
        fix = f"make it executable, or correct {one.named_in}"
        yield _fail(Area.PROGRAMS, one.account, cause, cannot, fix, in_shell("chmod", "+x", one.program))
    elif one.problem:
        cause = f"`{one.program} --version` {one.problem}"
        hangs = "timed out" in one.problem
        follows = "its runs may hang as well" if hangs else "its runs may fail as well"
        fix = "start it by hand and look; update it or install it again if it does not answer"
        command = in_shell(one.program, "--version")
        yield (_fail if hangs else _warn)(Area.PROGRAMS, one.account, cause, follows, fix, command)
    elif one.age is not None:
        follows, fix = "what is known of its arguments and files may not hold", "update it"
        yield _warn(Area.PROGRAMS, one.account, one.age, follows, fix, one.install)


def judge_scripts(seen: Sequence[SeenScript]) -> Iterator[Finding]:
    """Say which scripts name a program that is not there."""
    for script in seen:
        follows = "its sessions are in no list, search or report"
        if script.file == "providers":
            follows = "its quota is not read, so the choice among accounts goes by old numbers"
        cause = f"`{script.key}` starts {script.program!r}, which was not found"
        fix = f"install it, or correct `{script.key}` of [{script.account}] in {script.file}.toml"
        yield _warn(Area.PROGRAMS, script.account, cause, follows, fix, f"agents config edit {script.file}")


def judge_homes(seen: Sequence[SeenHome]) -> Iterator[Finding]:
    """Say which folders of CLIs are missing, can only partly be used, are shared, or are open to others."""
    for home in seen:
        yield from _judge_home(home)
        yield from _judge_openness(home)
    yield from _judge_shared(seen)


def _judge_openness(home: SeenHome) -> Iterator[Finding]:
    command = in_shell("chmod", "go-rwx", home.path)
    if home.others_write:
        cause = f"its folder {home.path} can be changed by every user of this machine"
        follows = "they can exchange its login, and have it start programs as you"
        yield _fail(Area.LOGINS, home.account, cause, follows, "take the rights of others away", command)
    elif home.others_read:
        cause = f"its folder {home.path} can be read by every user of this machine"
        follows = "they can read its sessions"
        yield _warn(Area.LOGINS, home.account, cause, follows, "take the rights of others away", command)


def _judge_shared(seen: Sequence[SeenHome]) -> Iterator[Finding]:
    """Say which accounts are one login under several names: its quota would count once for each."""
    accounts_by_home: dict[str, list[str]] = {}
    for home in seen:
        if home.has_login and home.state == "folder":
            accounts_by_home.setdefault(home.real or home.path, []).append(home.account)
    for path, accounts in accounts_by_home.items():
        if len(accounts) > 1:
            cause = f"they share the home {path}"
            follows = "they are one login, whose quota counts once for each of them"
            fix = "remove all but one, or give each a home of its own by `agents account add`"
            command = in_shell("agents", "account", "show", accounts[0])
            yield _warn(Area.LOGINS, ", ".join(accounts), cause, follows, fix, command)


def _judge_home(one: SeenHome) -> Iterator[Finding]:
    if one.state in ("missing", "broken link"):
        what = "is missing" if one.state == "missing" else f"is a link to {one.link}, which is not there"
        fix = "sign in once, which makes it" if one.state == "missing" else "put the folder back, or remove the link"
        command = one.sign_in if one.state == "missing" else in_shell("rm", one.path)
        follows = f"{one.account} has no login and no sessions"
        yield _fail(Area.LOGINS, one.account, f"its folder {one.path} {what}", follows, fix, command)
    elif one.state != "folder":
        what = "is not a folder" if one.state == "no folder" else "cannot be read"
        follows = f"{one.cli} can keep neither login nor sessions there"
        fix, command = "move the file away", in_shell("mv", one.path, f"{one.path}.old")
        if one.state == "unreadable":
            fix, command = "mend its rights", in_shell("chmod", "u+rwx", one.path)
        yield _fail(Area.LOGINS, one.account, f"its folder {one.path} {what}", follows, fix, command)
    elif not one.is_ours:
        follows = f"{one.cli} can keep neither login nor sessions there, or its owner reads them"
        fix, command = (
            "make it yours, or give the account another folder",
            f'sudo chown -R "$USER" {in_shell(one.path)}',
        )
        cause = f"its folder {one.path} belongs to another user"
        yield _fail(Area.LOGINS, one.account, cause, follows, fix, command)
    elif not one.can_write:
        follows = f"{one.cli} can neither renew its login nor keep its sessions"
        command = in_shell("chmod", "u+rwx", one.path)
        cause, fix = f"its folder {one.path} cannot be written", "mend its rights"
        yield _fail(Area.LOGINS, one.account, cause, follows, fix, command)
    elif one.link:
        cause = f"its folder {one.path} is a link to {one.link}"
        follows = "whoever moves or removes that folder takes login and sessions along"
        fix = "nothing, if you made the link; else put the folder itself there"
        yield _warn(Area.LOGINS, one.account, cause, follows, fix, in_shell("ls", "-ld", one.path))
    if one.variable:
        cause = f"{one.variable} of your environment leads it to {one.path}"
        follows = "it is another login wherever that is not set, and its sessions may be looked for elsewhere"
        fix = f'add `unset_environment = ["{one.variable}"]` to [{one.account}] in providers.toml, or set it there'
        yield _warn(Area.LOGINS, one.account, cause, follows, fix, "agents config edit providers")


def judge_logins(seen: Sequence[SeenLogin], broken: Collection[str] = ()) -> Iterator[Finding]:
    """Say which accounts are not signed in, and who is. broken: accounts whose program is known not to answer."""
    well: list[str] = []
    for one in seen:
        found = tuple(_judge_login(one, is_broken=one.account in broken))
        yield from found
        if not found:
            well.append(f"{one.account} ({one.who})" if one.who else one.account)
    if well:
        yield tell_well(Area.LOGINS, "signed in", ", ".join(well))
    if not seen:
        yield tell_well(Area.LOGINS, "no account has a CLI whose logins are known")


def _judge_login(one: SeenLogin, *, is_broken: bool) -> Iterator[Finding]:
    follows = f"{one.account} answers nothing but a request to sign in"
    command = one.sign_in
    fix = "sign in, then check again"
    if one.state == "unreadable":
        cause = f"its login {one.path} cannot be read: {one.fault}"
        fix = "mend its rights, or move it away and sign in again"
        yield _fail(Area.LOGINS, one.account, cause, follows, fix, in_shell("ls", "-l", one.path))
    elif one.state == "keyring":
        if one.fault:
            cause = f"its API key cannot be read: {one.fault}"
            yield _fail(
                Area.LOGINS, one.account, cause, f"no run and no session on {one.account} can start", one.fix, command
            )
    elif one.fault:
        yield _fail(Area.LOGINS, one.account, f"its login {one.path} {one.fault}", follows, fix, command)
    elif one.state == "missing" if one.unknown or is_broken else not one.is_signed_in:
        tell = _fail if one.cli not in CLIS or CLIS[one.cli].needs_login else _warn
        why = f"{one.path} is missing" if one.state == "missing" else f"{one.cli} says so, though {one.path} is there"
        yield tell(Area.LOGINS, one.account, f"nobody is signed in: {why}", follows, fix, command)
    else:
        yield from _judge_signed_in(one, is_broken=is_broken)


def _judge_signed_in(one: SeenLogin, *, is_broken: bool) -> Iterator[Finding]:
    if one.unknown and not is_broken:
        yield _warn(
            Area.LOGINS,
            one.account,
            f"who is signed in {one.unknown}",
            "its runs may fail as well",
            "start it by hand and look, or give it more time with --timeout",
            in_shell("agents", "account", "show", one.account),
        )
    if one.state == "file" and one.mode & 0o077:
        yield _warn(
            Area.LOGINS,
            one.account,
            f"its login {one.path} can be read by others (mode {one.mode & 0o777:04o})",
            "other users of this machine can use the account",
            "take the rights of others away",
            in_shell("chmod", "600", one.path),
        )


def judge_quota(seen: Sequence[SeenQuota], now: datetime) -> Iterator[Finding]:
    """Say whose quota is not known, and whose last run failed."""
    well: list[str] = []
    for one in seen:
        found = tuple(_judge_quota(one, now))
        yield from found
        if not found:
            age = "not known" if one.refreshed_at is None else f"{duration(now - one.refreshed_at)} old"
            well.append(f"{one.account} ({age})")
    if well:
        yield tell_well(Area.QUOTA, "as last read", ", ".join(well))
    if not seen:
        yield tell_well(Area.QUOTA, "there is no account to read")


def _judge_quota(one: SeenQuota, now: datetime) -> Iterator[Finding]:
    if one.is_disabled:
        return
    old = (
        "it was never read"
        if one.refreshed_at is None
        else f"the last reading is {duration(now - one.refreshed_at)} old"
    )
    follows = f"the choice among accounts goes by old numbers: {old}"
    if one.last_failure is not None and (one.has_source or one.can_have_source):
        cause = f"its quota could not be read: {cut_line(one.last_failure)}"
        is_login = means_login_is_over(one.last_failure)
        fix = (
            f"{fix_of(Category.AUTH_EXPIRED, account=one.account)}, then read it again"
            if is_login
            else "mend what it says, then read it again"
        )
        yield _warn(Area.QUOTA, one.account, cause, follows, fix, "agents quota check")
    elif not one.has_source and one.can_have_source:
        cause, fix = "no quota script is known", f"add `quota_script` to [{one.account}] in providers.toml"
        follows = "calls are counted instead of quota"
        yield _warn(Area.QUOTA, one.account, cause, follows, fix, "agents config path")
    elif one.has_source and (one.refreshed_at is None or now - one.refreshed_at > _OLD):
        yield _warn(
            Area.QUOTA, one.account, old, "the choice among accounts goes by that", "read it", "agents quota check"
        )


def _fail(area: Area, subject: str, cause: str, consequence: str, fix: str, command: str) -> Finding:
    return Finding(area, Severity.ERROR, subject, cause, consequence, fix, command)


def _warn(area: Area, subject: str, cause: str, consequence: str, fix: str, command: str) -> Finding:
    return Finding(area, Severity.WARNING, subject, cause, consequence, fix, command)
