"""`image …`: agents as images."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.base.questions import Questions, parse_agreed
from oulipoly_engine.cli.base.telling import tell
from oulipoly_engine.core.images.manifest import AGENT_KIND
from oulipoly_engine.core.text.columns import plain, size_text, table
from oulipoly_engine.errors import Declined, UsageInvalid
from oulipoly_engine.facade import output
from oulipoly_engine.facade.images.documents import (
    change_json,
    change_lines,
    comparison_json,
    describe_parts,
    image_json,
    materials_json,
    provenance_json,
    provenance_line,
)
from oulipoly_engine.records import asdict

if TYPE_CHECKING:
    from oulipoly_engine.core.images.info import ImageInfo
    from oulipoly_engine.core.images.manifest import Descriptor
    from oulipoly_engine.core.images.references import Reference
    from oulipoly_engine.core.images.signature import Verdict

_MORE = {  # behind the summary, in a command's help
    "build": "The same input gives the same digest: the image says no time, unless SOURCE_DATE_EPOCH or a LABEL does.",
    "pull": "Without a registry in REF, `registry serve` of this computer is asked. Who signs a name first is pinned.",
    "push": "Without a registry in REF, it goes to `registry serve` of this computer.",
    "verify": "Ends with 0 where somebody has signed it, and the one whom you have pinned, if you have.",
    "rm": "Every tag that means the same digest goes.",
}
_VERDICTS: Mapping[Verdict, str] = {
    "pinned": "signed by the publisher whom you have pinned",
    "new": "signed, and nobody was pinned for its name before",
    "unsigned": "not signed",
    "refused": "not signed by the publisher whom you have pinned",
}
_REFERENCE = "NAME[:TAG][@DIGEST], or a digest"


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Serve one of the verbs."""
    verb = name.partition(" ")[2]
    parser = Parser(prog=f"{context.program} {name}", command=name, more=_MORE.get(verb, ""))
    if verb == "build":
        parser.add_argument("path", type=Path, metavar="PATH", help="an Agentfile, its folder, or a definition (.md)")
        parser.add_argument(
            "-t", "--tag", action="append", default=[], metavar="REF", help="default: its NAME; repeatable"
        )
        parser.add_argument("--bin", default="", metavar="NAME", help="PATH is a program: build the image of a tool")
        parser.add_argument("--usage", type=Path, metavar="FILE", help="how the tool is used: its USAGE.md")
        parser.add_argument("--platform", default="", metavar="OS/ARCH", help="of the tool (default: this computer's)")
        parser.add_argument(
            "--annotation", action="append", default=[], metavar="KEY=VALUE", help="of the tool; repeatable"
        )
    elif verb == "import":
        parser.add_argument("file", type=Path, metavar="FILE", help="what `image export` has written")
        parser.add_argument("-t", "--tag", default="", metavar="REF", help="default: the reference that it had")
    elif verb == "diff":
        parser.add_argument("before", metavar="REF", help=_REFERENCE)
        parser.add_argument("after", metavar="REF", help="the same, of the newer one")
    elif verb != "ls":
        parser.add_argument("image", metavar="REF", help=_REFERENCE)
    if verb == "inspect":
        parser.add_argument("--sbom", action="store_true", help="its tools and its runtime, as CycloneDX 1.5 (JSON)")
    if verb == "tag":
        parser.add_argument("target", metavar="NEW_REF", help="NAME[:TAG]")
    if verb == "push":
        parser.add_argument("target", nargs="?", default="", metavar="TO", help="default: REF itself")
    if verb == "pull":
        parser.add_argument("--platform", default="", metavar="OS/ARCH", help="or `all` (default: this computer's)")
        parser.add_argument("-y", "--yes", action="store_true", help="also where it may do more than before")
    if verb == "sign":
        parser.add_argument("--key", type=Path, metavar="FILE", help="a PEM, Ed25519; default: your own, made once")
    if verb == "export":
        parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="a new file")
        parser.add_argument("--force", action="store_true", help="replace a file that is there")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return _VERBS[verb](context, parse_agreed(parser, name, arguments))


def _build(context: Context, options: Namespace) -> int:
    if options.bin:
        reference, entry = _build_tool(context, options)
    elif options.usage or options.platform or options.annotation:
        raise UsageInvalid("--usage, --platform and --annotation are of the image of a tool: name that with --bin")
    else:
        reference, entry = context.engine.images.build(options.path, tuple(options.tag))
    document = {"ref": reference.tagged, "digest": entry.digest, "manifest_digest": entry.digest}
    return tell(options, document, f"{reference.tagged} is built: {entry.digest}")


def _build_tool(context: Context, options: Namespace) -> tuple[Reference, Descriptor]:
    from oulipoly_engine.core.agents.plan import parse_pairs  # noqa: PLC0415 - few commands build tools
    from oulipoly_engine.facade.images.images import ToolSource  # noqa: PLC0415 - the same

    annotations = dict(parse_pairs(options.annotation, "--annotation"))
    source = ToolSource(options.bin, options.path, options.platform, options.usage, annotations)
    return context.engine.images.build_tool(source, tuple(options.tag))


