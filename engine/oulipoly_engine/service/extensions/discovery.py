"""Which extensions there are, and where each comes from. Nothing is imported: manifests are read, files are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from oulipoly_engine.config.extension_files import list_places, read_manifest
from oulipoly_engine.core.extensions.installed import Installed, Source, settle_names
from oulipoly_engine.core.extensions.manifest import FILE, NAME, Manifest
from oulipoly_engine.core.packages.lock import FILE as LOCK
from oulipoly_engine.paths import Paths, expand_user
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.extensions.digests import FileMark, mark_files, recall_digest
from oulipoly_engine.service.extensions.entry_points import EntryPoint, list_entry_points


class Places(Record):
    """Where extensions may lie beside those of Python's packages."""

    options: Sequence[Path] = ()  # that a command names for one start
    settings: Sequence[str] = ()  # the entries of the setting `extensions`
    packages: Sequence[Path] = ()
    project: Sequence[Path] = ()  # of one that a person trusts


def discover(paths: Paths, places: Places) -> tuple[Installed, ...]:
    """Return all extensions, each under a name of its own. One that cannot be used says why."""
    extensions = [_read(paths, path, "option") for path in places.options]
    extensions += [_read(paths, path, "user") for path in _list_named(places.settings)]
    extensions += [_read(paths, path, "user") for path in list_places(paths.extensions)]
    extensions += map(_read_entry_point(paths), list_entry_points(paths))
    extensions += [_read(paths, path, "package") for path in places.packages]
    extensions += [_read(paths, path, "project") for path in places.project]
    return settle_names(_drop_repeated(extensions))


def _drop_repeated(extensions: Iterable[Installed]) -> Iterator[Installed]:
    """Yield each place once: what a start names may lie in a folder of ours too."""
    seen: set[str] = set()
    for extension in extensions:
        if extension.place not in seen or not extension.place:
            seen.add(extension.place)
            yield extension


def _list_named(entries: Sequence[str]) -> Iterator[Path]:
    for entry in entries:
        if "/" in entry and not entry.startswith("!"):
            yield expand_user(entry)


def _read(paths: Paths, path: Path, source: Source) -> Installed:
    """Return the extension in a folder or file."""
    place = path.absolute()
    problem = ""
    manifest: Manifest | None = None
    try:
        loaded = read_manifest(paths, place)
        manifest = loaded.value
        problem = "" if manifest is not None else next((each.brief for each in loaded.problems), "it cannot be read")
    except OSError as error:
        problem = f"it cannot be read: {error.strerror or error}"
    installed = Installed(manifest or Manifest(_guess_name(place)), source, str(place), problem=problem)
    return installed if problem else _with_digest(paths, installed)


def _guess_name(place: Path) -> str:
    name = place.stem.lower()
    return name if NAME.fullmatch(name) else "unnamed"


def _with_digest(paths: Paths, installed: Installed) -> Installed:
    skips = installed.source == "installed"
    try:
        return replace(installed, digest=recall_digest(paths, Path(installed.place), skips_bytecode=skips))
    except (OSError, ValueError) as error:
        return replace(installed, problem=f"its files cannot be read: {error}")


def _read_entry_point(paths: Paths) -> Callable[[EntryPoint], Installed]:
    def read(point: EntryPoint) -> Installed:
        about = Manifest(point.name, point.version, point.summary, point.author, entry=point.value)
        if not NAME.fullmatch(point.name):
            named = replace(about, name="unnamed")
            return Installed(named, "installed", point.place, problem=f"{point.name[:64]!r} is not a valid name")
        if not point.place:
            return Installed(about, "installed", "", problem=f"its module {point.value!r} is not there")
        folder = Path(point.place)
        if (folder / FILE).is_file():
            loaded = read_manifest(paths, folder)
            if loaded.value is None:
                problem = next((each.brief for each in loaded.problems), "it cannot be read")
                return Installed(about, "installed", point.place, problem=problem)
            about = replace(loaded.value, name=point.name, entry=point.value)
        return _with_digest(paths, Installed(about, "installed", point.place))

    return read


def mark_places(paths: Paths) -> tuple[object, ...]:
    """Return what changes when an extension comes or goes in one of our folders, or a package does."""
    folders = [paths.extensions, paths.packages / LOCK]
    if paths.above.project is not None:
        folders.append(paths.above.project / "extensions")
    marks: list[object] = []
    for folder in folders:
        with suppress(OSError):
            marks.append((str(folder), folder.stat().st_mtime_ns))
    return tuple(marks)


def mark_installed(installed: Installed) -> tuple[FileMark, ...] | str:
    """Return what changes when any file of an extension is written; a text where they cannot be looked at."""
    if not installed.place:
        return "it is nowhere"
    try:
        return mark_files(Path(installed.place), skips_bytecode=installed.source == "installed")
    except (OSError, ValueError) as error:
        return str(error)
