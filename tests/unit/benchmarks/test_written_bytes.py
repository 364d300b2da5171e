"""Bytes that a run writes into an index."""

from pathlib import Path

from benchmarks.written_bytes import WrittenBytes


def write(path: Path, size: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)


def test_new_and_rewritten_files_count_and_others_do_not(tmp_path: Path) -> None:
    write(tmp_path / "shards" / "0" / "old", 1000)
    write(tmp_path / "CURRENT", 10)
    written = WrittenBytes(tmp_path)
    write(tmp_path / "shards" / "1" / "new", 200)
    write(tmp_path / "CURRENT", 12)
    write(tmp_path / "annotations" / "part", 30)
    sizes = written.by_kind()
    assert (sizes["shards"], sizes["annotations"], sizes["other"]) == (200, 30, 12)
    assert sizes["all"] == 242


def test_staged_parts_count_though_they_are_gone(tmp_path: Path) -> None:
    written = WrittenBytes(tmp_path)
    part = tmp_path / "runs" / "1" / "staged" / "part"
    write(part, 100)
    written.look()
    part.unlink()
    written.look()
    write(tmp_path / "runs" / "1" / "report.json", 5)
    sizes = written.by_kind()
    assert (sizes["staged"], sizes["runs"], sizes["all"]) == (100, 5, 105)


def test_run_that_writes_nothing(tmp_path: Path) -> None:
    assert set(WrittenBytes(tmp_path / "not there").by_kind().values()) == {0}
