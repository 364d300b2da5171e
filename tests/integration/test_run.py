"""Runs in this process: what is published, taken over, refused."""

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scp_ray.errors import (
    ConfigError,
    DuplicateDocumentError,
    EmptyCorpusError,
    IndexQualityError,
    RemovalGuardError,
    RowAccountingError,
    RunInterruptedError,
)
from scp_ray.index.shard_files import read_chunks, read_documents
from scp_ray.index.sharding import shard_of
from scp_ray.pipeline.executor import InProcessExecutor, StageSpec
from scp_ray.pipeline.interrupt import interruptible
from scp_ray.pipeline.report import RunReport, RunStatus
from scp_ray.storage.manifest import Manifest

Run = Callable[..., RunReport]
ReadManifest = Callable[..., Manifest]
WriteManual = Callable[..., Path]


def doc_ids(tmp_path: Path, manifest: Manifest) -> list[str]:
    """Return every document of a generation, with one entry a chunk."""
    tables = [
        read_chunks(tmp_path / "index" / shard.folder).select(["doc_id"])
        for shard in manifest.shards
        if shard.folder
    ]
    return sorted(pa.concat_tables(tables)["doc_id"].to_pylist())


def crash() -> None:
    """Fail as no code of ours would."""
    message = "a crash"
    raise RuntimeError(message)


class StoppingExecutor(InProcessExecutor):
    """Raises after some outcomes of the stages came out, as a crash or a signal would."""

    def __init__(self, after: int, act: Callable[[], None]) -> None:
        super().__init__()
        self._after = after
        self._act = act

    def run(self, rows: pa.Table, stages: list[StageSpec]) -> Iterator[pa.Table]:
        for number, table in enumerate(super().run(rows, stages)):
            if stages[-1].name == "embed" and number == self._after:
                self._act()
            yield table


def test_first_run_publishes_every_document_once(
    run: Run, manifest: ReadManifest, tmp_path: Path
) -> None:
    report = run()
    published = manifest()
    assert report.status is RunStatus.DONE
    assert report.generation == published.generation == 1
    assert published.num_documents == 12
    assert len(set(doc_ids(tmp_path, published))) == 12
    assert len(doc_ids(tmp_path, published)) == published.num_chunks > 100
    for shard in published.shards:
        rows = read_documents(tmp_path / "index" / str(shard.folder))
        assert {shard_of(doc_id, 3) for doc_id in rows["doc_id"].to_pylist()} == {shard.shard_id}
    stored = json.loads((tmp_path / "index" / "runs" / report.run_id / "report.json").read_text())
    assert stored["documents"]["published"] == 12


def test_two_indexes_of_one_corpus_have_the_same_files(run: Run, manifest: ReadManifest) -> None:
    run(index="index")
    run("cluster.documents_per_batch=1", index="other")
    assert manifest("index").shards == manifest("other").shards


def test_unchanged_corpus_costs_nothing(run: Run, manifest: ReadManifest) -> None:
    run()
    report = run()
    assert report.documents["same"] == 12
    assert report.chunks["embedded"] == 0
    assert report.shards == {"built": 0, "reused": 3}
    assert (report.generation, report.published) == (1, False)
    assert manifest().generation == 1


def test_only_shards_with_a_change_are_built(
    run: Run, manifest: ReadManifest, corpus: Path, write_manual: WriteManual
) -> None:
    run()
    before = {shard.shard_id: shard for shard in manifest().shards}
    changed = write_manual(corpus, 3, sentences=80)
    report = run()
    touched = shard_of(changed.name, 3)
    after = {shard.shard_id: shard for shard in manifest().shards}
    assert (report.documents["changed"], report.shards["built"]) == (1, 1)
    assert [n for n in range(3) if before[n] != after[n]] == [touched]
    assert report.chunks["kept"] + report.chunks["embedded"] == manifest().num_chunks


def test_result_of_many_steps_is_that_of_one(
    run: Run, manifest: ReadManifest, corpus: Path, write_manual: WriteManual
) -> None:
    run()
    write_manual(corpus, 3, sentences=20)
    write_manual(corpus, 40)
    (corpus / "manual_005.md").unlink()
    report = run()
    assert (report.documents["changed"], report.documents["new"]) == (1, 1)
    assert report.documents["removed"] == 1
    run(index="fresh")
    assert manifest("index").shards == manifest("fresh").shards


