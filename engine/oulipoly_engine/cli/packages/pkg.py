"""`pkg …`: packages of extensions, skills, prompts and themes."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, seconds
from oulipoly_engine.cli.base.questions import Questions, parse_agreed
from oulipoly_engine.cli.base.telling import SCHEMA_VERSION, tell
from oulipoly_engine.core.packages.lock import KINDS, Installed, Part, integrity_of
from oulipoly_engine.core.text.columns import plain, size_text, table
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.errors import Declined, RunnerError
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.packages.packages import NETWORK_TIMEOUT_S, Candidate, Details
from oulipoly_engine.records import asdict

_SHORT = {"extensions": "ext", "skills": "skill", "prompts": "prompt", "themes": "theme"}
_MORE = {  # behind the summary, in a command's help
    "install": "SOURCE is a folder, a .tgz or .tar.gz file, npm:NAME[@VERSION], github:OWNER/REPO[@REF], or an "
    "address: https://….git[#REF], ssh://….git[#REF], https://….tgz. No script of a package runs.",
    "diff": "SOURCE: compare with this one in place of where the package came from.",
    "update": "Where hooks, permissions or programs grow, you are asked; without a terminal that needs --yes.",
    "rollback": "Where it grows, you are asked as by `pkg update`. Another rollback undoes it.",
}
_SHOWN = 20  # paths of one kind of change


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Serve one of the verbs."""
    verb = name.partition(" ")[2]
    parser = Parser(prog=f"{context.program} {name}", command=name, more=_MORE.get(verb, ""))
    if verb == "install":
        parser.add_argument("source", metavar="SOURCE", help="a folder, an archive, npm:NAME or an address")
    elif verb == "update":
        parser.add_argument("packages", metavar="NAME", nargs="*", help="default: all")
    elif verb != "list":
        parser.add_argument("package", metavar="NAME", help="as `pkg list` has it")
    if verb == "diff":
        parser.add_argument("source", metavar="SOURCE", nargs="?", default="", help="default: where it came from")
    if verb == "rollback":
        parser.add_argument("--to", default="", metavar="VERSION", help="default: the last one before")
    if verb == "install":
        parser.add_argument("--project", action="store_true", help="have it count in this project alone")
    if verb in ("install", "update", "rollback"):
        parser.add_argument("-y", "--yes", action="store_true", help="also where it may do more than before")
    if verb in ("install", "update", "diff"):
        parser.add_argument(
            "--timeout", type=seconds, default=NETWORK_TIMEOUT_S, metavar="SECONDS", help="for the network; default: 30"
        )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return _VERBS[verb](context, parse_agreed(parser, name, arguments))


def _install(context: Context, options: Namespace) -> int:
    with context.engine.packages.candidate(options.source, options.timeout) as candidate:
        document, line = _take(context, options, candidate, in_project=options.project)
    return tell(options, document, line)


def _take(
    context: Context, options: Namespace, candidate: Candidate, *, in_project: bool | None = None
) -> tuple[dict[str, Any], str]:
    """Install a candidate; return its document and a line. Raises Declined where a person says no.

    in_project: as `Packages.install` has it.
    """
    name = f"{candidate.folder} {plain(candidate.content.manifest.version)}"
    document = _candidate_json(candidate) | {"is_changed": not candidate.is_same}
    if candidate.is_same:
        context.engine.packages.install(candidate, in_project=in_project)  # mends what is damaged, notes the source
        return document, f"{name} is what is installed already"
    _show(options, candidate)
    context.engine.packages.install(candidate, in_project=in_project)
    return document, f"{name} is {'installed' if candidate.installed is None else 'updated'}"


def _show(options: Namespace, candidate: Candidate) -> None:
    """Show what a candidate changes, and ask where it grows. Raises Declined where a person says no."""
    if not options.json:
        output.write_lines(_change_lines(candidate))
    if candidate.grows:
        question = f"{candidate.folder} would do more than before. Take it?"
        if not Questions(is_agreed=options.yes).confirm(question):
            raise Declined(f"{candidate.folder} was left as it is")


