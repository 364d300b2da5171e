"""The state machine: who inherits, who is asked, what falls back."""

import asyncio

import pytest

from scp_ray.chop.annotate import annotate_document, fold, span_starts
from scp_ray.errors import AnnotationError
from scp_ray.records import ChunkAnnotation, Cnm

KETTLE = Cnm("kettle", ("kettle lid",), "Ostra K1")
TOASTER = Cnm("toaster", (), "Ostra T2")


class Recorder:
    """Says what the first letter of a chunk says, and remembers what it was asked."""

    def __init__(self) -> None:
        self.extracted: list[str] = []
        self.decided: list[tuple[str, str]] = []

    async def extract_cnm(self, chunk: str) -> Cnm:
        self.extracted.append(chunk)
        return {"k": KETTLE, "t": TOASTER}[chunk[0]]

    async def decide_continuity(self, chunk: str, next_chunk: str) -> bool:
        self.decided.append((chunk, next_chunk))
        return chunk[0] == next_chunk[0]


def annotate(chunks: list[str], recorder: Recorder | None = None) -> list[ChunkAnnotation]:
    ports = recorder or Recorder()
    return asyncio.run(
        annotate_document(chunks, ports, ports, lookahead=4, document_fallback=False)
    )


def test_true_inherits_and_false_takes_the_new_chunks_cnm() -> None:
    annotations = annotate(["k1", "k2", "t1", "k3"])
    assert [one.cnm for one in annotations] == [KETTLE, KETTLE, TOASTER, KETTLE]
    assert [one.starts_span for one in annotations] == [True, False, True, True]


def test_every_pair_is_decided_and_only_span_starts_are_extracted() -> None:
    recorder = Recorder()
    annotate(["k1", "k2", "t1", "t2"], recorder)
    assert recorder.decided == [("k1", "k2"), ("k2", "t1"), ("t1", "t2")]
    assert recorder.extracted == ["k1", "t1"]


def test_one_chunk_is_one_span() -> None:
    assert annotate(["t1"]) == [ChunkAnnotation(TOASTER, starts_span=True)]


def test_no_chunks_give_no_annotations() -> None:
    assert annotate([]) == []


def test_errors_of_the_extractor_pass_through() -> None:
    class Failing(Recorder):
        async def extract_cnm(self, chunk: str) -> Cnm:
            message = f"no answer for {chunk}"
            raise AnnotationError(message)

    with pytest.raises(AnnotationError, match="no answer for k1"):
        annotate(["k1"], Failing())


@pytest.mark.parametrize(
    ("decisions", "starts"),
    [([], [0]), ([True, True], [0]), ([False, True, False], [0, 1, 3])],
)
def test_spans_start_at_the_first_chunk_and_after_each_false(
    decisions: list[bool], starts: list[int]
) -> None:
    assert span_starts(decisions) == starts


def test_a_span_without_a_cnm_is_an_error_that_names_the_chunk() -> None:
    with pytest.raises(AnnotationError, match="chunk 2 starts a span but has no CNM"):
        fold([True, False], {0: KETTLE}, document_fallback=True)


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (Cnm(nouns=("lid",)), Cnm("kettle", ("lid",), "Ostra K1")),
        (Cnm("jug", (), None), Cnm("jug", (), "Ostra K1")),
        (Cnm(None, (), "Ostra K1"), Cnm("kettle", (), "Ostra K1")),
        (Cnm(None, (), "Ostra T2"), Cnm(None, (), "Ostra T2")),
        (TOASTER, TOASTER),
    ],
)
def test_missing_fields_fall_back_to_the_first_span(own: Cnm, expected: Cnm) -> None:
    annotations = fold([False], {0: KETTLE, 1: own}, document_fallback=True)
    assert annotations[1].cnm == expected


def test_without_the_fallback_missing_fields_stay_missing() -> None:
    own = Cnm(nouns=("lid",))
    assert fold([False], {0: KETTLE, 1: own}, document_fallback=False)[1].cnm == own


def test_the_fallback_is_the_first_span_not_the_one_before() -> None:
    cnms = {0: KETTLE, 1: TOASTER, 2: Cnm()}
    annotations = fold([False, False], cnms, document_fallback=True)
    assert annotations[2].cnm == Cnm("kettle", (), "Ostra K1")
