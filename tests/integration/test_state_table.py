"""Every transition of a document between two runs, and a change of the settings of each stage.

After every run the index is held against this file's own account of what had to be done, down to
the single request of the language model, and against a fresh build of what it should hold.
"""

import json
import random
import shutil
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest

from scp_ray.annotators import factory
from scp_ray.chop import prompting
from scp_ray.config import Settings
from scp_ray.corpus.chunker import chunk_spans
from scp_ray.corpus.formats import PARSER_REVISION
from scp_ray.embedding.factory import load_tokenizer
from scp_ray.errors import GenerationError
from scp_ray.index.sharding import shard_of
from scp_ray.pipeline.estimate import CostEstimate, estimate_cost
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.preparation import IndexRequest, prepare
from scp_ray.pipeline.report import RunReport, RunStatus
from scp_ray.pipeline.run import index_corpus
from scp_ray.protocols import GenerationRequest
from scp_ray.storage.local import LocalObjectStore
from scp_ray.storage.manifest import ShardEntry
from scp_ray.storage.publish import load_current
from scp_ray.testing import ScriptedGenerator

NUM_DOCUMENTS, NUM_SHARDS = 12, 6
SETTINGS = (
    "chop.annotator=openai",
    "llm.model=first",
    "openai.base_url=http://localhost:9/v1",
    "corpus.max_document_bytes=20000",
)
MAX_TOKENS = 256  # of the encoders hash://
POISON = "This stops the model."
UNDECODABLE, OVERSIZED = b"\x00\x01\x02\x03" * 100, b"Too much of it. " * 2000
WORDS = "filter pump valve drain lamp cable motor panel press hold wait clean dry reset".split()

Texts = dict[str, bytes]
Change = Callable[[Texts], None]
Asked = set[tuple[str | None, str, str]]
MakeSettings = Callable[..., Settings]


def doc(number: int) -> str:
    return f"manual_{number:02d}.md"


# With six shards, B and D share one, and ALONE has one to itself.
A, B, C, D, ALONE = (doc(number) for number in (1, 2, 9, 3, 0))


def manual(number: int, sentences: int = 40) -> bytes:
    rng = random.Random(number)
    lines = [" ".join(rng.choices(WORDS, k=12)).capitalize() + "." for _ in range(sentences)]
    return "\n".join([f"# Orbis K-{100 + number} Kettle - User Manual", "", *lines, ""]).encode()


FIRST_TEXTS = {doc(number): manual(number) for number in range(NUM_DOCUMENTS)}


def put(doc_id: str, text: bytes) -> Change:
    return lambda texts: texts.update({doc_id: text})