def _list(context: Context, options: Namespace) -> int:
    images = context.engine.images.list()
    rows = [
        (plain(each.ref), each.digest[:19], size_text(each.size), _kind(each.media_type), plain(each.description))
        for each in images
    ]
    lines = table([("image", "digest", "size", "kind", "description"), *rows]) if rows else ()
    notes = () if rows else (f"there is no image: `{context.program} image build PATH` builds one",)
    return tell(options, {"images": [asdict(each) for each in images]}, *lines, notes=notes)


def _kind(media_type: str) -> str:
    return media_type.removeprefix("application/vnd.").removesuffix("+json")


def _inspect(context: Context, options: Namespace) -> int:
    if options.sbom:
        output.write_json(materials_json(*context.engine.images.list_materials(options.image)))
        return 0
    info = context.engine.images.inspect(options.image)
    image = context.engine.images.load(options.image) if info.media_type == AGENT_KIND else None
    lines = [*_info_lines(info)]
    if image is not None:
        rows = [("  part", "says", "where"), *describe_parts(image)]
        lines += table([tuple(map(plain, row)) for row in rows])
    provenance = context.engine.images.list_provenance(options.image)
    lines += [f"  {provenance_line(each)}" for each in provenance]
    document = image_json(info, image) | {"provenance": [provenance_json(each) for each in provenance]}
    return tell(options, document, *lines)


def _info_lines(info: ImageInfo) -> Iterator[str]:
    yield f"{plain(info.ref)}  {plain(info.description)}".rstrip()
    yield f"  digest  {info.digest}"
    yield f"  kind    {plain(info.media_type)}, {size_text(info.size)}"


def _diff(context: Context, options: Namespace) -> int:
    comparison = context.engine.images.compare(options.before, options.after)
    document = comparison_json(*comparison)
    changes = comparison[2]
    return tell(options, document, *(change_lines(changes) or ["the agents are the same"]))


def _pull(context: Context, options: Namespace) -> int:
    transfer = context.engine.image_transfer
    candidate = transfer.pull(options.image, options.platform)
    reference = candidate.reference.tagged
    digest = candidate.pulled.entry.digest
    if not options.json:
        output.write_lines(change_lines(candidate.changes))
    if candidate.is_weighty:
        question = f"{reference} would do something else than before. Take it?"
        if not Questions(is_agreed=options.yes).confirm(question):
            raise Declined(f"{reference} was left as it is")
    transfer.accept(candidate)
    verification = candidate.verification
    document = {
        "ref": reference,
        "digest": digest,
        "before": None if candidate.before is None else candidate.before.digest,
        "changes": [change_json(change) for change in candidate.changes],
        **asdict(verification),
    }
    return tell(options, document, f"{reference} is pulled: {digest}", f"it is {_VERDICTS[verification.verdict]}")


def _push(context: Context, options: Namespace) -> int:
    reference, entry = context.engine.image_transfer.push(options.image, options.target)
    document = {"ref": reference.tagged, "digest": entry.digest}
    return tell(options, document, f"{reference.tagged} is pushed: {entry.digest}")


def _sign(context: Context, options: Namespace) -> int:
    reference, entry, key = context.engine.image_transfer.sign(options.image, options.key)
    document = {"ref": reference.tagged, "digest": entry.digest, "key": key}
    return tell(options, document, f"{reference.tagged} is signed by the key {key[:16]}, which is pinned for its name")


def _verify(context: Context, options: Namespace) -> int:
    reference, entry, verification = context.engine.image_transfer.verify(options.image)
    provenance = context.engine.images.list_provenance(options.image)
    said = [provenance_json(each) for each in provenance]
    document = {"ref": reference.tagged, "digest": entry.digest, **asdict(verification), "provenance": said}
    signers = ", ".join(key[:16] for key in verification.signers) or "nobody"
    notes = (f"  {provenance_line(each)}" for each in provenance)
    tell(
        options, document, f"{reference.tagged} is {_VERDICTS[verification.verdict]}", f"  signed by  {signers}", *notes
    )
    return 0 if verification.verdict in ("pinned", "new") else 1


def _tag(context: Context, options: Namespace) -> int:
    entry = context.engine.images.tag(options.image, options.target)
    document = {"ref": options.target, "digest": entry.digest}
    return tell(options, document, f"{plain(options.target)} is {entry.digest}")


def _remove(context: Context, options: Namespace) -> int:
    removed = context.engine.images.remove(options.image)
    return tell(options, {"removed": removed}, f"removed: {plain(', '.join(removed) or options.image)}")


def _export(context: Context, options: Namespace) -> int:
    size = context.engine.images.export_to(options.image, options.output, force=options.force)
    document = {"ref": options.image, "path": str(options.output), "size": size}
    return tell(options, document, f"{plain(options.image)} is in {plain(str(options.output))}, {size_text(size)}")


def _import(context: Context, options: Namespace) -> int:
    reference, entry = context.engine.images.import_file(options.file, options.tag)
    document = {"ref": reference.tagged, "digest": entry.digest}
    return tell(options, document, f"{reference.tagged} is imported: {entry.digest}")


_VERBS: Mapping[str, Callable[[Context, Namespace], int]] = {
    "build": _build,
    "ls": _list,
    "inspect": _inspect,
    "diff": _diff,
    "pull": _pull,
    "push": _push,
    "sign": _sign,
    "verify": _verify,
    "tag": _tag,
    "rm": _remove,
    "export": _export,
    "import": _import,
}
