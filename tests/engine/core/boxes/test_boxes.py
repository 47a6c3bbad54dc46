"""A box becomes words of bubblewrap and rules of Landlock, and a level that cannot be had says why and what to do."""

import struct

import pytest

from oulipoly_engine.core.boxes import landlock
from oulipoly_engine.core.boxes.allow_list import Target, is_allowed, may_connect, parse_allowed, parse_request
from oulipoly_engine.core.boxes.box import (
    Access,
    Box,
    Level,
    Limits,
    Mount,
    Network,
    limit_words,
    list_unheld,
    protect_worktree,
)
from oulipoly_engine.core.boxes.bubblewrap import bubblewrap_words
from oulipoly_engine.core.boxes.levels import judge_guarded, judge_sealed
from oulipoly_engine.errors import InputInvalid

WORKTREE = protect_worktree("/w")


def joined(box):
    return " ".join(bubblewrap_words(box, ("tool", "a b")))


def test_later_mount_lies_over_an_earlier_one_and_what_runs_later_is_read_only():
    words = joined(Box(Level.SEALED, (*WORKTREE, Mount("/w/in", Access.READ, source="/outside")), folder="/w"))

    steps = ("--bind /w /w", "--bind-try /w/.git /w/.git", "--ro-bind-try /w/.git/hooks", "--ro-bind /outside /w/in")
    assert sorted(map(words.index, steps)) == [*map(words.index, steps)]
    assert words.endswith("--remount-ro /dev --remount-ro / --chdir /w -- tool a b")


@pytest.mark.parametrize(
    ("network", "has", "lacks"),
    [
        (Network.NONE, "--unshare-all", "--share-net"),
        (Network.SHARED, "--share-net", "/run/proxy.sock"),
        (Network.PROXY, "--bind /s /run/proxy.sock", "--share-net"),
    ],
)
def test_sealed_box_shows_the_network_that_was_asked_for(network, has, lacks):
    words = joined(Box(Level.SEALED, network=network, proxy="/s"))

    assert has in words
    assert lacks not in words


def test_limits_are_set_before_the_program_starts():
    limits = Limits(memory_bytes=1 << 20, processes=5, processor_s=7, file_bytes=1024)

    _, _, line, _, *argv = limit_words(limits, ("tool", "x"), running=100)

    assert ["tool", "x"] == argv
    assert "ulimit -v 1024; ulimit -f 2; ulimit -S -t 7; ulimit -H -t 8; " in line
    assert 'ulimit -u 105 2>/dev/null || ulimit -p 105; exec "$@"' in line
    assert ("tool",) == limit_words(Limits(), ("tool",))


def test_what_a_level_does_not_hold_is_named():
    mounts = (*WORKTREE, Mount("/h", Access.READ), Mount("/h/keys", Access.EMPTY))

    unheld = list_unheld(Box(Level.GUARDED, mounts))

    assert () == list_unheld(Box(Level.SEALED, mounts))
    assert "/w can be written as a whole, with what is to be read-only in it" in unheld
    assert "/h can be read as a whole, with what is to be hidden in it" in unheld
    assert list_unheld(Box(Level.NONE))


def test_limits_of_all_processes_together_are_a_control_groups_or_said_to_be_none():
    limits = Limits(data_bytes=64 << 20, processes=5, tree_bytes=2 << 20)
    alone = list_unheld(Box(Level.SEALED, limits=limits), is_root=True)
    grouped = Box(Level.SEALED, limits=limits, group=("/g",))

    assert [line.split(" ", 1)[0] for line in alone] == ["memory", "root", "files"]
    assert "64 MB for each process, not for all together" in alone[0]
    assert list_unheld(grouped, is_root=True) == alone[2:]
    assert (grouped.own_limits.data_bytes, grouped.own_limits.processes) == (64 << 20, None)


@pytest.mark.parametrize(
    ("abi", "network", "attributes"),
    [
        (1, Network.NONE, ((1 << 13) - 1,)),
        (3, Network.NONE, ((1 << 15) - 1,)),
        (4, Network.NONE, ((1 << 15) - 1, 3)),
        (5, Network.SHARED, ((1 << 16) - 1, 0)),
        (9, Network.PROXY, ((1 << 16) - 1, 3, 3)),
    ],
)
def test_ruleset_refuses_what_the_kernel_knows_of(abi, network, attributes):
    assert struct.pack(f"={len(attributes)}Q", *attributes) == landlock.pack_ruleset(abi, network)


def test_rules_grant_what_was_declared_and_a_file_no_rights_of_a_folder():
    mounts = (Mount("/r", Access.READ), Mount("/w", Access.WRITE), Mount("/s", Access.SCRATCH))

    rules = {rule.path: rule for rule in landlock.list_rules(Box(Level.GUARDED, mounts))}

    assert {"/r", "/w", "/usr", "/dev/null"} < set(rules)
    assert not {"/s", "/", "/home", "/etc/hosts"} & set(rules)
    assert not rules["/r"].rights & landlock.WRITE_FILE
    assert struct.pack("=Qi", landlock.EXECUTE | landlock.READ_FILE, 7) == landlock.pack_rule(
        rules["/r"], 7, 3, is_folder=False
    )


def run_filter(program, call, first=0, architecture=0xC000003E):
    """What the kernel would return for a call."""
    at, loaded = 0, 0
    data = struct.pack("=IIQQ", call, architecture, 0, first)
    while True:
        code, if_true, if_false, value = struct.unpack_from("=HBBI", program, at * 8)
        at += 1
        if code == 0x06:
            return value
        if code == 0x20:
            loaded = struct.unpack_from("=I", data, value)[0]
        else:
            at += if_true if (loaded == value if code == 0x15 else loaded >= value) else if_false


