"""The documents that are made from a seed."""

from pathlib import Path

from benchmarks.memory_job import write_documents


def made(folder: Path, count: int, seed: int = 1) -> dict[str, str]:
    folder.mkdir()
    write_documents(folder, count, 10_000, seed)
    return {path.name: path.read_text(encoding="ascii") for path in folder.iterdir()}


def test_documents_have_their_number_and_size(tmp_path: Path) -> None:
    texts = made(tmp_path / "some", 7)
    assert len(texts) == 7
    assert all(10_000 <= len(text) < 11_500 for text in texts.values())
    assert len(set(texts.values())) == 7


def test_a_seed_gives_one_corpus_and_a_larger_one_has_all_of_it(tmp_path: Path) -> None:
    few = made(tmp_path / "few", 3)
    assert few.items() <= made(tmp_path / "many", 5).items()
    assert few != made(tmp_path / "others", 3, seed=2)
