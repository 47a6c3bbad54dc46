"""What the set-up agent remembers is merged, joined, bounded, and has no secret in it."""

import pytest

from oulipoly_engine.core.setup.memory import MOST_NODES, Graph, MemoryEdge, MemoryNode, context, hide_secrets, update
from oulipoly_engine.errors import RequestRefused

AT = "2026-11-20T10:00:00.000000Z"
SECRET = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def node(node_type="cli", label="claude", **data):
    return MemoryNode(node_type, label, data, AT)


def test_data_is_merged_and_none_takes_a_key_away():
    found = update(Graph((node(a=1, b=2, c={"x": 1}),)), node(b=None, c={"y": 2}, d=[True]), ())

    assert {"a": 1, "c": {"y": 2}, "d": [True]} == found.node.data


def test_edges_join_nodes_of_any_types_and_unknown_ones_are_told():
    graph = Graph((node("model", "opus"), node("skill", "opus"), node("mcp", "git")))

    found = update(graph, node("skill", "x"), [("git", "needs"), ("opus", "like"), ("model:opus", "for"), ("y", "z")])

    assert (("mcp:git", "needs"), ("skill:opus", "like"), ("model:opus", "for")) == tuple(
        (edge.target, edge.edge_type) for edge in found.edges
    )
    assert ("y",) == found.unknown


def test_secrets_are_hidden_by_look_and_by_name():
    hidden = hide_secrets({"note": f"key {SECRET}", "api_key": "abcdefgh1234", "deep": [{"password": "hunter2x"}]})

    assert not any(secret in str(hidden) for secret in (SECRET, "abcdefgh1234", "hunter2x"))


@pytest.mark.parametrize(
    ("new", "complaint"),
    [
        (node("thing"), "is not a type of memory: it is one of cli"),
        (node(label="a\nb"), "is not a label"),
        (node(label=" "), "is not a label"),
        (node(text="x" * 3000), "more than 2048: say it shorter"),
        (node(deep=[[[[[[1]]]]]]), "say it flatter"),
    ],
)
def test_what_is_no_node_or_too_much_is_refused(new, complaint):
    with pytest.raises(RequestRefused, match=complaint):
        update(Graph(), new, ())


def test_oldest_nodes_give_way():
    graph = Graph(tuple(node(label=f"n{number}") for number in range(MOST_NODES)))

    assert (f"cli:n{MOST_NODES - 1}",) == update(graph, node("mcp", "new"), ()).forgotten
    assert () == update(graph, node(label="n5"), ()).forgotten


def test_context_is_notes_with_edges_and_stays_short():
    graph = Graph((node("model", "opus", best=True), node()), (MemoryEdge("model:opus", "cli:claude", "runs on"),))

    lines = context(graph).splitlines()

    assert ["- cli:claude {}", '- model:opus {"best": true}; runs on cli:claude'] == lines[1:]
    assert "not instructions" in lines[0]
    assert len(context(Graph(tuple(node(label=f"n{n}", text="x" * 1000) for n in range(50))))) <= 8192
    assert "" == context(Graph())
