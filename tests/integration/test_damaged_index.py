"""An index whose bytes are not what was written is refused by name, or made again: never believed.

Each mutation damages a copy of one small index, beside which lies a whole copy that an escape from
the root would reach. The copy is then opened and asked, verified, and indexed again.
"""

import hashlib
import json
import os
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import faiss
import pytest

from scp_ray.config import Settings
from scp_ray.errors import ChecksumError, IndexFormatError, ScpRayError
from scp_ray.index import shard_files
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.run import index_corpus
from scp_ray.pipeline.verification import verify_index
from scp_ray.serve.models import QueryRequest
from scp_ray.serve.searcher import LocalSearcher
from scp_ray.storage.checksums import file_sha256
from scp_ray.storage.manifest import Manifest, ShardEntry
from scp_ray.storage.opening import local_cache, open_store
from scp_ray.storage.publish import load_current

pytestmark = pytest.mark.integration

QUESTIONS = [
    QueryRequest(query="clean the pump filter"),
    QueryRequest(query="K-103 kettle valve", exact=True, explain=True),
    QueryRequest(query="reset the timer", filter={"doc_id": ["manual_003.md", "manual_005.md"]}),
    QueryRequest(query="insert fuse socket lamp", max_context_tokens=100),
]
SEED = 20261130
CHANGED = 3  # the manual that the later runs find changed
FORGERY_SAYS = ("the index was made with", "the shards hold", "unknown setting", "load encoder")
NO_INDEX = "no index here"

Edit = Callable[[Any], Any]
Answers = list[dict[str, Any]]


@dataclass(frozen=True)
class Specimen:
    """A whole index of two generations, and what is true of it."""

    folder: Path
    settings: Settings
    write: Callable[..., Path]

    @property
    def index(self) -> Path:
        return self.folder / "index"

    @property
    def manifest(self) -> Manifest:
        return load_current(open_store(str(self.index)))

    def write_corpus(self, *, changed: bool) -> None:
        self.write(self.folder / "corpus", CHANGED, 24 if changed else 16)

    def run(self, index: Path | str) -> None:
        request = IndexRequest(str(self.folder / "corpus"), str(index), self.settings)
        index_corpus(request, InProcessExecutor(), lambda _line: None)

    def answers(self, index: Path | str) -> Answers:
        searcher = LocalSearcher.open(str(index), self.settings)
        replies = [searcher.answer(question) for question in QUESTIONS]
        return [reply.model_dump(exclude={"generation", "timings_ms"}) for reply in replies]


@pytest.fixture(scope="module")
def specimen(
    tmp_path_factory: pytest.TempPathFactory,
    write_manual: Callable[..., Path],
    small_settings: Callable[..., Settings],
) -> Specimen:
    """Nine manuals in three shards; the second generation changed two shards of them."""
    folder = tmp_path_factory.mktemp("specimen")
    (folder / "corpus").mkdir()
    specimen = Specimen(folder, small_settings("publish.lease_s=0.2"), write_manual)
    for number in range(9):
        write_manual(folder / "corpus", number, 16)
    write_manual(folder / "corpus", 0, 20)
    write_manual(folder / "corpus", 1, 20)
    specimen.run(specimen.index)
    write_manual(folder / "corpus", 0, 16)
    write_manual(folder / "corpus", 1, 16)
    specimen.run(specimen.index)
    assert all(shard.folder for shard in specimen.manifest.shards)
    return specimen


@dataclass(frozen=True)
class Truth:
    """What a fresh index of a corpus is and says."""

    shards: list[ShardEntry]
    answers: Answers


@pytest.fixture(scope="module")
def truths(specimen: Specimen) -> dict[bool, Truth]:
    """The truth of the corpus as it was, and of the changed one."""
    truths = {}
    for changed in (False, True):
        specimen.write_corpus(changed=changed)
        fresh = specimen.folder / f"fresh-{changed}"
        specimen.run(fresh)
        truths[changed] = Truth(
            load_current(open_store(str(fresh))).shards, specimen.answers(fresh)
        )
    assert truths[False].answers == specimen.answers(specimen.index)
    assert truths[False].answers != truths[True].answers
    return truths


