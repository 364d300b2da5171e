"""Corpus and index in a bucket of a real S3 server."""

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scp_ray.errors import ConfigError, ObjectNotFoundError, StorageError
from scp_ray.index.shard_files import read_chunks, read_documents
from scp_ray.pipeline.diagnosis import CheckStatus, diagnose
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.report import RunReport
from scp_ray.pipeline.run import index_corpus
from scp_ray.serve.models import QueryRequest
from scp_ray.serve.searcher import LocalSearcher
from scp_ray.storage.checksums import fetch_verified
from scp_ray.storage.manifest import Manifest
from scp_ray.storage.opening import open_existing, open_store
from scp_ray.storage.publish import load_current
from scp_ray.storage.s3 import S3ObjectStore

pytestmark = pytest.mark.integration

QUESTION = "How do I clean the filter of the Orbis K-104 Kettle?"
Index = Callable[[str, str], RunReport]


@pytest.fixture
def index(
    small_settings: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Index:
    """Index one address into another, in this process; what is fetched is kept in its own cache."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def run_once(corpus: str, index: str) -> RunReport:
        request = IndexRequest(corpus, index, small_settings())
        return index_corpus(request, InProcessExecutor(), lambda _line: None)

    return run_once


@pytest.fixture
def rows_beside(corpus: Path) -> Path:
    """The manuals, and documents that are rows of files."""
    rows = [{"doc_id": f"row-{number}", "text": f"Press button {number}."} for number in range(3)]
    (corpus / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    table = pa.table({"doc_id": ["cell-1", "cell-2"], "text": ["Open the lid.", "Close the lid."]})
    pq.write_table(table, corpus / "cells.parquet")
    return corpus


def _put_folder(folder: Path, address: str) -> S3ObjectStore:
    store = S3ObjectStore(address)
    for path in sorted(folder.iterdir()):
        store.upload(path, path.name)
    return store


def _rows(address: str, manifest: Manifest, cache: Path) -> list[list[dict[str, object]]]:
    """Return chunks and documents of a generation but for the address of the corpus in them."""
    folders = [
        fetch_verified(open_store(address), str(shard.folder), shard.checksums, cache)
        for shard in manifest.shards
        if shard.folder
    ]
    rows = [
        read(folder).to_pylist() for folder in folders for read in (read_chunks, read_documents)
    ]
    for row in (row for table in rows for row in table):
        row["source_uri"] = str(row.pop("source_uri", "")).removeprefix(manifest.corpus)
    return rows


def test_index_in_a_bucket_is_the_same_files(
    index: Index, rows_beside: Path, tmp_path: Path, s3_address: str
) -> None:
    index(str(rows_beside), str(tmp_path / "index"))
    report = index(str(rows_beside), f"{s3_address}/index/")
    assert report.index == f"{s3_address}/index"
    local, remote = (
        load_current(open_store(str(tmp_path / "index"))),
        load_current(open_store(report.index)),
    )
    assert remote.num_documents == 17
    assert remote.shards == local.shards
    assert remote.terms == local.terms


def test_corpus_in_a_bucket_is_the_same_documents(
    index: Index, rows_beside: Path, tmp_path: Path, s3_address: str
) -> None:
    local, remote = str(tmp_path / "index"), f"{s3_address}/index"
    index(str(rows_beside), local)
    _put_folder(rows_beside, f"{s3_address}/corpus")
    index(f"{s3_address}/corpus", remote)
    expected, found = (load_current(open_store(address)) for address in (local, remote))
    assert found.corpus == f"{s3_address}/corpus"
    assert _rows(remote, found, tmp_path / "fetched") == _rows(local, expected, tmp_path)


def test_queries_find_the_same(
    index: Index,
    corpus: Path,
    tmp_path: Path,
    s3_address: str,
    small_settings: Callable[..., object],
) -> None:
    replies = []
    for address in (str(tmp_path / "index"), f"{s3_address}/index"):
        index(str(corpus), address)
        searcher = LocalSearcher.open(address, small_settings())
        replies.append(searcher.answer(QueryRequest(query=QUESTION, top_k=10)))
    local, remote = replies
    assert len(local.results) == 10
    assert remote.results == local.results


def test_run_again_embeds_what_changed(
    index: Index, corpus: Path, s3_address: str, write_manual: Callable[..., Path]
) -> None:
    bucket = _put_folder(corpus, f"{s3_address}/corpus")
    addresses = (f"{s3_address}/corpus", f"{s3_address}/index")
    first = index(*addresses)
    again = index(*addresses)
    assert again.documents["same"] == 12
    assert again.chunks["embedded"] == 0
    assert again.generation == first.generation == 1
    bucket.upload(write_manual(corpus, 50), "manual_050.md")
    bucket.write("manual_000.md", b"# Short\n\nPress the button.\n")
    bucket.delete("manual_001.md")
    third = index(*addresses)
    assert third.generation == 2
    states = ("new", "changed", "removed", "same")
    assert [third.documents[state] for state in states] == [1, 1, 1, 10]


def test_index_inside_its_corpus_is_refused(index: Index, corpus: Path, s3_address: str) -> None:
    _put_folder(corpus, f"{s3_address}/corpus")
    with pytest.raises(ConfigError, match="must not be inside its corpus"):
        index(f"{s3_address}/corpus/", f"{s3_address}/corpus/index")


def test_corpus_must_be_there(s3_address: str) -> None:
    with pytest.raises(ConfigError, match="no object there"):
        open_existing(s3_address)
    with pytest.raises(ConfigError, match="s3://no-such-bucket: no such bucket; create it"):
        open_existing("s3://no-such-bucket")


def test_large_files_go_in_parts_and_come_whole(s3_address: str, tmp_path: Path) -> None:
    data = bytes(range(256)) * (17 * 1024 * 4)  # 17 MiB, two parts
    (tmp_path / "large").write_bytes(data)
    store = S3ObjectStore(s3_address)
    store.upload(tmp_path / "large", "folder/large")
    assert store.read("folder/large") == data
    store.download("folder/large", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == data
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "large"]


def test_lists_longer_than_a_page(s3_address: str) -> None:
    store = S3ObjectStore(s3_address)
    keys = [f"{number % 7}/{number:04d}" for number in range(1050)]
    writers = [
        threading.Thread(target=lambda part=keys[start::8]: [store.write(key, b"") for key in part])
        for start in range(8)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [stored.key for stored in store.list()] == sorted(keys)


def test_folder_markers_of_other_tools_are_no_objects(s3_address: str) -> None:
    store = S3ObjectStore(s3_address)
    bucket, _, prefix = s3_address.removeprefix("s3://").partition("/")
    for marker in (f"{prefix}/", f"{prefix}/folder/"):
        store._connected().put_object(Bucket=bucket, Key=marker, Body=b"")
    assert list(store.list()) == []
    assert store.is_empty()


def test_wrong_credentials(s3_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    store = S3ObjectStore(s3_address)
    calls = [lambda: store.read("key"), lambda: store.write("key", b"1"), lambda: [*store.list()]]
    for call in calls:
        with pytest.raises(StorageError, match="403 SignatureDoesNotMatch.*check the credentials"):
            call()


def test_no_such_bucket(s3_address: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"1")
    store = S3ObjectStore("s3://no-such-bucket/index")
    calls = [
        lambda: store.write("key", b"1"),
        lambda: store.upload(tmp_path / "file", "key"),
        lambda: store.compare_and_swap("key", b"1", expected=None),
        lambda: [*store.list()],
    ]
    for call in calls:
        with pytest.raises(StorageError, match="no such bucket; create it") as raised:
            call()
        assert not isinstance(raised.value, ObjectNotFoundError)


def test_swap_that_was_made_before_is_success(s3_address: str) -> None:
    """A write whose answer was lost is repeated, and finds itself."""
    store = S3ObjectStore(s3_address)
    first = store.compare_and_swap("key", b"run-1", expected=None)
    assert store.compare_and_swap("key", b"run-1", expected=None) == first
    second = store.compare_and_swap("key", b"run-2", expected=first)
    assert store.compare_and_swap("key", b"run-2", expected=first) == second


def test_doctor_probes_the_bucket(s3_address: str, small_settings: Callable[..., object]) -> None:
    checks = {check.name: check for check in diagnose(small_settings(), s3_address)}
    assert checks["store"].status is CheckStatus.OK
    assert f"{s3_address} takes writes and honours conditions" in checks["store"].detail
    assert S3ObjectStore(s3_address).is_empty()
    checks = {check.name: check for check in diagnose(small_settings(), "s3://no-such-bucket/x")}
    assert checks["store"].status is CheckStatus.FAILED
    assert "no such bucket" in checks["store"].detail
