"""Processes of a terminal killed one by one: the program survives its screen, and nothing survives its host."""

import os
import signal
import subprocess
import sys

from oulipoly_engine.terminal.protocol import messages


def _kill_screen(hosts, terminal, waited, alive):
    victim = hosts.screen_pid(terminal)
    os.kill(victim, signal.SIGKILL)
    waited(lambda: not alive(victim), "the death of the screen's process")
    return victim


def test_screen_comes_back_and_the_client_is_told(hosts, waited, alive):
    terminal = hosts.shell()
    watcher = hosts.watch(terminal)
    watcher.types("kept=yes; echo before\n")
    watcher.shows("\nbefore")

    _kill_screen(hosts, terminal, waited, alive)

    assert "died and was started again" in watcher.hears(messages.HostNotice).text
    watcher.until(lambda: watcher.pictures[-1].full and len(watcher.pictures) > 1)
    watcher.types("echo $kept\n")
    watcher.shows("\nyes")
    assert "\nbefore" in watcher.text
    assert alive(terminal.pid)


def test_screen_comes_back_when_nobody_is_attached(hosts, waited, alive):
    terminal = hosts.start("sh", "-c", "echo written before; cat")
    watcher = hosts.watch(terminal)
    watcher.shows("written before")
    watcher.close()

    _kill_screen(hosts, terminal, waited, alive)

    hosts.watch(terminal).shows("written before")


def test_colours_modes_and_scrollback_come_back(hosts, waited, alive):
    script = r"stty -echo; seq 200; printf '\033[?2004h\033[32mgreen'; sleep 0.9; printf ' end'; cat -v"
    terminal = hosts.start("sh", "-c", script)
    watcher = hosts.watch(terminal)
    watcher.shows("green end")
    before = watcher.view.rows

    _kill_screen(hosts, terminal, waited, alive)
    watcher.hears(messages.HostNotice)
    watcher.until(lambda: watcher.view.rows == before)

    watcher.client.send(messages.RowsRequest(1, 0, 2))
    assert ["1", "2"] == [
        "".join(run.text for run in row) for _, row in watcher.view.answered_rows(watcher.hears(messages.RowsAnswer))
    ]
    watcher.client.send(messages.PasteInput("pasted"))
    watcher.types("\n")
    watcher.shows("[200~pasted")


def _kill_screen_three_times(hosts, terminal, watcher, waited, alive):
    for death in range(3):
        victim = _kill_screen(hosts, terminal, waited, alive)
        waited(lambda: hosts.now(terminal).screen_pid != victim, "the next process")  # noqa: B023 - called at once
        watcher.until(lambda: len([one for one in watcher.told if isinstance(one, messages.State)]) > death + 1)  # noqa: B023


def test_third_quick_death_leaves_a_notice_and_the_program_to_whoever_attaches_plainly(hosts, waited, alive):
    terminal = hosts.shell()
    watcher = hosts.watch(terminal)
    watcher.types("kept=yes; echo fi''rst\n")
    watcher.shows("first")

    _kill_screen_three_times(hosts, terminal, watcher, waited, alive)

    watcher.shows("has failed three times. Nothing can be drawn here.")
    assert "The program runs on." in watcher.text
    assert f"agents terminal attach {terminal.id}" in watcher.text
    state = [one for one in watcher.told if isinstance(one, messages.State)][-1]
    assert messages.NO_EMULATOR == state.emulator
    assert alive(terminal.pid)
    watcher.types("kept=no\n")  # typed by somebody who sees nothing of it, and so by nobody
    plain = hosts.watch(terminal)
    plain.client.send(messages.OutputRequest())
    plain.prints("first")  # what was printed before
    plain.types("echo $kept la''st\n")
    plain.prints("\nyes last")


def test_plain_client_that_reads_slowly_holds_up_nobody_and_sees_the_end(hosts, waited, alive):
    terminal = hosts.start("sh", "-c", "read x; seq 600000; echo over; cat")
    watcher = hosts.watch(terminal)
    watcher.until(lambda: watcher.pictures)
    _kill_screen_three_times(hosts, terminal, watcher, waited, alive)
    slow = hosts.watch(terminal)
    slow.client.send(messages.OutputRequest())

    slow.types("\n")
    quick = hosts.watch(terminal)
    quick.client.send(messages.OutputRequest())
    quick.prints("over")

    slow.prints("over")
    assert len(slow.output) < 4 << 20