@dataclass(frozen=True)
class Mutation:
    """One damage.

    Attributes:
        name: For people.
        apply: Does it to the index in a folder.
        names: An error has to name one of these.
        must_be_found: Whether ``verify`` must tell.
        is_forgery: Whether the checksums were made to fit.
    """

    name: str
    apply: Callable[[Path], object]
    names: tuple[str, ...]
    must_be_found: bool = True
    is_forgery: bool = False


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of writes; that they outlive a loss of power is not looked at here."""
    monkeypatch.setattr(os, "fsync", lambda _handle: None)


@pytest.fixture(autouse=True)
def graphs_read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, str]]:
    """Every file that FAISS reads, with the SHA-256 that it has at that moment."""
    seen: list[tuple[Path, str]] = []
    read_index = faiss.read_index

    def recording(path: str, *arguments: object) -> object:
        seen.append((Path(path), file_sha256(Path(path))))
        return read_index(path, *arguments)

    monkeypatch.setattr(faiss, "read_index", recording)
    return seen


class Examination:
    """Does to copies of the specimen what is to be survived, and counts what came of it."""

    def __init__(self, specimen: Specimen, truths: dict[bool, Truth], folder: Path) -> None:
        self._specimen = specimen
        self._truths = truths
        self._folder = folder
        self.outcomes: Counter[str] = Counter()
        self.faults: list[str] = []

    def examine(self, mutations: Iterable[Mutation]) -> None:
        for number, mutation in enumerate(mutations):
            case = self._folder / "case"
            shutil.copytree(self._specimen.index, case / "index")
            shutil.copytree(self._specimen.index, case / "outside")
            mutation.apply(case / "index")
            try:
                self._examine(case / "index", mutation, changed=number % 2 == 1)
            except Exception as error:  # noqa: BLE001 - a foreign error is what is looked for
                self.faults.append(f"{mutation.name}: {error!r}")
            self.outcomes["mutations"] += 1
            shutil.rmtree(case)

    def _examine(self, index: Path, mutation: Mutation, *, changed: bool) -> None:
        opened = self._ask(index, mutation, self._truths[False].answers)
        self._count("open", opened)
        verified = self._verify(index, mutation)
        self._count("verify", verified)
        unfound = opened == "refused" and not mutation.is_forgery
        if verified == "silent" and (mutation.must_be_found or unfound):
            self.faults.append(f"{mutation.name}: verify says nothing")
        self._specimen.write_corpus(changed=changed)
        self._count("re-index", self._run_again(index, mutation, self._truths[changed]))

    def _count(self, act: str, outcome: str) -> None:
        self.outcomes[f"{act}: {outcome}"] += 1

    def _named(self, mutation: Mutation, act: str, told: str) -> str:
        if not any(name in told for name in mutation.names):
            self.faults.append(f"{mutation.name}: {act} names no file: {told}")
        return "refused"

    def _ask(self, index: Path, mutation: Mutation, expected: Answers) -> str:
        try:
            answers = self._specimen.answers(index)
        except ScpRayError as error:
            return self._named(mutation, "open", str(error))
        if answers != expected:
            self.faults.append(f"{mutation.name}: wrong answers")
        return "right answers"

    def _verify(self, index: Path, mutation: Mutation) -> str:
        try:
            problems = verify_index(open_store(str(index)), lambda _line: None)
        except ScpRayError as error:
            return self._named(mutation, "verify", str(error))
        if not problems:
            return "silent"
        return self._named(mutation, "verify", "; ".join(problem.detail for problem in problems))

    def _run_again(self, index: Path, mutation: Mutation, truth: Truth) -> str:
        try:
            self._specimen.run(index)
        except ScpRayError as error:
            return self._named(mutation, "re-index", str(error))
        asked = self._ask(index, mutation, truth.answers)
        if asked == "refused":
            return "damage not touched"
        shards = load_current(open_store(str(index))).shards
        if shards != truth.shards and not mutation.is_forgery:
            self.faults.append(f"{mutation.name}: the new index is not that of a fresh run")
        return "right answers"


Tell = Callable[[str], object]


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Tell:
    """Print a line of figures, whatever pytest captures."""

    def write(line: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n{line}\n")

    return write


Examine = Callable[[str, Iterable[Mutation]], Counter[str]]


@pytest.fixture
def examine(
    specimen: Specimen,
    truths: dict[bool, Truth],
    tmp_path: Path,
    graphs_read: list[tuple[Path, str]],
    tell: Tell,
) -> Examine:
    """Try mutations, print what came of them, and fail with a list of those that were believed."""

    def try_all(what: str, mutations: Iterable[Mutation]) -> Counter[str]:
        graphs_read.clear()
        examination = Examination(specimen, truths, tmp_path)
        examination.examine(mutations)
        tell(f"{what}: {dict(sorted(examination.outcomes.items()))}")
        assert not examination.faults, "\n".join(examination.faults)
        _assert_whole_graphs(graphs_read, specimen)
        inside = tmp_path / "case" / "index" / "shards"
        assert all(path.is_relative_to(inside) for path, _ in graphs_read)
        return examination.outcomes

    return try_all


def _keys(index: Path) -> list[str]:
    """Return the files of an index that are read, two generations of them."""
    found = (path.relative_to(index).as_posix() for path in index.rglob("*") if path.is_file())
    return sorted(key for key in found if not key.startswith(("runs/", ".")))


def _names(key: str) -> tuple[str, ...]:
    """``CURRENT`` has no checksum: what it says wrongly is found out at what it names."""
    return ("CURRENT", "generations/", NO_INDEX) if key == "CURRENT" else (key,)


def _mutation(name: str, key: str, apply: Callable[[Path], object]) -> Mutation:
    return Mutation(
        f"{name} {key}",
        lambda index: apply(index / key),
        _names(key),
        must_be_found="/" in key,
    )


def _rewritten(name: str, key: str, change: Callable[[bytes], bytes]) -> Mutation:
    return _mutation(name, key, lambda path: path.write_bytes(change(path.read_bytes())))


def _flip(data: bytes, bit: int) -> bytes:
    place = bit // 8
    return data[:place] + bytes([data[place] ^ 1 << bit % 8]) + data[place + 1 :]


def test_flipped_bits(specimen: Specimen, examine: Examine) -> None:
    rng = random.Random(SEED)

    def flips() -> Iterator[Mutation]:
        for key in _keys(specimen.index):
            size = (specimen.index / key).stat().st_size
            for bit in sorted(rng.sample(range(8 * size), 20 if key == "CURRENT" else 3)):
                yield _rewritten(f"bit {bit} of", key, lambda data, bit=bit: _flip(data, bit))

    examine("flipped bits", flips())


def test_cut_grown_emptied_and_missing_files(specimen: Specimen, examine: Examine) -> None:
    rng = random.Random(SEED)

    def replace_by_folder(path: Path) -> None:
        path.unlink()
        path.mkdir()

    def mutations() -> Iterator[Mutation]:
        for key in _keys(specimen.index):
            size = (specimen.index / key).stat().st_size
            cut = rng.randrange(1, size)
            damages = [
                _rewritten("one byte less of", key, lambda data: data[:-1]),
                _rewritten(f"{cut} bytes of", key, lambda data, cut=cut: data[:cut]),
                _rewritten("one byte more of", key, lambda data: data + b"\0"),
                _rewritten("twice", key, lambda data: data + data),
                _rewritten("nothing in", key, lambda _data: b""),
                _rewritten("zeros in", key, lambda data: bytes(len(data))),
                _mutation("missing", key, Path.unlink),
                _mutation("folder for", key, replace_by_folder),
            ]
            yield from damages if "/" not in key else rng.sample(damages, 4)

    examine("files cut, grown, emptied, missing", mutations())


def test_exchanged_files(specimen: Specimen, examine: Examine) -> None:
    """Of two shards, of two generations, of two kinds."""
    rng = random.Random(SEED)
    keys = _keys(specimen.index)
    alike = [(one, two) for one in keys for two in keys if one < two and _kind(one) == _kind(two)]
    pairs = {*rng.sample(alike, 30), *(tuple(sorted(rng.sample(keys, 2))) for _ in range(20))}

    def exchange(index: Path, one: str, two: str) -> None:
        first, second = (index / one).read_bytes(), (index / two).read_bytes()
        (index / one).write_bytes(second)
        (index / two).write_bytes(first)

    examine(
        "exchanged files",
        (
            Mutation(
                f"exchange {one} {two}",
                lambda index, one=one, two=two: exchange(index, one, two),
                (*_names(one), *_names(two)),
                must_be_found="/" in one + two,
            )
            for one, two in sorted(pairs)
            if (specimen.index / one).read_bytes() != (specimen.index / two).read_bytes()
        ),
    )


def _kind(key: str) -> str:
    return key.rpartition("/")[2]


NOT_JSON = {
    "nothing": b"",
    "no text": b"\xff\xfe\x00\x01",
    "null": b"null",
    "a list": b"[]",
    "an open brace": b"{",
    "two objects": b"{}{}",
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "deep and closed": b'{"format_version": 2, "x": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "a long number": b'{"format_version": ' + b"9" * 5000 + b"}",
    "UTF-16": '{"format_version": 2}'.encode("utf-16"),
}


def _set(*path: str | int, to: object) -> Edit:
    """Return an edit that sets one value of a JSON tree."""

    def edit(tree: Any) -> Any:
        place = tree
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = to
        return tree

    return edit


def _drop(*path: str | int) -> Edit:
    def edit(tree: Any) -> Any:
        place = tree
        for name in path[:-1]:
            place = place[name]
        del place[path[-1]]
        return tree

    return edit


def _rename_file(name: str) -> Edit:
    def edit(tree: Any) -> Any:
        files = tree["shards"][0]["files"]
        files[name] = files.pop("index.faiss")
        return tree

    return edit


def _more(*path: str | int, by: int = 1) -> Edit:
    def edit(tree: Any) -> Any:
        value = tree
        for name in path:
            value = value[name]
        return _set(*path, to=value + by)(tree)

    return edit


def _all(*edits: Edit) -> Edit:
    def edit(tree: Any) -> Any:
        for one in edits:
            tree = one(tree)
        return tree

    return edit


def _shards(change: Callable[[list[Any]], list[Any]]) -> Edit:
    return lambda tree: tree | {"shards": change(tree["shards"])}


def _outside(tree: Any) -> Any:
    shard = tree["shards"][0]
    return _set("shards", 0, "folder", to=f"../outside/{shard['folder']}")(tree)


ODD_VALUES = [-1, 10**30, 2**63, 1.5, "3", False, None, float("nan"), float("inf"), [], {}]
UNSAFE_KEYS = [
    "../outside/shards",
    "/etc",
    "/",
    "..",
    ".",
    "",
    "a//b",
    "shards/../../outside",
    "shards\\x",
    "nul\0",
    "n" * 5000,
]
COUNTS = [
    ("num_documents",),
    ("num_chunks",),
    ("generation",),
    ("format_version",),
    ("encoder", "dim"),
    ("terms", "num_terms"),
    ("terms", "file", "size_bytes"),
    ("shards", 0, "num_documents"),
    ("shards", 1, "num_chunks"),
    ("shards", 1, "shard_id"),
    ("shards", 2, "files", "index.faiss", "size_bytes"),
]
TEXTS = [
    ("run_id",),
    ("shards", 0, "folder"),
    ("shards", 1, "files", "nodes.npy", "sha256"),
    ("terms", "file", "sha256"),
]


def _manifest_edits() -> Iterator[tuple[str, Edit]]:
    """Yield edits that ``verify`` must find out."""
    for path in COUNTS:
        for value in ODD_VALUES:
            yield f"{path} = {value!r}", _set(*path, to=value)
        yield f"{path} + 1", _more(*path)
        yield f"no {path}", _drop(*path)
    for path in TEXTS:
        for value in UNSAFE_KEYS:
            yield f"{path} = {value[:30]!r}", _set(*path, to=value)
    for name in UNSAFE_KEYS:
        yield f"file {name[:30]!r}", _rename_file(name)
    one_more, one_less = _more("shards", 0, "num_chunks"), _more("shards", 1, "num_chunks", by=-1)
    yield "a chunk counted elsewhere", _all(one_more, one_less)
    yield "a chunk counted twice", _all(one_more, _more("num_chunks"))
    yield "shard outside", _outside
    yield "shard of another id", _shards(lambda shards: [*shards[:2], shards[2] | {"shard_id": 7}])
    yield "shards doubled", _shards(lambda shards: [*shards, shards[0]])
    yield "shard in place of another", _shards(lambda shards: [shards[0], shards[0], shards[2]])
    yield "shard missing", _shards(lambda shards: shards[1:])
    yield "last shard missing", _shards(lambda shards: shards[:-1])
    yield "no shards", _shards(lambda _shards: [])
    yield "shards turned round", _shards(lambda shards: shards[::-1])
    yield (
        "ids exchanged",
        _all(_set("shards", 0, "shard_id", to=1), _set("shards", 1, "shard_id", to=0)),
    )
    yield "no folder", _set("shards", 0, "folder", to=None)
    yield "no files", _set("shards", 0, "files", to={})
    yield "no graph", _drop("shards", 0, "files", "index.faiss")
    yield "no documents", _drop("shards", 0, "files", "documents.parquet")
    yield (
        "one more file",
        lambda tree: _set("shards", 0, "files", "more", to=tree["shards"][0]["files"]["nodes.npy"])(
            tree
        ),
    )
    yield "recall NaN", _set("shards", 0, "recall", to=float("nan"))
    yield "recall text", _set("shards", 0, "recall", to="high")
    yield "unknown field", _set("colour", to="red")
    yield "unknown field of a shard", _set("shards", 0, "colour", to="red")
    yield "settings empty", _set("settings", to={})
    yield "settings a list", _set("settings", to=[])
    yield "settings without index", _drop("settings", "index")
    yield "more shards in the settings", _set("settings", "index", "num_shards", to=5)
    for value in ODD_VALUES:
        yield f"ef_search = {value!r}", _set("settings", "index", "ef_search", to=value)
        yield f"stemmer = {value!r}", _set("settings", "index", "stemmer", to=value)


def _manifest_key(index: Path) -> str:
    return json.loads((index / "CURRENT").read_text())["generations"][-1]["manifest"]


def _write_manifest(index: Path, data: bytes, *, is_forged: bool) -> None:
    (index / _manifest_key(index)).write_bytes(data)
    if is_forged:
        current = json.loads((index / "CURRENT").read_text())
        current["generations"][-1]["manifest_sha256"] = hashlib.sha256(data).hexdigest()
        (index / "CURRENT").write_text(json.dumps(current))


def _edited_manifest(name: str, edit: Edit, *, is_forged: bool, must_be_found: bool) -> Mutation:
    def apply(index: Path) -> None:
        tree = json.loads((index / _manifest_key(index)).read_text())
        _write_manifest(index, json.dumps(edit(tree)).encode(), is_forged=is_forged)

    names = ("generations/", "shards/", *(FORGERY_SAYS if is_forged else ()))
    return Mutation(f"manifest: {name}", apply, names, must_be_found, is_forged)


def _manifest_of(name: str, data: bytes, *, is_forged: bool) -> Mutation:
    return Mutation(
        f"manifest: {name}",
        lambda index: _write_manifest(index, data, is_forged=is_forged),
        ("manifest.json",),
        is_forgery=is_forged,
    )


def _harmless_edits() -> Iterator[tuple[str, Edit]]:
    """Yield edits of what nothing depends on, or that stop a question only."""
    yield "another corpus", _set("corpus", to="../outside/corpus")
    yield "another time", _set("created_at", to="yesterday")
    yield "parent of its own", _set("parent", to=2)
    yield "parent unheard of", _set("parent", to=-(10**30))
    yield "no software", _set("software", to={})
    yield "another annotator", _set("annotator_revision", to="../outside")
    yield "recall 1", _set("shards", 0, "recall", to=1.0)
    yield "recall 0", _set("shards", 0, "recall", to=0.0)
    yield "another encoder", _set("encoder", "revision", to="0" * 64)
    yield "another model", _set("settings", "embedding", "model", to="../outside")
    yield "settings unknown", _set("settings", "index", "colour", to="red")
    yield "section unknown", _set("settings", "colour", to="red")


def test_edited_manifests(examine: Examine) -> None:
    """Found out by the checksum in ``CURRENT``."""
    rng = random.Random(SEED)
    edits = rng.sample([*_manifest_edits(), *_harmless_edits()], 50)
    edited = [
        _edited_manifest(name, edit, is_forged=False, must_be_found=True) for name, edit in edits
    ]
    replaced = [_manifest_of(name, data, is_forged=False) for name, data in NOT_JSON.items()]
    outcomes = examine("manifests edited", [*edited, *replaced])
    assert outcomes["open: refused"] == outcomes["re-index: refused"] == outcomes["mutations"]


def test_forged_manifests(examine: Examine) -> None:
    """The checksum was made to fit: nothing crashes or escapes, and ``verify`` counts again."""
    edited = [
        *(
            _edited_manifest(name, edit, is_forged=True, must_be_found=True)
            for name, edit in _manifest_edits()
        ),
        *(
            _edited_manifest(name, edit, is_forged=True, must_be_found=False)
            for name, edit in _harmless_edits()
        ),
    ]
    replaced = [_manifest_of(name, data, is_forged=True) for name, data in NOT_JSON.items()]
    examine("manifests forged", [*edited, *replaced])


def _current_edits() -> Iterator[tuple[str, Edit]]:
    last = ("generations", -1)
    numbers = (("generation",), ("last_generation",), ("format_version",), (*last, "generation"))
    for value in ODD_VALUES:
        for path in numbers if value is not False else numbers[2:]:
            yield f"{path} = {value!r}", _set(*path, to=value)
    for key in UNSAFE_KEYS:
        yield f"manifest {key[:30]!r}", _set(*last, "manifest", to=key)
    yield (
        "manifest outside",
        lambda tree: _set(*last, "manifest", to=f"../outside/{_last(tree)['manifest']}")(tree),
    )
    yield "manifest a lease", _set(*last, "manifest", to="lease.json")
    yield (
        "checksum of another",
        lambda tree: _set(*last, "manifest_sha256", to=tree["generations"][0]["manifest_sha256"])(
            tree
        ),
    )
    yield "checksum short", _set(*last, "manifest_sha256", to="00")
    yield "generation not there", _set("generation", to=7)
    yield "no generations", _set("generations", to=[])
    yield "unknown field", _set("colour", to="red")
    yield "retired a text", _set("retired", to="x")


def _current_contradictions() -> Iterator[tuple[str, Edit]]:
    yield (
        "manifest of generation 1 as that of 2",
        lambda tree: _set(
            "generations", to=[tree["generations"][0], tree["generations"][0] | {"generation": 2}]
        )(tree),
    )
    yield "generation 0 of two", _set("generation", to=0)
    yield "generations doubled", lambda tree: tree | {"generations": tree["generations"] * 2}
    yield "generations turned round", lambda tree: tree | {"generations": tree["generations"][::-1]}
    for number in (0, 1):  # the changed corpus is what every second mutation is indexed with
        yield f"last generation {number}", _set("last_generation", to=number)
        yield (
            f"last generation {number} and fence 9",
            _all(_set("last_generation", to=number), _set("fence", to=9)),
        )


def _last(tree: Any) -> Any:
    return tree["generations"][-1]


def _edited_current(name: str, edit: Edit) -> Mutation:
    def apply(index: Path) -> None:
        tree = json.loads((index / "CURRENT").read_text())
        (index / "CURRENT").write_text(json.dumps(edit(tree)))

    names = (*_names("CURRENT"), "lease.json", "n" * 100)
    return Mutation(f"CURRENT: {name}", apply, names, must_be_found=False)


def test_edited_current(examine: Examine) -> None:
    """``CURRENT`` has no checksum: what it says must fit together, and fit what it names."""
    edited = [_edited_current(name, edit) for name, edit in _current_edits()]
    replaced = [
        _rewritten(f"CURRENT: {name}", "CURRENT", lambda _data, data=data: data)
        for name, data in NOT_JSON.items()
    ]
    examine("CURRENT edited", [*edited, *replaced])


def test_current_that_contradicts_itself(examine: Examine) -> None:
    examine(
        "CURRENT contradicts itself",
        [_edited_current(name, edit) for name, edit in _current_contradictions()],
    )


def _told_of_current(index: Path, expected: Manifest) -> str:
    try:
        same = load_current(open_store(str(index))) == expected
    except IndexFormatError as error:
        told = str(error)
        named = f"{index}/" in told or NO_INDEX in told
        return "refused by name" if named else told
    return "same generation" if same else "another generation"


def test_every_bit_of_current(specimen: Specimen, tmp_path: Path, tell: Tell) -> None:
    """Each flipped alone: the generation is the same, or an error names a file."""
    index, expected = tmp_path / "index", specimen.manifest
    shutil.copytree(specimen.index, index)
    whole = (index / "CURRENT").read_bytes()
    outcomes: Counter[str] = Counter()
    for bit in range(8 * len(whole)):
        (index / "CURRENT").write_bytes(_flip(whole, bit))
        outcomes[_told_of_current(index, expected)] += 1
    assert outcomes.keys() == {"same generation", "refused by name"}
    tell(f"every bit of CURRENT: {dict(outcomes)}")


@pytest.fixture
def on_s3(
    specimen: Specimen, s3_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """The address of a copy of the specimen in S3; the cache of this machine is empty."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    address = f"{s3_address}/case/index"
    for key in _keys(specimen.index):
        open_store(address).upload(specimen.index / key, key)
    return address


