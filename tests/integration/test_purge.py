"""A purged document is in no file any more, whatever happened before and in between."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scp_ray.cli import main
from scp_ray.config import Settings
from scp_ray.errors import ChecksumError, ConfigError, RunInterruptedError
from scp_ray.index.sharding import shard_of
from scp_ray.pipeline.diagnosis import CheckStatus, diagnose
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.purge import Purged, purge_document
from scp_ray.pipeline.report import RunReport
from scp_ray.pipeline.run import index_corpus
from scp_ray.pipeline.verification import verify_index
from scp_ray.protocols import GenerationRequest, ObjectStore
from scp_ray.serve.models import QueryRequest
from scp_ray.serve.searcher import LocalSearcher
from scp_ray.storage.garbage import Retention, collect_garbage
from scp_ray.storage.generations import list_generations, roll_back
from scp_ray.storage.lease import Lease, acquire, kept_alive
from scp_ray.storage.local import LocalObjectStore
from scp_ray.storage.manifest import Manifest
from scp_ray.storage.opening import open_store
from scp_ray.storage.publish import load_current, read_state
from scp_ray.storage.s3 import S3ObjectStore
from scp_ray.testing import ScriptedGenerator

Index = Callable[..., RunReport]
Capture = pytest.CaptureFixture[str]

NUM_SHARDS = 3
# Its shard is the first one that a run builds.
SECRET = next(
    name
    for name in (f"secret_{number}.md" for number in count())
    if shard_of(name, NUM_SHARDS) == 0
)
WORDS = ("quolsterbane", "zyxomma", "vrittelmost")
TEXT = "".join(
    f"The patient {WORDS[number % 2]} was seen in ward {number} and had the finding {number * 7}.\n"
    for number in range(40)
)


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary folder of a machine of its own, with its cache; it never loses its power."""
    folder = tmp_path / "machine"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setattr("os.fsync", lambda _handle: None)
    return folder