def _list(context: Context, options: Namespace) -> int:
    lock = context.engine.packages.lock()
    packages = lock.packages
    clashes = lock.clashes()
    if options.json:
        documents = [_installed_json(folder, each) for folder, each in packages.items()]
        twice = [{"kind": kind, "name": name, "packages": folders} for kind, name, folders in clashes]
        output.write_json({"schema_version": SCHEMA_VERSION, "packages": documents, "clashes": twice})
    elif not packages:
        diagnostics.note(f"no package is installed: `{context.program} pkg install SOURCE` installs one")
    else:
        rows = [
            (folder, plain(each.version), _count(each), plain(each.project) or "everywhere", plain(each.source))
            for folder, each in packages.items()
        ]
        output.write_lines(table([("package", "version", "brings", "counts", "from"), *rows]))
    for kind, name, folders in () if options.json else clashes:
        others = ", ".join(f"{folder}:{name}" for folder in folders[1:])
        diagnostics.note(f"{_SHORT[kind]} {name} is that of {folders[0]}; the long name reaches {others}")
    return 0


def _count(installed: Installed) -> str:
    """Return what a package brings: `2 ext, 1 skill`, or `-`."""
    counts = Counter(part.kind for part in installed.parts)
    return ", ".join(f"{counts[kind]} {_SHORT[kind]}" for kind in KINDS if counts[kind]) or "-"


def _info(context: Context, options: Namespace) -> int:
    details = context.engine.packages.details(options.package)
    return tell(options, _details_json(details), *_detail_lines(details))


def _diff(context: Context, options: Namespace) -> int:
    with context.engine.packages.candidate(options.source, options.timeout, options.package) as candidate:
        same = (f"{plain(candidate.folder)} would stay as it is",)
        return tell(options, _candidate_json(candidate), *(same if candidate.is_same else _change_lines(candidate)))


def _update(context: Context, options: Namespace) -> int:
    """Update one after the other: one that cannot be is named, and the others are."""
    names = options.packages or [*context.engine.packages.lock().packages]
    documents: list[dict[str, Any]] = []
    lines: list[str] = []
    code = 0
    for name in names:
        try:
            with context.engine.packages.candidate("", options.timeout, name) as candidate:
                document, line = _take(context, options, candidate)
        except RunnerError as error:
            code = code or error.exit_code
            document = {"name": name, "error": {"code": error.slug, "message": error.message}}
            line = f"{plain(name)} is not updated: {plain(error.message)}"
        documents.append(document)
        lines.append(line)
    tell(options, {"packages": documents}, *lines, notes=() if names else ("no package is installed",))
    return code


def _rollback(context: Context, options: Namespace) -> int:
    candidate = context.engine.packages.earlier(options.package, options.to)
    _show(options, candidate)
    before, now = context.engine.packages.roll_back(candidate)
    document = {"name": now.name, "before": before.version, "version": now.version, "integrity": now.integrity}
    return tell(options, document, f"{plain(now.name)} is {plain(now.version)} again, and was {plain(before.version)}")


def _uninstall(context: Context, options: Namespace) -> int:
    gone = context.engine.packages.uninstall(options.package)
    document = {"name": gone.name, "version": gone.version, "source": gone.source}
    return tell(options, document, f"{plain(gone.name)} {plain(gone.version)} is uninstalled")


def _installed_json(folder: str, installed: Installed) -> dict[str, Any]:
    """Return what is kept of a package as scripts get it."""
    previous = [{"version": each.version, "integrity": each.integrity} for each in installed.previous]
    return asdict(installed) | {"name": folder, "package": installed.name, "previous": previous}