def _assert_whole_graphs(graphs_read: list[tuple[Path, str]], specimen: Specimen) -> None:
    written = {file_sha256(path) for path in specimen.folder.rglob(shard_files.GRAPH_FILE)}
    assert {sha256 for _, sha256 in graphs_read} <= written


def test_damaged_objects_in_s3(
    specimen: Specimen,
    truths: dict[bool, Truth],
    on_s3: str,
    tmp_path: Path,
    graphs_read: list[tuple[Path, str]],
    tell: Tell,
) -> None:
    """Without a cache each is refused by name; with a whole copy in the cache, not needed."""
    rng, store = random.Random(SEED), open_store(on_s3)
    read = {specimen.manifest.key}
    for folder, files in specimen.manifest.folders.items():
        read |= {f"{folder}/{name}" for name in files}
    damages: dict[str, Callable[[bytes], bytes | None]] = {
        "flipped": lambda data: _flip(data, rng.randrange(8 * len(data))),
        "cut": lambda data: data[: len(data) // 2],
        "empty": lambda _data: b"",
        "missing": lambda _data: None,
    }
    outcomes: Counter[str] = Counter()
    for number, key in enumerate(rng.sample(sorted(read), 12)):
        whole = store.read(key)
        damaged = list(damages.values())[number % len(damages)](whole)
        store.delete(key) if damaged is None else store.write(key, damaged)
        shutil.rmtree(tmp_path / local_cache().name, ignore_errors=True)
        with pytest.raises(ChecksumError, match=re.escape(key)):
            specimen.answers(on_s3)
        problems = verify_index(store, lambda _line: None) if "shards" in key else []
        assert all(key in problem.detail for problem in problems)
        assert bool(problems) == ("shards" in key)
        store.write(key, whole)
        outcomes["refused"] += 1
        if "shards" in key:
            assert specimen.answers(on_s3) == truths[False].answers
            store.write(key, _flip(whole, rng.randrange(8 * len(whole))))
            assert specimen.answers(on_s3) == truths[False].answers
            store.write(key, whole)
            outcomes["whole in the cache"] += 1
    _assert_whole_graphs(graphs_read, specimen)
    tell(f"damaged objects in S3: {dict(outcomes)}")


def test_poisoned_cache(
    specimen: Specimen,
    truths: dict[bool, Truth],
    on_s3: str,
    graphs_read: list[tuple[Path, str]],
    tell: Tell,
) -> None:
    """Other bytes in the cache are fetched again; what cannot be replaced is named."""
    rng, expected = random.Random(SEED), truths[False].answers
    assert specimen.answers(on_s3) == expected
    found = sorted(path for path in local_cache().rglob("*") if path.is_file())
    cached = rng.sample(found, 12)
    poisons = [
        lambda data: _flip(data, rng.randrange(8 * len(data))),
        lambda data: data[:-1],
        lambda _data: b"",
    ]
    for number, path in enumerate(cached):
        whole = path.read_bytes()
        path.write_bytes(poisons[number % len(poisons)](whole))
        assert specimen.answers(on_s3) == expected, path.name
        assert path.read_bytes() == whole
    for path in cached[::3]:
        path.unlink()
        path.mkdir()
        with pytest.raises(ScpRayError, match=re.escape(path.name)):
            specimen.answers(on_s3)
        path.rmdir()
    assert specimen.answers(on_s3) == expected
    _assert_whole_graphs(graphs_read, specimen)
    tell(f"poisoned cache: {len(cached)} files fetched again, {len(cached[::3])} refused")