@pytest.fixture
def corpus(tmp_path: Path, write_manual: Callable[..., Path]) -> Path:
    """Five manuals and the secret."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for number in range(5):
        write_manual(folder, number, sentences=20)
    (folder / SECRET).write_text(TEXT)
    return folder


@pytest.fixture
def index(corpus: Path, tmp_path: Path, small_settings: Callable[..., Settings]) -> Index:
    """Index the corpus into ``<tmp_path>/index``; or stop when the first shard is built."""

    def run_once(address: str = str(tmp_path / "index"), *, is_stopped: bool = False) -> RunReport:
        def progress(line: str) -> None:
            if is_stopped and line.startswith("built"):
                raise RunInterruptedError(line)

        request = IndexRequest(str(corpus), address, small_settings(), allow_removals=True)
        return index_corpus(request, InProcessExecutor(), progress)

    return run_once


@pytest.fixture
def store(tmp_path: Path) -> LocalObjectStore:
    return LocalObjectStore(tmp_path / "index")


@contextmanager
def leased(store: ObjectStore) -> Iterator[Lease]:
    """A lease without heartbeats, which take no part in the count of calls."""
    lease = acquire(store, "test", 0.02, lambda _line: None)
    yield lease
    lease.release()


def purge(store: ObjectStore) -> Purged:
    with leased(store) as lease:
        return purge_document(store, SECRET, lease, lambda _line: None)


def go_back(store: ObjectStore, generation: int) -> Manifest:
    with leased(store) as lease:
        return roll_back(store, generation, lease.fence)


def collect(store: ObjectStore, grace_s: float) -> None:
    with leased(store) as lease:
        collect_garbage(store, Retention(1, grace_s, now=0.0), lease.fence)


def spelled_out(path: Path) -> str:
    """Everything that a file says: the rows of a table, or its bytes."""
    if path.name.endswith(".parquet"):
        return json.dumps(pq.read_table(path).to_pylist(), default=repr)
    if path.name.endswith(".arrow"):
        return json.dumps(pa.ipc.open_file(path.read_bytes()).read_all().to_pylist())
    return path.read_bytes().decode("latin-1")


def files_with(words: tuple[str, ...], *folders: Path) -> list[str]:
    return [
        str(path)
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(word in spelled_out(path).lower() for word in words)
    ]


def committed(store: ObjectStore) -> list[int]:
    return [one.generation for one in list_generations(store)]


def answers(address: str, settings: Settings) -> set[str]:
    """The documents of the replies to the secret itself."""
    searcher = LocalSearcher.open(address, settings)
    request = QueryRequest(query=TEXT[:200], top_k=50, lexical_weight=0.5)
    return {result.doc_id for result in searcher.answer(request).results}


def test_nothing_that_is_left_has_its_text(
    index: Index,
    store: LocalObjectStore,
    corpus: Path,
    tmp_path: Path,
    write_manual: Callable[..., Path],
    small_settings: Callable[..., Settings],
) -> None:
    index()
    (corpus / SECRET).write_text(TEXT.replace("zyxomma", "vrittelmost"))
    index()
    write_manual(corpus, 1, sentences=40)
    index()
    (corpus / SECRET).write_text(TEXT + "He was sent home.\n")
    with pytest.raises(RunInterruptedError):
        index(is_stopped=True)
    leftover = tmp_path / "index" / "shards" / "00000" / ".tmp-killed"
    leftover.write_text(TEXT)
    assert SECRET in answers(store.url, small_settings())
    assert len(files_with(WORDS, tmp_path / "index")) > 12

    done = purge(store)
    assert files_with((*WORDS, SECRET), tmp_path / "index", tmp_path / "machine") == []
    assert done.is_proven
    assert done.traces.generations == [1, 2, 3]
    assert (len(done.traces.shards), len(done.traces.parts)) == (4, 1)
    assert (done.generation, done.published) == (4, True)
    assert done.proof.objects_checked == len(list(store.list()))
    assert done.proof.probes == 32
    assert committed(store) == [4]
    assert verify_index(store, lambda _line: None) == []
    assert answers(store.url, small_settings()) == {f"manual_00{n}.md" for n in range(5)}
    with pytest.raises(ConfigError, match="has no generation 3; there are: 4"):
        roll_back(store, 3, fence=99)

    again = purge(store)
    assert again.is_proven
    assert not again.was_found
    assert (again.generation, again.published, again.keys) == (4, False, [])


def test_generations_without_it_stay(index: Index, store: LocalObjectStore, corpus: Path) -> None:
    (corpus / SECRET).unlink()
    index()
    (corpus / SECRET).write_text(TEXT)
    index()
    (corpus / SECRET).unlink()
    index()
    done = purge(store)
    assert done.traces.generations == [2]
    assert (done.generation, done.published, committed(store)) == (3, False, [1, 3])
    assert files_with(WORDS, Path(store.url)) == []
    assert verify_index(store, lambda _line: None) == []
    assert go_back(store, 1).num_documents == 5


def test_retired_generations_go_without_grace_if_they_hold_it(
    index: Index, store: LocalObjectStore, corpus: Path, write_manual: Callable[..., Path]
) -> None:
    (corpus / SECRET).unlink()
    index()
    (corpus / SECRET).write_text(TEXT)
    index()
    write_manual(corpus, 2, sentences=30)
    index()
    collect(store, grace_s=3600.0)
    done = purge(store)
    assert done.traces.generations == [2, 3]
    current = read_state(store).current
    assert current is not None
    assert [one.entry.generation for one in current.retired] == [1]
    assert files_with(WORDS, Path(store.url)) == []
    assert len(list(Path(store.url).glob("generations/*/manifest.json"))) == 2


def test_generation_that_readers_went_back_to_is_the_one_that_is_made_anew(
    index: Index, store: LocalObjectStore, corpus: Path
) -> None:
    index()
    (corpus / SECRET).unlink()
    (corpus / "manual_004.md").unlink()
    index()
    go_back(store, 1)
    done = purge(store)
    assert (done.traces.generations, done.generation, committed(store)) == ([1], 3, [2, 3])
    manifest = load_current(store)
    assert (manifest.num_documents, manifest.parent) == (5, 1)
    assert files_with(WORDS, Path(store.url)) == []


def test_last_document_of_an_index(
    index: Index, store: LocalObjectStore, corpus: Path, small_settings: Callable[..., Settings]
) -> None:
    for path in corpus.glob("manual_*.md"):
        path.unlink()
    index()
    done = purge(store)
    assert done.is_proven
    assert load_current(store).num_documents == 0
    assert files_with(WORDS, Path(store.url)) == []
    assert verify_index(store, lambda _line: None) == []
    assert answers(store.url, small_settings()) == set()
    assert index().generation == 3
    assert answers(store.url, small_settings()) == {SECRET}


def test_next_run_takes_it_again_from_the_corpus(
    index: Index, store: LocalObjectStore, corpus: Path
) -> None:
    index()
    purge(store)
    report = index()
    assert (report.generation, report.documents["new"], report.documents["same"]) == (3, 1, 5)
    (corpus / SECRET).unlink()
    purge(store)
    report = index()
    assert (report.generation, report.published, report.documents["same"]) == (4, False, 5)


def test_of_two_documents_with_equal_text_the_other_stays(
    index: Index, store: LocalObjectStore, corpus: Path, small_settings: Callable[..., Settings]
) -> None:
    (corpus / "twin.md").write_text(TEXT)
    (corpus / SECRET).write_text(TEXT + TEXT.replace("patient", "doctor"))
    index()
    done = purge(store)
    assert done.is_proven
    assert done.proof.also_in == ["twin.md"]
    assert 0 < done.proof.probes < 32
    assert files_with((SECRET, "doctor"), Path(store.url)) == []
    assert answers(store.url, small_settings()) >= {"twin.md"}
    assert verify_index(store, lambda _line: None) == []


def test_staged_parts_of_a_first_run_that_was_stopped(
    index: Index, store: LocalObjectStore, small_settings: Callable[..., Settings]
) -> None:
    with pytest.raises(RunInterruptedError):
        index(is_stopped=True)
    done = purge(store)
    assert done.is_proven
    assert (len(done.traces.parts), done.generation) == (1, None)
    assert files_with(WORDS, Path(store.url)) == []
    report = index()
    assert report.documents["published"] == 6
    assert report.chunks["adopted"] > 0
    assert purge(store).published


def test_parts_without_it_outlive_the_purge_and_the_next_gc(
    index: Index, store: LocalObjectStore, write_manual: Callable[..., Path], corpus: Path
) -> None:
    index()
    other = next(f"m{n}.md" for n in count() if shard_of(f"m{n}.md", NUM_SHARDS) == 1)
    write_manual(corpus, 7).rename(corpus / other)
    with pytest.raises(RunInterruptedError):
        index(is_stopped=True)
    (staged,) = Path(store.url).glob("runs/*/staged")  # of a run in the second after the first
    staged.parent.rename(staged.parent.with_name("29990101T000000-bbbb"))
    purge(store)
    collect(store, grace_s=0.0)
    report = index()
    assert (report.documents["new"], report.chunks["adopted"] > 0) == (2, True)


def test_part_that_no_run_can_use_goes(index: Index, store: LocalObjectStore) -> None:
    with pytest.raises(RunInterruptedError):
        index(is_stopped=True)
    tables = list(Path(store.url).glob("runs/*/staged/*/*.documents.parquet"))
    for path in tables:
        path.write_bytes(path.read_bytes()[:-1])
    done = purge(store)
    assert done.is_proven
    assert len(done.traces.broken_parts) == len(tables)
    assert done.proof.probes == 32
    assert files_with(WORDS, Path(store.url)) == []


def test_other_objects_that_hold_its_text_are_named(
    index: Index, store: LocalObjectStore, capsys: Capture
) -> None:
    index()
    store.write("exports/replies.json", json.dumps({"text": TEXT}).encode())
    rows = pa.table({"reply": [["first", TEXT]], "at": [1.0]})
    pq.write_table(rows, Path(store.url, "exports", "replies.parquet"))
    store.write("exports/plain.txt", b"\xff" + TEXT.encode())
    store.write("exports/other.txt", b"The patient was seen in ward 3.")
    assert main(["purge", store.url, SECRET]) == 1
    shown = capsys.readouterr().out
    for name in ("replies.json", "replies.parquet", "plain.txt"):
        assert f"still holds it: exports/{name}" in shown
    assert "other.txt" not in shown
    assert "nothing holds its text any more" not in shown
    shutil.rmtree(Path(store.url, "exports"))
    assert main(["purge", store.url, SECRET]) == 0


DAMAGED_TABLES = ["documents.parquet", "chunks.arrow"]


def damage(path: Path) -> bytes:
    """Change a byte and return the file as it was."""
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    return whole


def test_damaged_rows_of_other_documents_are_named(
    index: Index, store: LocalObjectStore, capsys: Capture
) -> None:
    index()
    damaged = next(Path(store.url).glob("shards/00001/*/chunks.arrow"))
    whole = damage(damaged)
    assert main(["purge", store.url, SECRET]) == 1
    key = damaged.relative_to(store.url).as_posix()
    shown = capsys.readouterr().out
    assert f"cannot be looked into: {key}: its bytes are not those" in shown
    assert "not proven" in shown
    damaged.write_bytes(whole)
    assert purge(store).is_proven


@pytest.mark.parametrize("harm", [damage, Path.unlink])
def test_nothing_is_changed_when_the_current_generation_has_lost_documents(
    harm: Callable[[Path], object], index: Index, store: LocalObjectStore
) -> None:
    index()
    harm(next(Path(store.url).glob("shards/00001/*/documents.parquet")))
    before = [stored.key for stored in store.list()]
    with pytest.raises(ChecksumError, match="generation 1 cannot be read|documents.parquet"):
        purge(store)
    assert [stored.key for stored in store.list()] == before


@pytest.mark.parametrize("names", [*([name] for name in DAMAGED_TABLES), DAMAGED_TABLES])
def test_damaged_shard_of_an_old_generation_goes_if_one_table_tells_that_it_holds_it(
    names: list[str], index: Index, store: LocalObjectStore, corpus: Path
) -> None:
    index()
    (folder,) = Path(store.url).glob("shards/00000/*")
    (corpus / SECRET).unlink()
    index()
    for name in names:
        damage(folder / name)
    done = purge(store)
    if len(names) == 1:
        assert done.is_proven
        assert committed(store) == [2]
        assert files_with(WORDS, Path(store.url)) == []
    else:
        assert not done.is_proven
        assert [line.partition(":")[0] for line in done.proof.unreadable] == sorted(
            (folder / name).relative_to(store.url).as_posix() for name in names
        )


def test_damaged_manifest_stops_it_before_anything_is_changed(
    index: Index, store: LocalObjectStore, write_manual: Callable[..., Path], corpus: Path
) -> None:
    index()
    write_manual(corpus, 1, sentences=40)
    index()
    manifest = min(Path(store.url).glob("generations/*/manifest.json"))
    manifest.write_bytes(manifest.read_bytes()[:-1])
    before = {stored.key for stored in store.list()}
    assert main(["purge", store.url, SECRET]) == 1
    assert {stored.key for stored in store.list()} == before


def test_unknown_document_is_proven_too(
    index: Index, store: LocalObjectStore, capsys: Capture
) -> None:
    index()
    before = {stored.key: store.read(stored.key) for stored in store.list()}
    assert main(["purge", store.url, "nowhere.md"]) == 0
    shown = capsys.readouterr().out
    assert "nowhere.md was found nowhere" in shown
    assert f"objects checked: {len(before)}" in shown
    del before["lease.json"]
    assert {key: store.read(key) for key in before} == before


def test_dry_run_says_what_holds_it_and_changes_nothing(
    index: Index, store: LocalObjectStore, capsys: Capture
) -> None:
    index()
    before = {path: path.read_bytes() for path in Path(store.url).rglob("*") if path.is_file()}
    assert main(["purge", store.url, SECRET, "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["generations"], len(told["shards"]), told["parts"]) == ([1], 1, [])
    assert main(["purge", store.url, SECRET, "--dry-run"]) == 0
    assert "generations: 1\n" in capsys.readouterr().out
    assert {path: path.read_bytes() for path in before} == before
    assert main(["purge", store.url, SECRET, "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["is_proven"], done["generation"]) == (True, 2)
    folders = {key.rpartition("/")[0] for key in done["keys"]}
    assert set(told["shards"]) == {folder for folder in folders if folder.startswith("shards/")}


def test_not_beside_a_run_and_not_where_no_index_is(
    index: Index, store: LocalObjectStore, tmp_path: Path, capsys: Capture
) -> None:
    index()
    with kept_alive(acquire(store, "run-7", 5.0, lambda _line: None), 0.2):
        assert main(["purge", store.url, SECRET, "--set", "publish.lease_s=1"]) == 4
    assert "run run-7 is at work" in capsys.readouterr().err
    assert committed(store) == [1]
    (tmp_path / "empty").mkdir()
    assert main(["purge", str(tmp_path / "empty"), SECRET]) == 1
    assert "no index here" in capsys.readouterr().err
    assert list((tmp_path / "empty").iterdir()) == []
    Path(store.url, "CURRENT").unlink()
    assert main(["purge", store.url, SECRET]) == 1
    assert "CURRENT: missing, but there are generations" in capsys.readouterr().err


class KilledError(BaseException):
    """In place of SIGKILL: no handler of the product takes it."""


class Calls:
    """Kills at a call that changes a store, and at every later one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.num_calls, self.last = 0, 0
        for name in ("write", "upload", "compare_and_swap", "delete"):
            original = getattr(LocalObjectStore, name)
            monkeypatch.setattr(LocalObjectStore, name, self._counted(original))

    def allow(self, calls: int) -> None:
        self.num_calls, self.last = 0, calls

    def _counted(self, original: Callable[..., object]) -> Callable[..., object]:
        def counted(*args: object, **kwargs: object) -> object:
            self.num_calls += 1
            if self.num_calls > self.last:
                raise KilledError
            return original(*args, **kwargs)

        return counted


