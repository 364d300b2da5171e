"""Index the sample manuals twice, plain and with CHOP + SCP-HNSW, and ask both the same questions.

Run it with ``make demo``.
"""

import sys
import textwrap
import time
from pathlib import Path

from scp_ray.config import Settings, load_settings
from scp_ray.pipeline.ray_executor import RayExecutor, connect
from scp_ray.pipeline.run import IndexRequest, index_corpus
from scp_ray.serve.models import QueryRequest
from scp_ray.serve.searcher import LocalSearcher

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / "examples" / "manuals"
WORK = ROOT / ".demo"
QUESTIONS = (
    "Halden RXC-250D: how often do I have to wash the air filter?",
    "What does error code E4 mean on the Brevia Lumo 40 Pro?",
    "Norrvik Vall 500: how steep may the lawn be?",
)
SYSTEMS = {
    "plain chunks": ["chop.annotator=none", "retrieval.position_weight=0"],
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


def show(name: str, searcher: LocalSearcher, question: str) -> None:
    """Ask one system and show its first three passages."""
    say(f"\n  {name}")
    reply = searcher.answer(QueryRequest(query=question, top_k=3))
    for rank, result in enumerate(reply.results, 1):
        text = textwrap.shorten(result.text, 150)
        say(f"   {rank}. {result.score:.3f}  {result.doc_id}  [chunk {result.chunk_index}]")
        say(textwrap.indent(textwrap.fill(text, 90), "        "))


def main() -> None:
    """Run the demonstration."""
    started = time.monotonic()
    say("starting Ray")
    connect()
    searchers = {
        name: build(name, load_settings(None, assignments))
        for name, assignments in SYSTEMS.items()
    }
    for question in QUESTIONS:
        say(f"\n== {question}")
        for name, searcher in searchers.items():
            show(name, searcher, question)
    say(f"\ndone in {time.monotonic() - started:.0f} s; the indexes are in .demo/")
    say('ask on: .venv/bin/scp-ray query .demo/chop-scp-hnsw "..."')


if __name__ == "__main__":
    main()
