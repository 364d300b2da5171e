"""What a language model would be asked, before it is."""

from itertools import pairwise

import pytest

from scp_ray.annotators.llm_modules import decision_questions, extraction_key
from scp_ray.chop.prompting import decision_requests, extraction_request, title_request
from scp_ray.pipeline.llm_estimate import LlmCost, llm_cost
from scp_ray.storage.annotation_cache import StoredAnnotationCache
from scp_ray.testing import MemoryObjectStore

KETTLE = [
    "# Orbis K-101 Kettle - User Manual\n\nFill the kettle and press the switch.\n",
    "Descale the kettle once a month with a spoon of citric acid.\n",
    "Keep the lid closed while the water boils.\n",
]
KETTLE_AND_PUMP = [
    *KETTLE,
    "# Tarn P-20 Pump - User Manual\n\nPrime the pump before it runs.\n",
    "Never run the pump dry.\n",
]


@pytest.fixture
def cache() -> StoredAnnotationCache:
    return StoredAnnotationCache(MemoryObjectStore(), "f" * 64)


def test_titles_are_asked_about_pairs_without_any_too_and_every_span_is_extracted(
    cache: StoredAnnotationCache,
) -> None:
    cost = llm_cost([KETTLE_AND_PUMP], cache)
    # The second pair shows no title, the third brings one; both spans name one product.
    assert cost.calls == 2 + 2 + 1
    assert cost.cached == 0
    requests = [one for pair in pairwise(KETTLE_AND_PUMP) for one in decision_requests(*pair)]
    requests += [extraction_request(KETTLE_AND_PUMP[start]) for start in (0, 3)]
    requests.append(title_request("Orbis K-101"))
    characters = sum(len(request.instructions + request.content) for request in requests)
    assert cost.prompt_tokens == characters // 4
    assert cost.output_tokens == (2 + 1) * 1 + 2 * 40


def test_one_chunk_is_extracted_and_none_costs_nothing(cache: StoredAnnotationCache) -> None:
    assert llm_cost([KETTLE[:1]], cache).calls == 2  # and what it names
    assert llm_cost([[]], cache) == llm_cost([], cache) == LlmCost()


def test_documents_that_share_text_are_asked_about_once(cache: StoredAnnotationCache) -> None:
    assert llm_cost([KETTLE, KETTLE], cache) == llm_cost([KETTLE], cache)
    assert llm_cost([KETTLE, KETTLE_AND_PUMP], cache) == llm_cost([KETTLE_AND_PUMP], cache)


def test_what_was_answered_before_is_not_counted_again(cache: StoredAnnotationCache) -> None:
    everything = llm_cost([KETTLE], cache)
    [key] = decision_questions(KETTLE[1], KETTLE[2])
    cache.put(key, "TRUE")
    cache.put(extraction_key(KETTLE[0]), '{"category": null, "nouns": [], "model": null}')
    rest = llm_cost([KETTLE], cache)
    assert (rest.calls, rest.cached) == (everything.calls - 2, 2)
    assert rest.calls == rest.output_tokens == 1  # the name


def test_cost_of_a_sample_is_scaled_up_in_every_part() -> None:
    cost = LlmCost(calls=3, prompt_tokens=1000, output_tokens=50, cached=1)
    assert cost.scaled(2.5) == LlmCost(8, 2500, 125, 2)
    assert cost.scaled(1.0) == cost