def test_shrunken_document_leaves_no_chunk_behind(
    run: Run, manifest: ReadManifest, corpus: Path, tmp_path: Path, write_manual: WriteManual
) -> None:
    run()
    long = doc_ids(tmp_path, manifest()).count("manual_003.md")
    write_manual(corpus, 3, sentences=8)
    run()
    assert 0 < doc_ids(tmp_path, manifest()).count("manual_003.md") < long


def test_equal_texts_are_two_documents(
    run: Run, manifest: ReadManifest, corpus: Path, tmp_path: Path
) -> None:
    text = (corpus / "manual_003.md").read_text()
    (corpus / "copy.md").write_text(text)
    run()
    ids = doc_ids(tmp_path, manifest())
    assert ids.count("copy.md") == ids.count("manual_003.md") > 0
    (corpus / "copy.md").unlink()
    run()
    assert "copy.md" not in doc_ids(tmp_path, manifest())
    assert doc_ids(tmp_path, manifest()).count("manual_003.md") == ids.count("manual_003.md")


def test_new_shard_count_builds_without_embedding(run: Run, manifest: ReadManifest) -> None:
    run()
    report = run("index.num_shards=5")
    assert report.chunks["embedded"] == 0
    assert len(manifest().shards) == 5
    run("index.num_shards=5", index="fresh")
    assert manifest("index").shards == manifest("fresh").shards


def test_new_code_weight_builds_without_embedding(run: Run, manifest: ReadManifest) -> None:
    run()
    report = run("index.positional_code_weight=0.4")
    assert (report.chunks["embedded"], report.shards["built"]) == (0, 3)
    run("index.positional_code_weight=0.4", index="fresh")
    assert manifest("index").shards == manifest("fresh").shards


def test_other_annotator_does_every_document_again(run: Run) -> None:
    run()
    report = run("chop.annotator=none")
    assert report.documents["changed"] == 12


def test_more_shards_than_documents(run: Run, manifest: ReadManifest) -> None:
    run("index.num_shards=40")
    empty = [shard for shard in manifest().shards if shard.folder is None]
    assert len(empty) >= 28
    assert manifest().num_documents == 12


@pytest.mark.parametrize("after", [0, 1, 2, 3])
def test_failed_run_is_finished_by_the_next(
    run: Run, manifest: ReadManifest, tmp_path: Path, after: int
) -> None:
    with pytest.raises(RuntimeError, match="a crash"):
        run("cluster.documents_per_batch=3", executor=StoppingExecutor(after, crash))
    assert not (tmp_path / "index" / "CURRENT").exists()
    report = run()
    assert report.chunks["adopted"] > 0
    assert report.chunks["adopted"] + report.chunks["embedded"] == manifest().num_chunks
    run(index="fresh")
    assert manifest("index").shards == manifest("fresh").shards
    assert not list((tmp_path / "index" / "runs").rglob("*.parquet"))


@pytest.mark.parametrize("kind", ["documents", "chunks"])
def test_damaged_staged_part_is_done_again(
    run: Run, manifest: ReadManifest, tmp_path: Path, kind: str
) -> None:
    with pytest.raises(RuntimeError, match="a crash"):
        run("cluster.documents_per_batch=3", executor=StoppingExecutor(2, crash))
    for part in (tmp_path / "index" / "runs").rglob(f"*.{kind}.parquet"):
        part.write_bytes(part.read_bytes()[:-1] + b"?")
    report = run()
    assert report.chunks["adopted"] == 0
    run(index="fresh")
    assert manifest("index").shards == manifest("fresh").shards


def test_document_edited_between_stop_and_resume_is_published_as_edited(
    run: Run, manifest: ReadManifest, corpus: Path, write_manual: WriteManual
) -> None:
    with pytest.raises(RuntimeError, match="a crash"):
        run(
            "cluster.documents_per_batch=6",
            "index.num_shards=1",
            executor=StoppingExecutor(1, crash),
        )
    text = (corpus / "manual_003.md").read_text()
    (corpus / "manual_003.md").write_text(text.replace("filter", "vessel"))
    write_manual(corpus, 8, sentences=20)
    assert run("index.num_shards=1").chunks["adopted"] > 0
    run("index.num_shards=1", index="fresh")
    assert manifest("index").shards == manifest("fresh").shards