def test_what_is_printed_between_two_processes_is_not_lost(hosts, waited, alive):
    script = "until [ -e go ]; do sleep 0.01; done; seq 300; echo all; touch printed; cat"
    terminal = hosts.start("sh", "-c", script)
    watcher = hosts.watch(terminal)
    watcher.until(lambda: watcher.pictures)
    os.kill(hosts.screen_pid(terminal), signal.SIGSTOP)
    (hosts.home / "go").touch()
    waited((hosts.home / "printed").exists)

    _kill_screen(hosts, terminal, waited, alive)

    watcher.shows("all")
    watcher.client.send(messages.SearchRequest(1, "299"))
    assert 1 == len(watcher.hears(messages.SearchAnswer).hits)


def test_end_of_the_program_between_two_processes_is_told(hosts, waited, alive):
    terminal = hosts.start("sh", "-c", "read x; exit 6")
    watcher = hosts.watch(terminal)
    watcher.until(lambda: watcher.pictures)
    screen = hosts.screen_pid(terminal)
    os.kill(screen, signal.SIGSTOP)
    watcher.types("\n")  # typed by nobody: the process that would is stopped

    os.kill(terminal.pid, signal.SIGKILL)
    waited(lambda: not hosts.now(terminal).is_running, "the record of the end")
    os.kill(screen, signal.SIGKILL)

    assert (137, 9) == (lambda exited: (exited.code, exited.signal))(watcher.hears(messages.Exited))


def test_killed_supervisor_orphans_nothing_and_the_client_hears_why(hosts, waited, alive, gone):
    terminal = hosts.start("sh", "-c", "trap '' HUP; echo deaf; while :; do sleep 0.1; done")
    watcher = hosts.watch(terminal)
    watcher.shows("deaf")
    screen = hosts.screen_pid(terminal)

    os.kill(terminal.host_pid, signal.SIGKILL)

    assert "was killed" in gone(watcher)
    waited(lambda: not any(map(alive, (terminal.pid, terminal.host_pid, screen))), "the end of all three")
    found = hosts.survey()
    assert [terminal.id] == [one.id for one in found.lost]
    assert [] == list(hosts.paths.runtime.glob("*"))


def test_both_killed_hang_up_on_the_program_and_what_is_left_is_tidied(hosts, waited, alive):
    terminal = hosts.start("cat")
    screen = hosts.screen_pid(terminal)

    for pid in (terminal.host_pid, screen):
        os.kill(pid, signal.SIGKILL)

    # Its terminal is closed before its lock is let go of.
    waited(lambda: not any(map(alive, (terminal.pid, terminal.host_pid, screen))), "the end of all three")
    assert hosts.place(terminal).socket.exists()
    found = hosts.survey()
    assert ((), [terminal.id], 1) == (found.living, [one.id for one in found.lost], found.stale_sockets)
    assert [] == list(hosts.paths.runtime.glob("*"))


def test_stopped_host_is_not_taken_for_a_dead_one(hosts, alive):
    terminal = hosts.start("cat")
    screen = hosts.screen_pid(terminal)
    for pid in (terminal.host_pid, screen):
        os.kill(pid, signal.SIGSTOP)

    found = hosts.survey()

    for pid in (screen, terminal.host_pid):
        os.kill(pid, signal.SIGCONT)
    assert [terminal.id] == [one.id for one in found.living]
    hosts.watch(terminal).until(lambda: alive(terminal.pid))


def test_hostile_output_leaves_program_and_host_alive(hosts, alive):
    noise = "import os,random,sys\nr=random.Random(5)\nfor _ in range(400): os.write(1, r.randbytes(2000))\n"
    noise += "os.write(1, b'\\033c\\033[!p\\033[?1049lover and out'); os.read(0, 1)"
    terminal = hosts.start("python3", "-c", noise)
    watcher = hosts.watch(terminal)

    watcher.shows("over and out")

    assert alive(terminal.pid)


def test_a_bug_in_a_host_leaves_its_traceback():
    code = "from oulipoly_engine.host.launcher import detach; detach(lambda: 1 / 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True, timeout=60)

    assert (0, True) == (done.returncode, "ZeroDivisionError" in done.stderr)
