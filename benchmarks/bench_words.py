"""Time the lexical index of one shard against bm25s on the same terms, in one run by turns.

Texts are the chunks of the sample corpus with their prefixes, and copies of them in which words are
exchanged, as ``varied_texts`` has it. A search is what a shard does for a question: BM25 of every
chunk and the best ten. bm25s gets the same distinct terms of the question, and looks them up too.
Scores are compared in passing. Writes ``results/bench_words.json``.
"""

import argparse
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.environment import capture
from benchmarks.figures import ROOT, Result, say
from benchmarks.shard_rows import stored_rows, texts
from benchmarks.varied_texts import EXCHANGED, NEW, varied_texts
from benchmarks.word_searches import NUM_WANTED, WordSearches
from scp_ray import schema
from scp_ray.chop.prefix import embedding_text
from scp_ray.config import Settings, load_settings
from scp_ray.evaluation.queries import read_queries
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.run import index_corpus

_CORPUS = ROOT / "examples" / "manuals"
_QUERIES = ROOT / "examples" / "manual_queries.jsonl"
_SEED = 1
_SIZES = {"small": 10_000, "large": 100_000}
_NO_MODEL = "embedding.model=hash://32"  # vectors are not looked at


def main() -> None:
    """Build both indexes at both sizes and ask them all questions."""
    args = _parser().parse_args()
    settings = load_settings(None, [_NO_MODEL], {})
    environment = capture(settings, _CORPUS)
    questions = [query.query for query in read_queries(_QUERIES)]
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        originals = _chunk_texts(Path(folder, "sample"), settings)
        for name, num_chunks in _SIZES.items():
            say(f"{name}: {num_chunks} chunks")
            work = Path(folder, name)
            work.mkdir()
            varied = list(varied_texts(originals, num_chunks, _SEED))
            searches = WordSearches(
                varied, settings.index.stemmer, settings.lexical, work, args.builds
            )
            figures[name] = searches.measure(questions, args.repeat)
    run_settings = {
        "seed": _SEED,
        "exchanged": EXCHANGED,
        "new": NEW,
        "num_wanted": NUM_WANTED,
        "stemmer": settings.index.stemmer,
        "lexical": settings.lexical.model_dump(mode="json"),
        "bm25s": {
            "version": version("bm25s"),
            "method": "lucene",
            "backend": "numpy",
            "csc_backend": "scipy",
            "numba": _version("numba"),
        },
    }
    say(f"written: {Result(environment, run_settings, figures).write('bench_words').name}")


def _chunk_texts(index: Path, settings: Settings) -> list[str]:
    """Return what a lexical index is built over: each chunk after its prefix."""
    request = IndexRequest(str(_CORPUS), str(index), settings)
    index_corpus(request, InProcessExecutor(), lambda _line: None)
    chunks = stored_rows(index).chunks
    pairs = zip(texts(chunks, schema.PREFIX), texts(chunks, schema.TEXT), strict=True)
    return [embedding_text(prefix, text) for prefix, text in pairs]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--builds", type=int, default=3, help="builds of each index")
    parser.add_argument(
        "--repeat", type=int, default=5, help="rounds, each of which asks every question once"
    )
    return parser


if __name__ == "__main__":
    main()