@pytest.mark.parametrize(
    ("network", "call", "first", "is_allowed"),
    [
        pytest.param(Network.NONE, 41, 1, True, id="unix"),
        pytest.param(Network.NONE, 41, 2, False, id="internet"),
        pytest.param(Network.PROXY, 41, 16, False, id="netlink"),
        pytest.param(Network.NONE, 42, 0, False, id="connect"),
        pytest.param(Network.PROXY, 42, 0, True, id="connect to the proxy"),
        pytest.param(Network.PROXY, 425, 0, False, id="io_uring"),
        pytest.param(Network.NONE, 0x40000000 + 41, 1, False, id="x32"),
        pytest.param(Network.NONE, 59, 2, True, id="execve"),
    ],
)
def test_filter_leaves_unix_sockets_alone(network, call, first, is_allowed):
    program = landlock.socket_filter("x86_64", network)

    assert is_allowed == (run_filter(program, call, first) == 0x7FFF0000)
    assert run_filter(program, call, first, architecture=0x40000003) == 0x0005000D
    assert landlock.socket_filter("vax", network) is None


@pytest.mark.parametrize(
    ("family", "is_allowed"), [(1, True), (2, True), (10, True), (16, True), (40, False), (0, False)]
)
def test_filter_of_a_namespace_lets_no_socket_out_of_the_machine(family, is_allowed):
    program = landlock.socket_filter("x86_64", Network.PROXY, landlock.OF_NAMESPACE)

    assert is_allowed == (run_filter(program, 41, family) == 0x7FFF0000)
    assert run_filter(program, 42, 0) == run_filter(program, 59, family) == 0x7FFF0000
    assert run_filter(program, 425, 0) == run_filter(program, 41, family, architecture=0x40000003) == 0x0005000D


@pytest.mark.parametrize(
    ("program", "failure", "settings", "expected"),
    [
        (None, "", {}, "not installed: install bubblewrap"),
        ("/b", "bwrap: Unknown option --disable-userns", {}, "older than 0.8"),
        ("/b", "denied", {"kernel.apparmor_restrict_unprivileged_userns": "1"}, "AppArmor"),
        ("/b", "denied", {"kernel.unprivileged_userns_clone": "0"}, "sysctl kernel.unprivileged_userns_clone=1"),
        ("/b", "denied", {"user.max_user_namespaces": "0"}, "user.max_user_namespaces=10000"),
        ("/b", "x\nbwrap: No permissions", {}, "bwrap: No permissions: allow this container"),
    ],
)
def test_sealed_says_why_not_and_what_to_do(program, failure, settings, expected):
    assert expected in judge_sealed(program, failure, settings).obstacle


def test_levels_that_can_be_had_have_no_obstacle():
    assert judge_sealed("/b", "", {}).is_available
    assert judge_guarded(3, has_filter=True).is_available
    assert "lsm=" in judge_guarded(0, has_filter=True).obstacle
    assert "Linux 6.2" in judge_guarded(2, has_filter=True).obstacle
    assert "sealed" in judge_guarded(7, has_filter=False).obstacle


ALLOWED = tuple(map(parse_allowed, ("example.org", "*.example.org:8443", "127.0.0.1:8080", "[::1]:80", "localhost:1")))


@pytest.mark.parametrize(
    ("line", "is_open"),
    [
        ("CONNECT example.org:443 HTTP/1.1", True),
        ("CONNECT EXAMPLE.org:443 HTTP/1.1", True),
        ("CONNECT example.org:22 HTTP/1.1", False),
        ("CONNECT a.example.org:8443 HTTP/1.1", True),
        ("CONNECT a.example.org:443 HTTP/1.1", False),
        ("CONNECT badexample.org:8443 HTTP/1.1", False),
        ("CONNECT [::1]:80 HTTP/1.1", True),
        ("GET http://example.org/a?b HTTP/1.1", True),
        ("GET http://example.org:81/ HTTP/1.1", False),
        ("GET http://127.0.0.1:8080/ HTTP/1.1", True),
        ("GET http://example.org@evil.org/ HTTP/1.1", False),
    ],
)
def test_list_of_addresses_lets_through_what_it_names(line, is_open):
    assert is_open == is_allowed(parse_request(line), ALLOWED)


@pytest.mark.parametrize(
    "line",
    [
        *("", "GET / HTTP/1.1", "GET https://example.org/ HTTP/1.1", "CONNECT example.org HTTP/1.1"),
        *("CONNECT a:b HTTP/1.1", "GET http://[ HTTP/1.1", "CONNECT a:99999 HTTP/1.1", "CONNECT a:1 SPDY"),
        "CONNECT a@b:1 HTTP/1.1",
    ],
)
def test_what_is_no_request_to_a_proxy_is_none(line):
    assert parse_request(line) is None


@pytest.mark.parametrize("text", ["", "*", "*.", "a b", "http://a", "a:0", "a:99999", "u@a"])
def test_entry_that_is_no_address_is_refused(text):
    with pytest.raises(InputInvalid, match="is not an address"):
        parse_allowed(text)


@pytest.mark.parametrize(
    ("host", "address", "may"),
    [
        ("example.org", "93.184.216.34", True),
        ("example.org", "169.254.169.254", False),
        ("example.org", "10.0.0.1", False),
        ("example.org", "::ffff:127.0.0.1", False),
        ("example.org", "fe80::1%eth0", False),
        ("10.0.0.1", "10.0.0.1", True),
        ("localhost", "127.0.0.1", True),
    ],
)
def test_name_leads_into_no_network_of_ours(host, address, may):
    assert may == may_connect(Target(host, 80, ""), address)
