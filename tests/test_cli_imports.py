"""`tsuzuki import file` and `tsuzuki export --format mihon`, as somebody types them."""

from tests.test_cli_archive import run  # noqa: F401  a fixture
from tests.transfer.mihon.builders import a_backup, a_chapter, a_manga, packed
from tsuzuki.transfer.mihon.unpack import unpack


def test_a_backup_comes_in_and_goes_out_again(run, tmp_path):  # noqa: F811
    body = packed(a_backup(a_manga(title="Solo", chapters=[a_chapter("/c/1", number=1, read=1)])))
    (tmp_path / "mine.tachibk").write_bytes(body)
    looked = run("import", "file", "mine.tachibk", "--preview")
    assert (looked.exit_code, looked.stdout) == (0, "mine.tachibk (mihon): 1 series, 1 chapters, 1 follows.\n")
    assert "Without a source here" in looked.stderr
    done = run("import", "file", "mine.tachibk")
    assert done.exit_code == 0
    assert "chapters: 1 created, 0 existing, 0 skipped.\n" in done.stdout
    assert run("export", "--format", "mihon", "--output", "out.tachibk").stdout == "out.tachibk\n"
    [portion] = unpack((tmp_path / "out.tachibk").read_bytes()).portions
    assert [head.title for head in portion.heads] == ["Solo"]


def test_what_is_no_file_of_a_kind_is_refused(run, tmp_path):  # noqa: F811
    (tmp_path / "x").write_text("hello")
    done = run("import", "file", "x")
    assert done.exit_code == 1
    assert "none that can be imported" in done.stderr
