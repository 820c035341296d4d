"""`bench.peers` without the others: what it prints, what it says is missing, and our own row."""

import subprocess

import msgspec
import pytest

from bench.peers.__main__ import compare
from bench.peers.build import FUSION, MINIFLUX, Built, Missing, Recipe, build
from bench.peers.measure import AFTER, CALLS, COLD, CROWD, CROWD_P95, DISK, DURING, FIRST, IDLE, POLLS, Sizes
from bench.peers.publisher import COMMON, NEW, AnswerCounts, Publisher, rare_word
from bench.peers.table import Row, aims, milliseconds, rate, ratios, table
from bench.peers.tsuzuki import OnSqlite

NAMES = ["Tsuzuki, SQLite", "Tsuzuki, PostgreSQL", "Miniflux", "yarr"]
ROWS = [
    Row("polls/s", {"Tsuzuki, SQLite": 3000.4, "Tsuzuki, PostgreSQL": 1500.0, "Miniflux": 1000.0}, rate, True),
    Row("one entry", {"Tsuzuki, SQLite": 0.002, "Miniflux": 0.004, "yarr": 1.5}, milliseconds),
]


def test_the_table_has_everyone_and_a_dash_for_no_figure():
    assert table(NAMES, ROWS).splitlines() == [
        "|  | Tsuzuki, SQLite | Tsuzuki, PostgreSQL | Miniflux | yarr |",
        "| --- | --- | --- | --- | --- |",
        "| polls/s | 3,000 | 1,500 | 1,000 | - |",
        "| one entry | 2.0 ms | - | 4.0 ms | 1.5 s |",
    ]


def test_ratios_compare_only_engines_that_both_support():
    assert ratios(NAMES, ROWS).splitlines() == [
        "| ours / theirs | SQLite / Miniflux | PostgreSQL / Miniflux | SQLite / yarr | better |",
        "| --- | --- | --- | --- | --- |",
        "| polls/s | 3.00 | 1.50 | - | more |",
        "| one entry | 0.50 | - | 0.00 | less |",
    ]


def test_without_others_there_are_no_ratios():
    assert ratios(NAMES[:2], ROWS) == ""


def test_an_aim_is_the_best_of_the_others():
    figures = {"Tsuzuki, SQLite": 400.0, "Tsuzuki, PostgreSQL": 9.0, "Fusion": 350.0, "yarr": 390.0}
    row = Row("polls/s: 304", figures, rate, is_more_better=True, is_speed=True)
    ahead = msgspec.structs.replace(row, times={"Fusion": 1.2})
    slower = Row("one entry", {"Tsuzuki, SQLite": 0.002, "yarr": 0.001, "Fusion": 0.004}, milliseconds, is_speed=True)
    first, second, third = aims([row, ahead, slower, *ROWS])
    assert "at least 390" in first
    assert "1.03 of yarr (390)" in first
    assert first.endswith("ok")
    assert "at least 420" in second
    assert "1.14 of Fusion (350)" in second
    assert second.endswith("MISSED")
    assert "at most 0.001" in third
    assert third.endswith("MISSED")


def test_without_a_checkout_it_says_how_to_give_one(tmp_path):
    with pytest.raises(Missing, match=r"Miniflux is left out: no checkout .* --miniflux or PEERS_MINIFLUX"):
        build(MINIFLUX, None, tmp_path, clones=False)


def test_a_folder_that_is_no_checkout_is_named(tmp_path):
    with pytest.raises(Missing, match=rf"Fusion is left out: {tmp_path} is no checkout of .*0x2E/fusion"):
        build(FUSION, tmp_path, tmp_path, clones=False)


def test_without_go_it_says_so(tmp_path, monkeypatch):
    (tmp_path / "go.mod").touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Missing, match="Miniflux is left out: there is no `go` on the PATH"):
        build(MINIFLUX, tmp_path, tmp_path, clones=False)


def test_a_build_that_fails_is_told_by_its_last_line(tmp_path, monkeypatch):
    (tmp_path / "go.mod").touch()
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\necho first >&2\necho 'no such module' >&2\nexit 1\n")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(Missing, match=r"Miniflux is left out: .* failed: no such module"):
        build(MINIFLUX, tmp_path, tmp_path, clones=False)


def test_a_clone_is_built_once(tmp_path, monkeypatch):
    source, cache = tmp_path / "source", tmp_path / "cache"
    source.mkdir()
    (source / "go.mod").touch()
    as_one = ("-c", "user.name=ann", "-c", "user.email=ann@example.org")
    for command in (("init", "-q"), ("add", "."), (*as_one, "commit", "-qm", "first")):
        subprocess.run(["git", "-C", source, *command], check=True)
    go = tmp_path / "go"
    go.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho built >> "$2"\n')
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    recipe = Recipe("Thing", str(source), (".",))
    built = [build(recipe, None, cache, clones=True) for _ in range(2)]
    assert built[0] == built[1]
    assert built[0].binary.read_text() == "built\n"


def test_a_built_program_is_taken_as_it_is(tmp_path):
    program = tmp_path / "miniflux"
    program.touch()
    assert build(MINIFLUX, program, tmp_path, clones=False) == Built(program, "as given")


def ask(publisher: Publisher, path: str, tag: str = "") -> tuple[str, bytes]:
    """The status and the body."""
    head, _, body = publisher.answer(f"GET /{path} HTTP/1.1\r\nIf-None-Match: {tag}".encode()).partition(b"\r\n\r\n")
    return head.split()[1].decode(), body


def test_the_publisher_tells_each_reader_what_its_mode_says():
    publisher = Publisher(4)
    status, first = ask(publisher, "one/7")
    assert (status, first.count(b"<item>"), first.count(COMMON.encode())) == ("200", 4, 4)
    assert first.count(f"{rare_word(7, 4)}<".encode()) == 1
    assert ask(publisher, "one/7", '"7-4"') == ("304", b"")
    ask(publisher, "set/one/mute")
    assert ask(publisher, "one/7", '"7-4"') == ("200", first)
    ask(publisher, "set/one/stir")
    stirred = [ask(publisher, "one/7")[1] for _ in range(2)]
    assert len({first, *stirred}) == 3
    assert {body[body.index(b"<item>") :] for body in stirred} == {first[first.index(b"<item>") :]}
    ask(publisher, "set/one/new")
    assert ask(publisher, "one/7", '"7-4"')[1].count(b"<item>") == 4
    answers = msgspec.json.decode(ask(publisher, "answers/one")[1], type=AnswerCounts)
    assert (answers.mode, answers.statuses, answers.published) == ("new", {"200": 1}, 4 + NEW)
    assert msgspec.json.decode(ask(publisher, "answers/two")[1], type=AnswerCounts).published == 0


async def test_our_own_row_is_whole_and_nothing_is_lost(tmp_path):
    sizes = Sizes(feeds=3, items=12, rounds=1, calls=1, hosts=2, settle=0)
    measuring = await compare([OnSqlite(tmp_path, at_once=4)], sizes)
    assert measuring.notes == []
    expected = {*POLLS, *CALLS, CROWD, CROWD_P95, DURING, COLD, IDLE, AFTER, DISK}
    figures = {what: measuring.figures[what].get("Tsuzuki, SQLite") for what in expected}
    assert [what for what, figure in figures.items() if not figure] == []
    assert FIRST in figures
