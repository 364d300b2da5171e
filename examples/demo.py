"""Index the sample manuals twice, plain and with CHOP + SCP-HNSW, and ask both the same questions.

Run it with ``make demo``.
"""

import sys
import textwrap
import time
from pathlib import Path

from scp_ray.config import Settings, load_settings
from scp_ray.evaluation.queries import Query, read_queries
from scp_ray.evaluation.relevance import HitSpan, is_relevant
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.ray_executor import RayExecutor, connect
from scp_ray.pipeline.run import index_corpus
from scp_ray.serve.models import QueryRequest
from scp_ray.serve.searcher import LocalSearcher

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / "examples" / "manuals"
WORK = ROOT / ".demo"
QUERIES = ROOT / "examples" / "manual_queries.jsonl"
ASKED = ("halden-14", "norrvik-11", "calder-12")
SYSTEMS = {
    "plain chunks": [
        "chop.annotator=none",
        "retrieval.position_weight=0",
        "retrieval.lexical_weight=0",
    ],
    "CHOP + SCP-HNSW": [],
}


def say(text: str = "") -> None:
    """Write a line."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def build(name: str, settings: Settings) -> LocalSearcher:
    """Index the sample corpus and open the index."""
    say(f"\n== indexing {CORPUS.relative_to(ROOT)}: {name}")
    index = str(WORK / name.replace(" + ", "-").replace(" ", "-").lower())
    request = IndexRequest(str(CORPUS), index, settings)
    report = index_corpus(request, RayExecutor(settings), lambda line: say(f"   {line}"))
    say(f"   {report.documents['published']} manuals, {report.chunks['published']} chunks")
    return LocalSearcher.open(index, settings)


def show(name: str, searcher: LocalSearcher, query: Query) -> None:
    """Ask one system and show its first three passages."""
    say(f"\n  {name}")
    reply = searcher.answer(QueryRequest(query=query.query, top_k=3))
    for rank, result in enumerate(reply.results, 1):
        span = HitSpan(result.doc_id, result.char_start, result.char_end)
        verdict = "  <- has the answer" if is_relevant(span, query.relevant) else ""
        say(f"   {rank}. {result.score:.3f}  {result.doc_id}{verdict}")
        text = textwrap.shorten(result.text, 180, placeholder=" ...")
        say(textwrap.indent(textwrap.fill(text, 90), "        "))


def main() -> None:
    """Run the demonstration."""
    started = time.monotonic()
    say("starting Ray")
    connect()
    searchers = {
        name: build(name, load_settings(None, assignments)) for name, assignments in SYSTEMS.items()
    }
    queries = {query.query_id: query for query in read_queries(QUERIES)}
    for query_id in ASKED:
        say(f"\n== {queries[query_id].query}")
        for name, searcher in searchers.items():
            show(name, searcher, queries[query_id])
    say(f"\ndone in {time.monotonic() - started:.0f} s; the indexes are in .demo/")
    say('ask on: .venv/bin/scp-ray query .demo/chop-scp-hnsw "..."')


if __name__ == "__main__":
    main()
