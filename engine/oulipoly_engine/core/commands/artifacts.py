"""Commands on artifacts: what agents keep and hand to each other. Pure."""

from __future__ import annotations

from oulipoly_engine.core.commands.command import Argument, destroys, reads, writes

_IMAGE = Argument("reference")
_ADDRESS = Argument("address")

COMMANDS = (
    reads("artifact show", "show artifact", "show what is known of a version, and how it begins", (_ADDRESS,)),
    writes(
        "artifact put", "put artifact", "store a file, or what is piped in, as the next version", (Argument("name"),)
    ),
    writes(
        "artifact get",
        "save artifact as",
        "print or save a version of an artifact, as it is",
        (_ADDRESS, Argument("file", is_rest=True)),
        ("download artifact", "export artifact"),
    ),
    reads("artifact list", "list artifacts", "list versions: of a run, of a name, with a label"),
    reads(
        "artifact of run",
        "artifacts of a run",
        "show what a run has returned, received, sent and kept, by its UUID",
        (Argument("run"),),
        ("returned files", "outputs", "attachments", "results"),
    ),
    reads(
        "artifact open",
        "open artifact",
        "read an artifact by its address; its secrets are hidden",
        (_ADDRESS,),
        ("show artifact", "preview artifact"),
    ),
    reads("artifact diff", "compare artifacts", "compare a version with the one before, or another", (_ADDRESS,)),
    writes(
        "artifact label", "label artifact", "give a version a label, or take it away", (_ADDRESS, Argument("label"))
    ),
    destroys(
        "artifact remove",
        "remove artifact",
        "mark versions of an artifact as removed",
        (_ADDRESS,),
        ("delete artifact", "tombstone"),
    ),
    destroys("artifact gc", "collect artifacts", "delete what was removed or has expired; set a limit"),
    writes(
        "image build",
        "build image",
        "build the image of an agent out of an Agentfile or a definition",
        (Argument("path"),),
        ("agentfile", "package agent", "oci"),
    ),
    reads("image ls", "images", "list the images of agents", synonyms=("agents images", "oci artifacts"), scope="view"),
    reads(
        "image inspect",
        "show image",
        "show what an agent is: each part, and where it comes from",
        (_IMAGE,),
        ("image parts",),
    ),
    reads(
        "image diff",
        "compare images",
        "show what an update of an agent changes: prompt, tools, permissions, network, mounts",
        (_IMAGE, Argument("image")),
        ("what an update changes",),
    ),
    writes(
        "image pull",
        "pull image",
        "get an image from a registry; an update is shown before it counts",
        (_IMAGE,),
        ("download agent", "update agent"),
    ),
    writes("image push", "push image", "put an image into a registry, signatures too", (_IMAGE,), ("share agent",)),
    writes("image sign", "sign image", "sign an image, so that others can tell whose it is", (_IMAGE,)),
    reads("image verify", "verify image", "say who has signed an image, and whom you have pinned", (_IMAGE,)),
    writes(
        "image tag", "tag image", "give an image another reference", (_IMAGE, Argument("reference")), ("name image",)
    ),
    destroys("image rm", "remove image", "remove an image with all its tags", (_IMAGE,), ("delete image",)),
    writes("image export", "export image", "write an image into one file, with its signatures", (_IMAGE,)),
    writes("image import", "import image", "take in an image that was exported", (Argument("file", is_rest=True),)),
    writes(
        "registry serve",
        "serve images",
        "serve a registry of images, to this computer alone unless you say so",
        synonyms=("oci registry", "docker registry"),
    ),
)
