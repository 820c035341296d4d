"""`bench.flame`: what it reads out of recorded stacks."""

from bench.flame import area_of, parse_stacks, show

STACKS = """\
run (asyncio/runners.py);read (/srv/src/tsuzuki/db/sqlite.py:12);execute (apsw/shell.py) 30
run (asyncio/runners.py);root (inbox.html:3) 20
_worker (concurrent/futures/thread.py) 900
run (asyncio/runners.py);main (.venv/lib/python3.11/site-packages/aiohttp/client.py) 50
"""


def test_time_counts_for_the_area_of_ours_that_called():
    areas = [area_of(frames) for frames, _ in parse_stacks(STACKS)]
    assert areas == ["tsuzuki/db", "templates", "concurrent", "aiohttp"]


def test_threads_that_wait_are_left_out(capsys):
    show("a case", parse_stacks(STACKS))
    said = capsys.readouterr().out
    assert "a case: 100 samples" in said
    assert "aiohttp 50%, tsuzuki/db 30%, templates 20%" in said