def add_line(doc_id: str, line: str) -> Change:
    def change(texts: Texts) -> None:
        lines = texts[doc_id].decode().splitlines(keepends=True)
        lines.insert(len(lines) // 2, f"{line}\n")
        texts[doc_id] = "".join(lines).encode()

    return change


def edit(doc_id: str) -> Change:
    return add_line(doc_id, "Descale the kettle once a week.")


def restore(doc_id: str) -> Change:
    return put(doc_id, FIRST_TEXTS[doc_id])


def drop(doc_id: str) -> Change:
    return lambda texts: texts.__delitem__(doc_id)


def copy(doc_id: str, *copies: str) -> Change:
    return lambda texts: texts.update(dict.fromkeys(copies, texts[doc_id]))


def move(doc_id: str, new: str) -> Change:
    return lambda texts: texts.update({new: texts.pop(doc_id)})


def swap(one: str, other: str) -> Change:
    return lambda texts: texts.update({one: texts[other], other: texts[one]})


@dataclass(frozen=True)
class Step:
    """A run after some changes, and what it has to find.

    Attributes:
        changes: To the corpus.
        states: Of the documents that are not the same. One that fails on its way has two: what
            the plan takes it for, and ``quarantined``, which it ends as.
        settings: From this run on, over the first ones; None = as before.
        code: Changes to the program, from this run on.
        others: State of all other documents.
        builds_all: Whether every shard is built.
        is_reproducible: Whether a fresh build gives the same: not while a document is kept that
            was made by other settings.
        is_planned: Whether ``plan`` can know the shards: not if a document fails after reading.
    """

    changes: tuple[Change, ...] = ()
    states: Mapping[str, str] = field(default_factory=dict)
    settings: tuple[str, ...] | None = None
    code: Callable[[pytest.MonkeyPatch], None] = lambda _patch: None
    others: str = "same"
    builds_all: bool = False
    is_reproducible: bool = True
    is_planned: bool = True


def step(*changes: Change, **states: str) -> Step:
    """Make a step of which these documents change, named above or by what is before ``.md``."""
    names = {"A": A, "B": B, "C": C, "D": D, "ALONE": ALONE}
    return Step(changes, {names.get(key, f"{key}.md"): state for key, state in states.items()})


def done_again(*settings: str) -> Step:
    return Step(settings=settings, others="changed", builds_all=True)


def built_again(*settings: str) -> Step:
    return Step(settings=settings, builds_all=True)


def answer(model: str | None, request: GenerationRequest) -> str:
    """Answer by model, prompt and passage, in a way that has no pattern."""
    if POISON in request.content:
        message = "the model says nothing"
        raise GenerationError(message)
    drawn = zlib.crc32(f"{model}{request.instructions}{request.content}".encode())
    if request.choices:
        return prompting.CHANGES if drawn % 3 == 0 else prompting.CONTINUES
    return f'{{"category": "kettle", "nouns": ["kettle {drawn % 7}"], "model": "K-{drawn % 50}"}}'


class Model:
    """A language model per run; keeps what was asked and answered."""

    def __init__(self, asked: Iterable[tuple[str | None, str, str]] = ()) -> None:
        self.answered: Asked = set(asked)
        self.generators: list[ScriptedGenerator] = []

    def generator(self, model: str | None) -> ScriptedGenerator:
        def kept(request: GenerationRequest) -> str:
            text = answer(model, request)
            self.answered.add((model, request.instructions, request.content))
            return text

        self.generators.append(ScriptedGenerator(kept, seed=3))
        return self.generators[-1]

    def take_requests(self) -> list[tuple[str, str]]:
        """Return the requests since the last call."""
        requests = [request for made in self.generators for request in made.requests]
        self.generators.clear()
        return [(request.instructions, request.content) for request in requests]


class Project:
    """A corpus and its index, run after run."""

    def __init__(self, root: Path, model: Model, make_settings: MakeSettings) -> None:
        self.corpus, self.index = root / "corpus", root / "index"
        self.texts = dict(FIRST_TEXTS)
        self.published = dict(self.texts)
        self.model = model
        self._make_settings = make_settings
        self.settings = self.with_settings()

    def with_settings(self, *settings: str) -> Settings:
        num_shards = f"index.num_shards={NUM_SHARDS}"
        return self._make_settings(num_shards, *SETTINGS, *settings)

    def generator(self, settings: Settings, _num_actors: int) -> ScriptedGenerator:
        return self.model.generator(settings.llm.model)

    def write(self, texts: Texts) -> None:
        shutil.rmtree(self.corpus, ignore_errors=True)
        self.corpus.mkdir()
        for doc_id, text in texts.items():
            (self.corpus / doc_id).write_bytes(text)

    def request(self, index: Path) -> IndexRequest:
        return IndexRequest(str(self.corpus), str(index), self.settings)

    def run(self, index: Path) -> RunReport:
        return index_corpus(self.request(index), InProcessExecutor(), lambda _line: None)

    def plan(self) -> CostEstimate:
        executor, request = InProcessExecutor(), self.request(self.index)
        return estimate_cost(executor, request, prepare(request, executor, lambda _line: None))

    def shards(self, index: Path) -> list[ShardEntry]:
        manifest = load_current(LocalObjectStore(index))
        assert manifest is not None
        return manifest.shards

    def fresh_shards(self) -> list[ShardEntry]:
        """Build what should be published into an empty index."""
        fresh, model = self.index.with_name("fresh"), self.model
        self.model = Model()
        self.write(self.published)
        report = self.run(fresh)
        assert report.status is RunStatus.DONE
        shards = self.shards(fresh)
        shutil.rmtree(fresh)
        self.model = model
        return shards

    def chunks(self, text: bytes) -> list[str]:
        decoded = text.decode()
        tokenizer = load_tokenizer(self.settings.embedding)
        spans = chunk_spans(decoded, tokenizer, self.settings.chunking, MAX_TOKENS)
        return [decoded[span.char_start : span.char_end] for span in spans]

    def num_chunks(self, texts: Iterable[bytes]) -> int:
        return sum(len(self.chunks(text)) for text in texts)

    def to_ask(self, texts: Iterable[bytes]) -> set[tuple[str, str]]:
        """Return the requests for documents that were not answered before."""
        if not self.settings.chop.annotator.needs_llm:
            return set()
        model = self.settings.llm.model
        requests = [request for text in texts for request in self._requests(self.chunks(text))]
        asked = {(request.instructions, request.content) for request in requests}
        return {one for one in asked if (model, *one) not in self.model.answered}

    def _requests(self, chunks: list[str]) -> Iterator[GenerationRequest]:
        yield prompting.extraction_request(chunks[0])
        for before, after in pairwise(chunks):
            decisions = prompting.decision_requests(before, after)
            yield from decisions
            answers = [answer(self.settings.llm.model, one) for one in decisions]
            if not prompting.all_go_on(answers):
                yield prompting.extraction_request(after)


@pytest.fixture(scope="module", autouse=True)
def _quick_writes() -> Iterator[None]:
    """Nothing here is about a machine that loses power, and there are many small files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _file: None)
        yield


@pytest.fixture(scope="module")
def built(
    tmp_path_factory: pytest.TempPathFactory, small_settings: MakeSettings
) -> Iterator[tuple[Path, Asked]]:
    """The index of the first texts, and what was asked for it. Sources are in it: one corpus."""
    root = tmp_path_factory.mktemp("state_table")
    project = Project(root, Model(), small_settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(factory, "make_generator", project.generator)
        project.write(project.texts)
        project.run(project.index)
    project.index.rename(root / "built")
    return root, project.model.answered


@pytest.fixture
def project(
    built: tuple[Path, Asked], small_settings: MakeSettings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Project]:
    root, asked = built
    project = Project(root, Model(asked), small_settings)
    monkeypatch.setattr(factory, "make_generator", project.generator)
    shutil.copytree(root / "built", project.index)
    yield project
    shutil.rmtree(project.index)


def set_parser(revision: str) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setattr("scp_ray.pipeline.preparation.PARSER_REVISION", revision)


_read_instructions = prompting._instructions


def set_prompts(more: str) -> Callable[[pytest.MonkeyPatch], None]:
    def change(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(prompting, "_instructions", lambda name: _read_instructions(name) + more)
        patch.setattr(factory, "prompt_revision", prompting.prompt_revision.__wrapped__)

    return change


STORIES = {
    "new, removed, there again": [
        step(put("extra.md", manual(50)), extra="new"),
        step(drop("extra.md"), extra="removed"),
        step(put("extra.md", manual(50)), extra="new"),
    ],
    "changed and back": [step(edit(A), A="changed"), step(restore(A), A="changed")],
    "shorter, then longer": [
        step(put(A, manual(1, sentences=8)), A="changed"),
        step(put(A, manual(1, sentences=80)), A="changed"),
    ],
    "removed, there again": [step(drop(A), A="removed"), step(restore(A), A="new")],
    "renamed and back": [
        step(move(A, "other.md"), other="renamed"),
        step(move("other.md", A), A="renamed"),
    ],
    "renamed with a change, and back": [
        step(move(A, "other.md"), edit("other.md"), A="removed", other="new"),
        step(drop("other.md"), restore(A), A="new", other="removed"),
    ],
    "two change names, and back": [
        step(swap(A, B), A="changed", B="changed"),
        step(swap(A, B), A="changed", B="changed"),
    ],
    "moved over another": [step(move(A, B), A="removed", B="changed")],
    "moved along": [step(move(B, "next.md"), move(A, B), A="removed", B="changed", next="new")],
    "copied, then the first one removed": [
        step(copy(A, "copy.md"), copy="new"),
        step(drop(A), A="removed"),
        step(edit("copy.md"), copy="changed"),
    ],
    "copied twice and removed in one run": [
        step(copy(A, "one.md", "two.md"), drop(A), one="renamed", two="new"),
    ],
    "two changes in two documents": [step(edit(A), edit(B), A="changed", B="changed")],
    "two changes in one document": [step(edit(A), add_line(A, "Rinse it."), A="changed")],
    "every change at once, and back": [
        step(
            *(edit(A), drop(B), move(C, "other.md"), put("extra.md", manual(50))),
            put(D, UNDECODABLE),
            A="changed",
            B="removed",
            other="renamed",
            extra="new",
            D="changed quarantined",
        ),
        step(
            *(restore(A), restore(B), move("other.md", C), drop("extra.md"), restore(D)),
            A="changed",
            B="new",
            C="renamed",
            extra="removed",
        ),
    ],
    "failed, then as it was": [
        step(put(A, UNDECODABLE), A="changed quarantined"),
        step(restore(A)),
    ],
    "failed twice, then changed": [
        step(put(A, UNDECODABLE), A="changed quarantined"),
        step(edit(B), A="changed quarantined", B="changed"),
        step(restore(A), edit(A), A="changed"),
    ],
    "failed, then removed": [
        step(put(A, UNDECODABLE), A="changed quarantined"),
        step(drop(A), A="removed"),
    ],
    "failed and renamed": [
        step(move(A, "x.md"), put("x.md", UNDECODABLE), A="removed", x="new quarantined"),
        step(put("x.md", manual(1)), x="new"),
    ],
    "failed when new, then good": [
        step(put("extra.md", UNDECODABLE), extra="new quarantined"),
        step(put("extra.md", manual(50)), extra="new"),
    ],
    "too large to be looked at, then good": [
        step(put(A, OVERSIZED), A="quarantined"),
        step(edit(B), A="quarantined", B="changed"),
        step(restore(A), edit(A), A="changed"),
    ],
    "the model fails, then answers": [
        Step((add_line(A, POISON),), {A: "changed quarantined"}, is_planned=False),
        step(restore(A), edit(A), A="changed"),
    ],
    "failed while the chunks change": [
        Step(
            (put(A, UNDECODABLE),),
            {A: "changed quarantined"},
            ("chunking.chunk_size_tokens=50",),
            others="changed",
            builds_all=True,
            is_reproducible=False,
        ),
        step(restore(A), A="changed"),
    ],
    "failed while the encoder changes": [
        Step(
            (put(A, UNDECODABLE),),
            {A: "changed quarantined"},
            ("embedding.model=hash://48",),
            others="changed",
            builds_all=True,
        ),
        step(restore(A), A="new"),
    ],
    "changed, removed, renamed and other shards": [
        Step(
            (edit(A), drop(B), move(C, "other.md")),
            {A: "changed", B: "removed", "other.md": "renamed"},
            ("index.num_shards=4",),
            builds_all=True,
        ),
    ],
    "renamed and another model": [
        Step(
            (move(A, "other.md"),),
            {A: "removed", "other.md": "new"},
            ("llm.model=second",),
            others="changed",
            builds_all=True,
        ),
    ],
    "the only document of a shard removed, there again": [
        step(drop(ALONE), ALONE="removed"),
        step(restore(ALONE), ALONE="new"),
    ],
    "the only document of a shard renamed, and back": [
        step(move(ALONE, "other.md"), other="renamed"),
        step(move("other.md", ALONE), ALONE="renamed"),
    ],
    "the only document of a shard failed": [
        step(put(ALONE, UNDECODABLE), ALONE="changed quarantined"),
        step(put(ALONE, OVERSIZED), ALONE="quarantined"),
    ],
    "parser": [
        Step(code=set_parser("another"), others="changed", builds_all=True),
        Step(code=set_parser(PARSER_REVISION), others="changed", builds_all=True),
    ],
    "prompts": [
        Step(code=set_prompts("Be brief."), others="changed", builds_all=True),
        Step(code=set_prompts(""), others="changed", builds_all=True),
    ],
    **{
        setting: [done_again(setting), done_again()]
        for setting in (
            "chunking.chunk_size_tokens=50",
            "chunking.prefix_budget_tokens=4",
            "chop.annotator=heuristic",
            "chop.document_fallback=false",
            "llm.model=second",
            "embedding.model=hash://48",
        )
    },
    **{
        setting: [built_again(setting), built_again()]
        for setting in (
            "index.num_shards=5",
            "index.m=16",
            "index.ef_construction=100",
            "index.positional_code_weight=0.4",
            "index.stemmer=none",
        )
    },
    **{
        setting: [Step(settings=(setting,))]
        for setting in ("retrieval.top_k=7", "llm.lookahead=1", "index.ef_search=64")
    },
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_run_does_what_changed_and_publishes_what_a_fresh_build_would(
    project: Project, story: list[Step], monkeypatch: pytest.MonkeyPatch
) -> None:
    for done in story:
        done.code(monkeypatch)
        run_step(project, done)


def run_step(project: Project, done: Step) -> None:
    before, model_before = project.published, project.settings.embedding.model
    for change in done.changes:
        change(project.texts)
    if done.settings is not None:
        project.settings = project.with_settings(*done.settings)
    states = {**dict.fromkeys(project.texts, done.others), **done.states}
    failed = {doc_id for doc_id, state in states.items() if "quarantined" in state}
    kept = failed & before.keys() if project.settings.embedding.model == model_before else set()
    project.published = {
        **{doc_id: before[doc_id] for doc_id in kept},
        **{doc_id: text for doc_id, text in project.texts.items() if doc_id not in failed},
    }
    todo = {
        doc_id: project.texts[doc_id]
        for doc_id, state in states.items()
        if state in {"new", "changed"}
    }
    to_ask = project.to_ask(todo.values())
    moved = before.items() ^ project.published.items()
    every = {*before, *project.published} if done.builds_all else {*todo, *dict(moved)}
    num_built = len(shards_of(project, every) & shards_of(project, project.published))

    project.write(project.texts)
    planned = project.plan()
    report = project.run(project.index)

    requests = project.model.take_requests()
    num_shards = project.settings.index.num_shards
    assert counted(report.documents) == Counter(state.split()[-1] for state in states.values())
    assert {one.doc_id: one.kept_previous for one in report.quarantined} == {
        doc_id: doc_id in kept for doc_id in failed
    }
    assert report.status is (RunStatus.PARTIAL if failed else RunStatus.DONE)
    assert report.chunks["embedded"] == project.num_chunks(todo.values())
    assert report.shards == {"built": num_built, "reused": num_shards - num_built}
    assert report.annotation["llm_calls"] == len(requests)
    assert counted(planned.documents) == Counter(state.split()[0] for state in states.values())
    if done.is_planned:
        assert Counter(requests) == Counter(to_ask)
        assert (planned.shards_touched, planned.num_shards) == (num_built, num_shards)
        assert planned.chunks == report.chunks["embedded"]
    if done.is_reproducible:
        assert report.chunks["published"] == project.num_chunks(project.published.values())
        assert project.shards(project.index) == project.fresh_shards()


def counted(documents: Mapping[str, int]) -> dict[str, int]:
    return {state: count for state, count in documents.items() if count and state != "published"}


def shards_of(project: Project, doc_ids: Iterable[str]) -> set[int]:
    return {shard_of(doc_id, project.settings.index.num_shards) for doc_id in doc_ids}


@pytest.mark.parametrize("num_changed", [1, 4, 12])
def test_as_many_shards_are_built_as_the_formula_expects(
    tmp_path: Path, small_settings: MakeSettings, num_changed: int
) -> None:
    project = Project(tmp_path, Model(), small_settings)
    project.settings = small_settings(f"index.num_shards={NUM_SHARDS}")
    rows = [{"doc_id": f"row-{number}", "text": f"Row number {number}."} for number in range(120)]
    project.write({"rows.jsonl": lines_of(rows)})
    project.run(project.index)
    rng = random.Random(num_changed)
    touched = []
    for draw in range(40):
        changed = [dict(row) for row in rows]
        for row in rng.sample(changed, num_changed):
            row["text"] += f" Changed in draw {draw}."
        project.write({"rows.jsonl": lines_of(changed)})
        touched.append(project.plan().shards_touched)
    assert project.run(project.index).shards["built"] == touched[-1]
    expected = NUM_SHARDS * (1 - (1 - 1 / NUM_SHARDS) ** num_changed)
    assert sum(touched) / len(touched) == pytest.approx(expected, abs=0.25)  # 2.5 errors


def lines_of(rows: Iterable[Mapping[str, str]]) -> bytes:
    return "\n".join(map(json.dumps, rows)).encode()