@pytest.mark.parametrize("content", [b"", b"{not json}\n", None])
def test_rows_of_a_file_that_broke_keep_their_previous_version(
    run: Run, corpus: Path, tmp_path: Path, manifest: ReadManifest, content: bytes | None
) -> None:
    rows = [{"doc_id": f"row-{n}", "text": f"Row number {n}. " * 50} for n in range(3)]
    good = "\n".join(map(json.dumps, rows)).encode()
    (corpus / "rows.jsonl").write_bytes(good)
    run()
    (corpus / "rows.jsonl").write_bytes(good[:-20] if content is None else content)
    report = run()
    assert report.status is RunStatus.PARTIAL
    assert report.documents["removed"] == 0
    kept = {failure.doc_id for failure in report.quarantined if failure.kept_previous}
    assert kept == ({"row-2"} if content is None else {"row-0", "row-1", "row-2"})
    assert {f"row-{n}" for n in range(3)} <= set(doc_ids(tmp_path, manifest()))


def test_bad_row_beside_a_good_one_of_the_same_name_is_told(run: Run, corpus: Path) -> None:
    rows = [{"doc_id": "d", "text": "good text " * 30}, {"doc_id": "d", "text": ""}]
    (corpus / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (failure,) = run().quarantined
    assert failure.doc_id == "rows.jsonl#1"


def test_file_name_that_is_no_unicode_is_told(run: Run, corpus: Path) -> None:
    name = os.fsencode(corpus) + b"/caf\xe9.md"
    with open(name, "wb") as file:  # noqa: PTH123 - no Path holds these bytes portably
        file.write(b"text " * 50)
    report = run()
    (failure,) = report.quarantined
    assert "rename it" in failure.detail
    assert report.documents["published"] == 12


def test_documents_lost_by_another_encoder_are_guarded(
    run: Run, manifest: ReadManifest, corpus: Path
) -> None:
    run()
    for number in range(6):
        (corpus / f"manual_{number:03d}.md").write_bytes(b"")
    with pytest.raises(RemovalGuardError, match="6 of 12 .* would be missing"):
        run("embedding.model=hash://16")
    assert manifest().generation == 1


@pytest.mark.parametrize("name", ["chunks.arrow", "index.faiss", "documents.parquet"])
@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_damaged_shard_is_made_again(
    run: Run, manifest: ReadManifest, tmp_path: Path, name: str, damage: str
) -> None:
    run()
    before = manifest().shards
    victim = tmp_path / "index" / str(before[0].folder) / name
    victim.unlink() if damage == "missing" else victim.write_bytes(victim.read_bytes()[:-9])
    report = run()
    assert report.documents["new"] == before[0].num_documents
    assert report.shards["built"] == 1
    assert manifest().shards == before
    run(index="fresh")
    assert manifest("fresh").shards == before
    assert victim.stat().st_size == before[0].files[name].size_bytes


def test_raised_recall_floor_is_held_for_shards_that_did_not_change(
    run: Run, tmp_path: Path, manifest: ReadManifest
) -> None:
    run()
    report = run("index.min_recall=1.0")
    below = [shard for shard in manifest().shards if shard.recall < 1.0]
    assert report.shards["built"] == len(below)


def test_sigterm_ends_in_order_and_the_next_run_goes_on(
    run: Run, manifest: ReadManifest, tmp_path: Path
) -> None:
    assert threading.current_thread() is threading.main_thread()
    executor = StoppingExecutor(1, lambda: os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(RunInterruptedError, match="run the same command again"), interruptible():
        run("cluster.documents_per_batch=3", executor=executor)
    (report_file,) = (tmp_path / "index" / "runs").glob("*/report.json")
    assert json.loads(report_file.read_text())["status"] == "interrupted"
    report = run()
    assert report.status is RunStatus.DONE
    assert report.chunks["adopted"] > 0
    assert manifest().num_documents == 12


def test_failed_document_keeps_its_previous_version(
    run: Run, manifest: ReadManifest, corpus: Path, tmp_path: Path
) -> None:
    run()
    before = doc_ids(tmp_path, manifest()).count("manual_003.md")
    (corpus / "manual_003.md").write_bytes(b"\x00\x01\x02\x03" * 100)
    report = run()
    assert report.status is RunStatus.PARTIAL
    (failure,) = report.quarantined
    assert (failure.doc_id, failure.kept_previous) == ("manual_003.md", True)
    assert doc_ids(tmp_path, manifest()).count("manual_003.md") == before > 0


def test_empty_corpus_is_refused(run: Run, corpus: Path) -> None:
    for path in corpus.iterdir():
        path.unlink()
    (corpus / "bad.md").write_bytes(b"")
    (corpus / "photo.jpg").write_bytes(b"x")
    with pytest.raises(EmptyCorpusError, match="no document that can be indexed. bad.md: empty"):
        run()


def test_missing_corpus_is_refused_and_leaves_no_index(
    run: Run, corpus: Path, tmp_path: Path
) -> None:
    for path in corpus.iterdir():
        path.unlink()
    corpus.rmdir()
    with pytest.raises(ConfigError, match="no such folder"):
        run()
    assert not (tmp_path / "index").exists()


def test_vanished_documents_are_guarded(
    run: Run, manifest: ReadManifest, corpus: Path, tmp_path: Path
) -> None:
    run()
    for number in range(6):
        (corpus / f"manual_{number:03d}.md").unlink()
    with pytest.raises(RemovalGuardError, match="6 of 12 published documents are gone"):
        run()
    assert manifest().generation == 1
    report = run(allow_removals=True)
    assert report.documents["removed"] == 6
    assert len(set(doc_ids(tmp_path, manifest()))) == 6


def test_removing_everything_needs_permission_and_gives_an_empty_generation(
    run: Run, manifest: ReadManifest, corpus: Path
) -> None:
    run()
    for path in corpus.iterdir():
        path.unlink()
    with pytest.raises(RemovalGuardError, match="12 of 12"):
        run()
    run(allow_removals=True)
    assert manifest().num_documents == 0


def test_duplicate_doc_id_names_both_sources(run: Run, corpus: Path) -> None:
    rows = [{"doc_id": "manual_001.md", "text": "other text"}]
    (corpus / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(DuplicateDocumentError, match="manual_001.md and rows.jsonl#0"):
        run()


def test_chunks_that_cannot_fit_the_encoder_are_refused_before_work(run: Run) -> None:
    with pytest.raises(ConfigError, match="256"):
        run("chunking.chunk_size_tokens=250")


def test_shard_below_the_recall_floor_is_not_published(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scp_ray.index.build.audit_graph", _poor_audit)
    with pytest.raises(IndexQualityError):
        run()
    assert not (tmp_path / "index" / "CURRENT").exists()


def _poor_audit(*_args: object, **_kwargs: object) -> None:
    message = "recall@10 is 0.10"
    raise IndexQualityError(message)


class LosingExecutor(InProcessExecutor):
    """Loses, doubles or invents rows on the way."""

    def __init__(self, tamper: Callable[[pa.Table], list[pa.Table]]) -> None:
        super().__init__()
        self._tamper = tamper

    def run(self, rows: pa.Table, stages: list[StageSpec]) -> Iterator[pa.Table]:
        for table in super().run(rows, stages):
            yield from self._tamper(table) if stages[-1].name == "embed" else [table]


@pytest.mark.parametrize(
    ("tamper", "message"),
    [
        (lambda _table: [], "12 documents were lost"),
        (lambda table: [table.slice(1)], "were lost between the stages"),
        (lambda table: [table, table], "came out of the stages twice"),
    ],
)
def test_lost_or_doubled_documents_stop_the_run(
    run: Run, tmp_path: Path, tamper: Callable[[pa.Table], list[pa.Table]], message: str
) -> None:
    with pytest.raises(RowAccountingError, match=message):
        run(executor=LosingExecutor(tamper))
    assert not (tmp_path / "index" / "CURRENT").exists()


def test_row_files_and_text_files_together(
    run: Run, manifest: ReadManifest, corpus: Path, tmp_path: Path
) -> None:
    rows = [{"doc_id": f"row-{n}", "text": f"Row number {n}. " * 50} for n in range(20)]
    (corpus / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    pq.write_table(
        pa.Table.from_pylist(
            [{"doc_id": f"cell-{n}", "text": f"Cell number {n}. " * 50} for n in range(5)]
        ),
        corpus / "rows.parquet",
    )
    run()
    assert len(set(doc_ids(tmp_path, manifest()))) == 37
