"""``scp-ray query``: ask an index, in this process."""

import argparse
import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scp_ray.commands.terminal import ExitCode, show, show_json
from scp_ray.config import Settings
from scp_ray.errors import ConfigError
from scp_ray.evaluation.queries import read_queries
from scp_ray.serve.models import CandidateModel, ContextModel, QueryReply, QueryRequest, ResultModel

HELP = "ask an index a question"
DESCRIPTION = """\
Runs the two-pass query in this process: the first pass finds chunks by meaning alone and learns
where in a document the answer lies, the second adds up meaning, words and nearness to that place,
and the gap selector keeps overlapping neighbours out of the result.
"""
EXAMPLES = """\
examples:
  scp-ray query index/ "RXC-225B: how do I clean the filter?"
  scp-ray query index/ "..." --top-k 10 --min-index-gap 3 --explain
  scp-ray query index/ "..." --filter '{"cnm.model": "RXC-225B"}'
  scp-ray query index/ "..." --max-context-tokens 1000
  scp-ray query index/ --file queries.jsonl --json > replies.jsonl
"""
_WIDTH = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("index", metavar="INDEX", help="address of the index")
    parser.add_argument("question", metavar="QUESTION", nargs="?", help="what to ask")
    parser.add_argument(
        "--file", type=Path, metavar="QUERIES", help="ask every question of a JSONL file instead"
    )
    parser.add_argument("--top-k", type=int, metavar="N", help="results wanted")
    parser.add_argument(
        "--min-index-gap",
        type=int,
        metavar="N",
        help="least distance of two results of a document, in chunks; 1 = off",
    )
    parser.add_argument(
        "--position-weight", type=float, metavar="W", help="weight of position; 0 leaves it out"
    )
    parser.add_argument(
        "--lexical-weight",
        type=float,
        metavar="L",
        help="weight of words against vectors; 0 = vectors alone, 1 = words alone",
    )
    parser.add_argument(
        "--max-context-tokens",
        type=int,
        metavar="N",
        help="also assemble a context of at most N tokens; 0 = none",
    )
    parser.add_argument(
        "--filter", metavar="JSON", help="only chunks for which all of these hold; see docs"
    )
    parser.add_argument(
        "--exact", action="store_true", default=None, help="scan every vector, not the graph"
    )
    parser.add_argument("--explain", action="store_true", help="show why each chunk was picked")
    parser.add_argument("--json", action="store_true", help="print replies as JSON, one a line")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Run the command and return its exit code."""
    from scp_ray.serve.searcher import LocalSearcher

    if (args.question is None) == (args.file is None):
        message = "give either a QUESTION or --file QUERIES"
        raise ConfigError(message)
    questions = list(_questions(args))
    requests = [(name, _request(args, question)) for name, question in questions]
    searcher = LocalSearcher.open(args.index, settings)
    for name, request in requests:
        try:
            reply = searcher.answer(request)
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}" if name else str(error)) from error
        if args.json:
            named = {} if name is None else {"query_id": name}
            show_json({**named, **reply.model_dump(mode="json")})
        else:
            show(_render(request, reply))
        sys.stdout.flush()
    return ExitCode.DONE


def _questions(args: argparse.Namespace) -> Iterator[tuple[str | None, str]]:
    if args.file is None:
        yield None, args.question
    else:
        for query in read_queries(args.file):
            yield query.query_id, query.query


def _request(args: argparse.Namespace, question: str) -> QueryRequest:
    values = {
        "query": question,
        "top_k": args.top_k,
        "min_index_gap": args.min_index_gap,
        "position_weight": args.position_weight,
        "lexical_weight": args.lexical_weight,
        "max_context_tokens": args.max_context_tokens,
        "filter": _filter(args.filter),
        "exact": args.exact,
        "explain": args.explain,
    }
    return QueryRequest.checked(values)


def _filter(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        message = f"--filter: not JSON: {error}"
        raise ConfigError(message) from error
    if not isinstance(value, dict):
        message = '--filter: expected a JSON object such as {"doc_id": "a.md"}'
        raise ConfigError(message)
    return value


def _render(request: QueryRequest, reply: QueryReply) -> str:
    lines = [f"? {request.query}"]
    for rank, result in enumerate(reply.results, 1):
        cnm = result.cnm
        names = [cnm.category, *cnm.nouns, cnm.model]
        signature = " | ".join(name for name in names if name) or "no signature"
        text = textwrap.fill(textwrap.shorten(result.text, 4 * _WIDTH), _WIDTH)
        place = f"chunk {result.chunk_index}/{result.num_chunks}"
        span = f"characters {result.char_start}-{result.char_end}"
        lines += [
            f"{rank}. {_scores(result)}  {result.doc_id}  {place}, {span}",
            f"   {signature}",
            textwrap.indent(text, "   "),
        ]
    if not reply.results:
        lines.append("nothing found")
    lines += [f"note: {one.group}: {one.reason}" for one in reply.degraded]
    if reply.lexical.unknown_terms and not reply.lexical.known_terms:
        lines.append("note: the index knows none of these words; vectors decided alone")
    if reply.context is not None:
        lines.append(_render_context(reply.context))
    if reply.audit is not None:
        lines.append(_render_audit(reply))
    return "\n".join(lines) + "\n"


def _scores(scored: ResultModel | CandidateModel) -> str:
    if scored.rerank_score is None:
        return f"{scored.score:.4f}"
    return f"{scored.score:.4f}, reranked {scored.rerank_score:.4f}"


def _render_context(context: ContextModel) -> str:
    lines = [f"   context: {context.tokens} tokens, {len(context.skipped)} chunks skipped"]
    for passage in context.passages:
        chunks = ", ".join(map(str, passage.chunk_indexes))
        span = f"characters {passage.char_start}-{passage.char_end}"
        lines += [
            f"   [{passage.doc_id} {span}, chunks {chunks}, score {passage.score:.4f}]",
            textwrap.indent(passage.text, "   | "),
        ]
    return "\n".join(lines)


def _render_audit(reply: QueryReply) -> str:
    prior, audit = reply.prior, reply.audit
    if audit is None:
        return ""
    where = "each shard its own"
    if prior.position is not None and prior.concentration is not None:
        where = f"position {prior.position:.3f}, concentration {prior.concentration:.3f}"
    lines = [f"   prior: {where}; {'applied' if prior.applied else 'not applied'}", "   decisions:"]
    for candidate, decision in zip(audit.second_pass, audit.decisions, strict=True):
        verdict = "kept" if decision.kept else f"dropped, too near to chunk {decision.near}"
        terms = (
            f"{candidate.semantic_score:.4f} meaning, {candidate.lexical_score:.4f} words, "
            f"{candidate.position_score:+.3f} position"
        )
        where = f"{candidate.doc_id} chunk {candidate.chunk_index}"
        lines.append(f"     {_scores(candidate)} ({terms})  {where}: {verdict}")
    return "\n".join(lines)
