"""A cell of an ablation is the product's own query; selectors keep what they promise."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scp_ray.config import Settings
from scp_ray.embedding.hash_encoder import HashEncoder, WordTokenizer
from scp_ray.evaluation.ablation.config import CellSetting, checked_setting, product_setting
from scp_ray.evaluation.ablation.measure import answer_question
from scp_ray.evaluation.ablation.scoring import ScoredVariant
from scp_ray.evaluation.ablation.variant import CutDocument, Prefixer, Variant, variant_table
from scp_ray.evaluation.baselines.selectors import RankedRows, Selector, SelectorParams, select
from scp_ray.index.postings import invert
from scp_ray.index.term_statistics import TermStatistics, sum_term_statistics
from scp_ray.records import ChunkAnnotation, ChunkSpan, Cnm, QueryParams
from scp_ray.retrieval.question import Question
from scp_ray.retrieval.terms import terms_of
from scp_ray.retrieval.two_pass import two_pass_query
from scp_ray.testing.exact_index import ExactIndex

ENCODER = HashEncoder(16)
WORDS = ["pump", "valve", "lamp", "filter", "K-1", "K-2", "the", "of", "clean"]

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
models = st.sampled_from([None, "K-1", "K-2"])
corpora = st.lists(
    st.lists(st.tuples(texts, models), min_size=1, max_size=8), min_size=1, max_size=5
)
queries = st.lists(st.sampled_from([*WORDS, "gasket"]), max_size=5).map(" ".join)
changes = st.fixed_dictionaries(
    {
        "position_weight": st.sampled_from([0.0, 0.02, 0.5]),
        "lexical_weight": st.sampled_from([0.0, 0.5, 0.9, 1.0]),
        "min_index_gap": st.integers(1, 4),
        "first_pass_candidates": st.integers(1, 20),
        "prior_gate": st.sampled_from([0.0, 0.2, 0.9]),
        "pair_weight": st.sampled_from([0.0, 0.5, 1.0]),
        "top_k": st.integers(1, 12),
        "budget_tokens": st.integers(1, 50),
    }
)


def _variant(corpus: list[list[tuple[str, str | None]]], setting: CellSetting) -> Variant:
    documents = []
    for number, chunks in enumerate(corpus):
        text, spans, annotations = "", [], []
        for chunk, model in chunks:
            (count,) = WordTokenizer().count_tokens([chunk])
            spans.append(ChunkSpan(len(text), len(text) + len(chunk), count))
            annotations.append(ChunkAnnotation(Cnm(model=model), starts_span=True))
            text += chunk
        documents.append(CutDocument(f"doc-{number}", text, spans, annotations))
    prefixer = Prefixer(setting.variant, WordTokenizer(), ENCODER.max_tokens)
    return Variant.from_table(variant_table(documents, prefixer))


def _answers_of_the_product(
    variant: Variant, query: str, setting: CellSetting
) -> list[tuple[str, int, int]]:
    """Search the same chunks as the product does, with its index and its statistics."""
    stemmer = Settings().index.stemmer
    terms = [terms_of(text, stemmer) for text in variant.embedding_texts]
    summed = sum_term_statistics([invert(terms).terms])
    statistics = TermStatistics(summed, setting.lexical, stemmer)
    vectors = ENCODER.encode(variant.embedding_texts)
    rows: dict[str, list[int]] = {}
    for row, doc_id in enumerate(variant.doc_ids):
        rows.setdefault(doc_id, []).append(row)
    index = ExactIndex(
        {doc_id: vectors[mine] for doc_id, mine in rows.items()},
        dim=ENCODER.dim,
        terms={doc_id: [terms[row] for row in mine] for doc_id, mine in rows.items()},
    )
    values = setting.model_dump()
    known = set(QueryParams.__dataclass_fields__) & values.keys()
    params = Settings().query_params(exact=True, **{name: values[name] for name in known})
    question = Question(ENCODER.encode_query([query])[0], statistics.weigh(query))
    kept = two_pass_query([index], question, params).selection.kept
    places = [rows[chunk.key.doc_id][chunk.key.chunk_index] for chunk in kept]
    return [
        (variant.doc_ids[row], variant.char_starts[row], variant.char_ends[row]) for row in places
    ]


@settings(max_examples=150)
@given(corpora, queries, changes)
def test_a_cell_answers_as_the_product_does(
    corpus: list[list[tuple[str, str | None]]], query: str, changed: dict[str, float]
) -> None:
    setting = checked_setting({**product_setting(Settings()), **changed}, "test")
    variant = _variant(corpus, setting)
    scored = ScoredVariant(
        variant, ENCODER.encode(variant.embedding_texts), [query], ENCODER.encode_query([query])
    )
    answer = answer_question(scored, 0, setting, WordTokenizer().count_tokens)
    assert answer.hits == _answers_of_the_product(variant, query, setting)
    for selector in Selector:
        cell = setting.model_copy(update={"selector": selector})
        context = answer_question(scored, 0, cell, WordTokenizer().count_tokens).context
        assert context.tokens <= setting.budget_tokens


@st.composite
def rankings(draw: st.DrawFn) -> RankedRows:
    lengths = draw(st.lists(st.integers(1, 9), min_size=1, max_size=6))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    doc_ids = [f"doc-{number}" for number, length in enumerate(lengths) for _ in range(length)]
    indexes = np.concatenate([np.arange(length) for length in lengths])
    scores = generator.integers(0, 5, len(doc_ids)) / 5
    vectors = ENCODER.encode([WORDS[place] for place in generator.integers(0, 9, len(doc_ids))])
    order = np.argsort(-scores, kind="stable")
    return RankedRows(order, scores, doc_ids, indexes, vectors)


@settings(max_examples=150)
@given(
    rankings(),
    st.sampled_from(list(Selector)),
    st.integers(1, 60),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_selectors_take_rows_once_best_first_and_fewer_are_the_first_of_more(
    ranking: RankedRows, selector: Selector, num_wanted: int, number: int, weight: float
) -> None:
    params = SelectorParams(selector, number, weight, number)
    chosen = select(ranking, num_wanted, params)
    assert len(set(chosen)) == len(chosen) <= num_wanted
    assert chosen[0] == ranking.order[0]
    assert select(ranking, max(1, num_wanted // 2), params) == chosen[: max(1, num_wanted // 2)]
    by_document: dict[str, list[int]] = {}
    for row in chosen:
        by_document.setdefault(ranking.doc_ids[row], []).append(int(ranking.chunk_index[row]))
    for indexes in by_document.values():
        if selector is Selector.GAP:
            assert all(b - a >= number for a, b in pairwise(sorted(indexes)))
        if selector is Selector.MAX_PER_DOCUMENT:
            assert len(indexes) <= number
    if selector not in {Selector.MMR, Selector.NEIGHBOURS}:
        ranks = np.argsort(ranking.order)[chosen]
        assert (np.diff(ranks) > 0).all()
    if selector in {Selector.TOP_K, Selector.MERGE, Selector.MMR, Selector.NEIGHBOURS}:
        assert len(chosen) == min(num_wanted, len(ranking.order))


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 2)), min_size=1, max_size=12))
def test_equal_settings_are_one_key(values: list[tuple[int, int]]) -> None:
    made = [
        checked_setting(
            {**product_setting(Settings()), "min_index_gap": gap, "smoothing": share / 10}, "test"
        )
        for gap, share in values
    ]
    assert len(set(made)) == len(set(values)) == len({one.model_dump_json() for one in made})
    assert {one.variant.model_dump_json() for one in made} == {made[0].variant.model_dump_json()}
