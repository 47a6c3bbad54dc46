"""Whole garbage collections wait for a pause between keys."""

import gc
import platform
import subprocess
import sys
from time import monotonic

import pytest
from textual._styles_cache import StylesCache
from textual.app import App
from textual.screen import ModalScreen
from textual.strip import Strip

from oulipoly_tui.base.gc_tuning import QuietCollector, empty_large_caches, let_removed_widgets_go, let_strips_go
from oulipoly_tui.view.transcript.spans import Row
from oulipoly_tui.widgets import theming
from oulipoly_tui.widgets.lines import VirtualList


class Listing(App):
    def get_css_variables(self):
        return theming.with_own(super().get_css_variables())

    def __init__(self):
        super().__init__()
        let_strips_go()
        let_removed_widgets_go()

    def compose(self):
        yield VirtualList()


class Passing(ModalScreen):
    def compose(self):
        yield VirtualList()


@pytest.fixture
def collector():
    made = QuietCollector()
    made.begin()
    yield made
    made.end()


def middle_collections(count):
    for _ in range(count):
        gc.collect(1)


def test_whole_collection_waits_while_somebody_types(collector):
    gc.collect()
    middle_collections(20)

    assert not collector.look(typed_at=monotonic())
    assert gc.get_count()[2] >= 20


def test_pause_is_used(collector):
    gc.collect()
    middle_collections(20)

    assert collector.look(typed_at=monotonic() - 5)
    assert gc.get_count()[2] < 10


def test_shorter_pause_is_used_where_there_is_more(collector):
    gc.collect()
    middle_collections(20)
    assert not collector.look(typed_at=monotonic() - 0.1)

    middle_collections(20)
    assert collector.look(typed_at=monotonic() - 0.1)


def test_nothing_is_collected_that_is_not_worth_it(collector):
    gc.collect()

    assert not collector.look(typed_at=monotonic() - 5)


def test_free_memory_is_given_back_after_a_collection():
    given = []
    made = QuietCollector(lambda: given.append(True))
    made.begin()
    gc.collect()
    assert not made.look(typed_at=monotonic() - 5)
    assert [] == given

    middle_collections(20)
    assert made.look(typed_at=monotonic() - 5)
    made.end()

    assert [True] == given


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have one heap anyway")
def test_threads_share_one_heap(tmp_path):
    script = """
import ctypes, sys, threading
from oulipoly_tui.base.gc_tuning import share_heap

give_back = share_heap()
library = ctypes.CDLL(None)
library.malloc.restype = ctypes.c_void_p
together = threading.Barrier(6)

def work():
    together.wait()
    assert library.malloc(ctypes.c_size_t(5_000))
    together.wait()

threads = [threading.Thread(target=work) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
library.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(library.fopen(sys.argv[1].encode(), b"w"))
library.malloc_info(0, file)
library.fclose(file)
give_back()
"""
    told = tmp_path / "heaps.xml"
    subprocess.run([sys.executable, "-c", script, str(told)], check=True)

    assert 1 == told.read_text().count("<heap nr=")


def test_end_leaves_python_as_it_was():
    before = gc.get_threshold()
    made = QuietCollector()
    made.begin()
    during = gc.get_threshold()
    made.end()

    assert (before, during[:2]) == (gc.get_threshold(), before[:2])
    assert during[2] > before[2]


async def test_rows_that_were_drawn_leave_no_garbage():
    app = Listing()
    async with app.run_test(size=(80, 24)) as pilot:
        rows = app.query_one(VirtualList)
        rows.show_rows([Row(str(place), ((f"row {place}", ""),)) for place in range(1_000)])
        rows.focus()
        await pilot.pause()
        gc.collect()
        gc.disable()
        try:
            for _ in range(5):
                await pilot.press("ctrl+d")
                await pilot.pause()
            gc.set_debug(gc.DEBUG_SAVEALL)
            gc.collect()
            left = [one for one in gc.garbage if isinstance(one, Strip)]
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()

    assert "row 60" in str(rows.cursor_line)
    assert [] == left


async def test_rows_of_removed_widgets_are_not_kept():
    app = Listing()
    counts = []
    async with app.run_test(size=(80, 24)) as pilot:
        for _ in range(4):
            app.push_screen(Passing())
            await pilot.pause()
            await app.pop_screen()
            await pilot.pause()
            gc.collect()
            counts.append(sum(type(one) is StylesCache for one in gc.get_objects()))

    assert counts[0] == counts[-1]


def test_shared_caches_hold_no_more_than_they_may():
    for width in range(300):
        Strip.blank(width)
    empty_large_caches()
    assert Strip.blank.cache_info().currsize == 0

    Strip.blank(3)
    empty_large_caches()
    assert Strip.blank.cache_info().currsize == 1
