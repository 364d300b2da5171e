"""What has to be asked for some texts."""

from itertools import pairwise

from benchmarks.annotation_keys import Chunker, annotation_keys
from benchmarks.changing_manuals import make_manuals
from benchmarks.scripted_llm_server import answer
from scp_ray.chop.prompting import decision_requests, parse_decision
from scp_ray.config import load_settings


def test_keys_are_a_decision_a_pair_and_an_extraction_a_span() -> None:
    chunker = Chunker(load_settings(None, ["embedding.model=hash://32"], {}), 256)
    documents = {doc_id: chunker.chunks(text) for doc_id, text in make_manuals(30, 1).items()}
    pairs = [pair for chunks in documents.values() for pair in pairwise(chunks)]
    asked = [decision_requests(*pair) for pair in pairs]
    new_spans = sum(
        not all(parse_decision(answer(one.content, is_decision=True)) for one in requests)
        for requests in asked
    )
    assert 0 < new_spans < len(pairs)
    decisions = {request.content for requests in asked for request in requests}
    assert len(annotation_keys(documents)) == len(decisions) + len(documents) + new_spans


def test_equal_texts_have_equal_keys() -> None:
    chunks = ["One chunk.", "Another chunk.", "A third one."]
    assert annotation_keys({"a": chunks, "b": chunks}) == annotation_keys({"a": chunks})
    assert annotation_keys({"a": chunks[:2]}) < annotation_keys({"a": chunks})


def test_chunks_overlap_and_cover_the_text() -> None:
    settings = load_settings(
        None,
        [
            "embedding.model=hash://32",
            "chunking.chunk_size_tokens=10",
            "chunking.overlap_tokens=2",
        ],
        {},
    )
    text = " ".join(f"word{number}" for number in range(26))
    chunks = Chunker(settings, 256).chunks(text)
    assert [len(chunk.split()) for chunk in chunks] == [10, 10, 10]
    assert chunks[0].split()[-2:] == chunks[1].split()[:2]