@pytest.fixture
def busy(index: Index, store: LocalObjectStore, corpus: Path) -> Path:
    """A small index with two generations, parts and a shard of a run that was stopped, aside."""
    for number in range(3):
        (corpus / f"manual_00{number}.md").unlink()
    index()
    (corpus / "manual_003.md").unlink()
    index()
    (corpus / SECRET).write_text(TEXT + "He was sent home.\n")
    with pytest.raises(RunInterruptedError):
        index(is_stopped=True)
    return Path(store.url).rename(corpus.with_name("aside"))


def test_purge_that_is_killed_anywhere_is_finished_by_the_next(
    busy: Path,
    store: LocalObjectStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    small_settings: Callable[..., Settings],
    capsys: Capture,
) -> None:
    calls = Calls(monkeypatch)
    for allowed in count():
        shutil.copytree(busy, store.url)
        calls.allow(allowed)
        try:
            purge(store)
        except KilledError:
            calls.allow(10_000)
        else:
            break
        assert verify_index(store, lambda _line: None) == []
        assert answers(store.url, small_settings()) >= {"manual_004.md"}
        done = purge(store)
        assert done.is_proven
        assert files_with(WORDS, tmp_path / "index", tmp_path / "machine") == []
        assert (load_current(store).num_documents, len(committed(store))) == (1, 1)
        assert verify_index(store, lambda _line: None) == []
        shutil.rmtree(store.url)
    assert calls.num_calls > 30
    with capsys.disabled():
        print(f" [{allowed} crashes of a purge survived]", end="")  # noqa: T201