def _candidate_json(candidate: Candidate) -> dict[str, Any]:
    """Return a package that is not installed yet, and what it would change."""
    changes = candidate.changes
    content = candidate.content
    files = {"added": changes.added, "removed": changes.removed, "changed": changes.changed}
    rights = {name: asdict(difference) for name, difference in changes.rights.items()}
    return {
        "name": candidate.folder,
        "package": content.manifest.name,
        "version": content.manifest.version,
        "before": None if candidate.installed is None else candidate.installed.version,
        "source": candidate.source.text,
        "commit": candidate.commit,
        "integrity": integrity_of(content.digest),
        "parts": [asdict(part) for part in content.parts],
        "changes": {"files": files, **rights},
        "grows": changes.grows,
    }


def _change_lines(candidate: Candidate) -> Iterator[str]:
    """Yield what a package brings, or what an update of it changes."""
    changes = candidate.changes
    content = candidate.content
    before = candidate.installed
    came = "" if before is None else f", now {plain(before.version)}"
    at = f" at {candidate.commit[:12]}" if candidate.commit else ""
    yield f"{candidate.folder} {plain(content.manifest.version)}{came}, from {plain(candidate.source.text)}{at}"
    yield from _part_lines(content.parts)
    if before is not None and candidate.is_wider:
        yield f"  + counts in {plain(candidate.project or 'every project')}, now in {plain(before.project)} alone"
    for name, difference in changes.rights.items():
        yield from (f"  + {name[:-1]}  {plain(redact(each))}" for each in difference.added)
        yield from (f"  - {name[:-1]}  {plain(redact(each))}" for each in difference.removed)
    if before is None:
        yield f"  {len(content.files)} files, {size_text(sum(file.size for file in content.files))}"
        return
    for sign, paths in (("+", changes.added), ("-", changes.removed), ("~", changes.changed)):
        yield from (f"  {sign} {plain(path)}" for path in paths[:_SHOWN])
        if len(paths) > _SHOWN:
            yield f"  {sign} and {len(paths) - _SHOWN} more files"


def _part_lines(parts: Sequence[Part], used: Collection[tuple[str, str]] | None = None) -> Iterator[str]:
    for part in parts:
        is_off = used is not None and (part.kind, part.name) not in used
        why = part.problem
        if is_off and not why:
            why = "switched off"
        yield f"  {_SHORT[part.kind]:6}  {part.name}" + (f"  ({plain(why)})" if why else "")


def _details_json(details: Details) -> dict[str, Any]:
    document = _installed_json(details.folder_name, details.installed)
    parts = [asdict(part) | {"used": (part.kind, part.name) in details.used} for part in details.installed.parts]
    files = [asdict(file) for file in details.content.files]
    return document | {
        "folder": str(details.folder),
        "parts": parts,
        "files": files,
        "damaged": details.damaged,
        **asdict(details.content.rights),
    }


def _detail_lines(details: Details) -> Iterator[str]:
    installed = details.installed
    yield f"{details.folder_name} {plain(installed.version)}  {plain(installed.description)}".rstrip()
    yield f"  from    {plain(installed.source)}" + (f" at {installed.commit}" if installed.commit else "")
    yield f"  folder  {plain(str(details.folder))}"
    if installed.project:
        yield f"  counts  in {plain(installed.project)} alone"
    yield from _part_lines(installed.parts, details.used)
    for name, rights in asdict(details.content.rights).items():
        yield from (f"  {name[:-1]}  {plain(redact(each))}" for each in rights)
    for name, version in installed.dependencies.items():
        yield f"  wants   {plain(name)} {plain(version)}, which is not installed by this"
    for each in installed.previous:
        yield f"  before  {plain(each.version)}, which `pkg rollback --to` brings back"
    yield f"  {len(details.content.files)} files, {size_text(sum(file.size for file in details.content.files))}"
    for path in details.damaged[:_SHOWN]:
        yield f"  {plain(path)} is not what was installed: install the package again"


_VERBS: Mapping[str, Callable[[Context, Namespace], int]] = {
    "install": _install,
    "list": _list,
    "info": _info,
    "diff": _diff,
    "update": _update,
    "rollback": _rollback,
    "uninstall": _uninstall,
}