def test_what_a_language_model_said_of_it_is_forgotten(
    index: Index,
    store: LocalObjectStore,
    corpus: Path,
    small_settings: Callable[..., Settings],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def answer(request: GenerationRequest) -> str:
        word = WORDS[0] if WORDS[0] in request.content.lower() else "kettle"
        cnm = {"category": word, "nouns": [], "model": None}
        return "FALSE" if request.choices else json.dumps(cnm)

    generator = ScriptedGenerator(answer)
    monkeypatch.setattr("scp_ray.annotators.factory.make_generator", lambda *_: generator)
    llm = ["chop.annotator=openai", "llm.model=m", "openai.base_url=http://127.0.0.1:9/v1"]

    def index_again() -> int:
        request = IndexRequest(str(corpus), store.url, small_settings(*llm), allow_removals=True)
        return index_corpus(request, InProcessExecutor(), lambda _line: None).annotation[
            "llm_calls"
        ]

    index_again()
    asked = sum(WORDS[0] in request.content.lower() for request in generator.requests)
    assert files_with(WORDS, Path(store.url, "annotations"))
    done = purge(store)
    assert done.is_proven
    assert any(key.startswith("annotations/") for key in done.keys)
    assert not files_with(WORDS, Path(store.url))
    assert 0 < asked <= index_again() < len(generator.requests) / 2


@pytest.fixture
def bucket(s3_address: str, index: Index, corpus: Path) -> S3ObjectStore:
    """An index in a bucket with two generations, and what a run that was stopped left."""
    address = f"{s3_address}/index"
    index(address)
    (corpus / SECRET).write_text(TEXT.replace("zyxomma", "vrittelmost"))
    index(address)
    (corpus / SECRET).write_text(TEXT + "He was sent home.\n")
    with pytest.raises(RunInterruptedError):
        index(address, is_stopped=True)
    return S3ObjectStore(address)


@pytest.mark.integration
def test_in_a_bucket_and_in_the_cache_of_this_machine(
    bucket: S3ObjectStore,
    tmp_path: Path,
    machine: Path,
    small_settings: Callable[..., Settings],
    capsys: Capture,
) -> None:
    assert SECRET in answers(bucket.url, small_settings())
    go_back(bucket, 1)
    assert SECRET in answers(bucket.url, small_settings())
    kept = next(machine.glob("scp-ray-cache-*/shards/00001/*/chunks.arrow"))
    torn = kept.with_name(".5f.part")
    torn.write_bytes(TEXT.encode())
    assert len(files_with(WORDS, machine)) > 6
    assert main(["purge", bucket.url, SECRET]) == 0
    assert "nothing holds its text any more" in capsys.readouterr().out
    for stored in bucket.list():
        path = tmp_path / "fetched" / stored.key
        path.parent.mkdir(parents=True, exist_ok=True)
        bucket.download(stored.key, path)
    assert files_with((*WORDS, SECRET), tmp_path / "fetched", machine) == []
    assert not torn.exists()
    assert verify_index(bucket, lambda _line: None) == []
    assert answers(bucket.url, small_settings()) == {f"manual_00{n}.md" for n in range(5)}
    assert purge(open_store(bucket.url)).is_proven


@pytest.fixture
def versioning(s3_address: str) -> Iterator[tuple[str, Callable[[str], object]]]:
    """A bucket of its own, and what sets its versioning."""
    name = f"versions-{s3_address[-12:]}"
    client = S3ObjectStore(s3_address)._connected()
    client.create_bucket(Bucket=name)
    yield (
        f"s3://{name}",
        lambda status: client.put_bucket_versioning(
            Bucket=name, VersioningConfiguration={"Status": status}
        ),
    )
    for page in client.get_paginator("list_object_versions").paginate(Bucket=name):
        kept = [*page.get("Versions", []), *page.get("DeleteMarkers", [])]
        keys = [{"Key": one["Key"], "VersionId": one["VersionId"]} for one in kept]
        if keys:
            client.delete_objects(Bucket=name, Delete={"Objects": keys})
    client.delete_bucket(Bucket=name)


@pytest.mark.integration
def test_old_versions_that_a_bucket_keeps_are_told(
    versioning: tuple[str, Callable[[str], object]],
    index: Index,
    small_settings: Callable[..., Settings],
    capsys: Capture,
) -> None:
    bucket, set_versioning = versioning
    store = S3ObjectStore(f"{bucket}/index")

    def told() -> CheckStatus:
        checks = {check.name: check for check in diagnose(small_settings(), store.url)}
        return checks["old versions"].status

    assert told() is CheckStatus.OK
    set_versioning("Enabled")
    index(store.url)
    assert told() is CheckStatus.WARNING
    assert main(["purge", store.url, SECRET]) == 0
    assert "warning: the bucket keeps old versions of objects" in capsys.readouterr().out
    set_versioning("Suspended")
    assert store.keeps_old_versions()
    fresh = S3ObjectStore(f"{bucket}/another")
    fresh.write("object", b"one")
    assert not fresh.keeps_old_versions()
