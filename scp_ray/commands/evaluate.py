"""``scp-ray evaluate``: how often the right passage is found."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scp_ray.commands.terminal import ExitCode, show, show_json, tell
from scp_ray.config import Settings
from scp_ray.evaluation.queries import read_queries
from scp_ray.sections import SearchMode

if TYPE_CHECKING:
    from scp_ray.evaluation.runs.comparison import Comparison
    from scp_ray.evaluation.runs.record import EvaluationRun
    from scp_ray.serve.measuring import Measured
    from scp_ray.serve.searcher import LocalSearcher

HELP = "measure an index against questions with known answers"
DESCRIPTION = """\
Asks every question of QUERIES (JSONL rows {query_id, query, relevant: [{doc_id, char_start,
char_end}]}) for ten results and prints hit rates, MRR, NDCG, MAP, how often the right document
comes first, how much of the evidence is covered and how much text is repeated, each with its 95 %
interval. A result is relevant when it covers half of a relevant span or 100 of its characters.
With --budget it also assembles a context for each question, and prints how much of the evidence it
holds, how much of it is evidence, and its tokens. With --against it prints what changed from an
earlier evaluation of the same questions. docs/evaluation.md defines every metric.
"""
EXAMPLES = """\
examples:
  scp-ray evaluate index/ queries.jsonl
  scp-ray evaluate index/ queries.jsonl --budget 1000 --out before/
  scp-ray evaluate index/ queries.jsonl --budget 1000 --set retrieval.position_weight=0 \\
    --out after/ --against before/
"""
_SECTIONS: Final = ("retrieval", "lexical", "context", "rerank")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("index", metavar="INDEX", help="address of the index")
    parser.add_argument("queries", metavar="QUERIES", type=Path, help="questions as JSONL")
    parser.add_argument(
        "--budget",
        type=int,
        default=0,
        metavar="N",
        help="also measure contexts of at most N tokens",
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        help="also vary settings, and write evaluation.json, questions.parquet and report.html",
    )
    parser.add_argument(
        "--against", metavar="DIR", type=Path, help="compare with what an earlier --out DIR holds"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Run the command and return its exit code."""
    from scp_ray.evaluation.pages.page import render_page
    from scp_ray.evaluation.pages.summary import render_summary
    from scp_ray.evaluation.queries import check_spans
    from scp_ray.evaluation.runs.comparison import compare, require_same_questions
    from scp_ray.evaluation.runs.files import read_earlier, write_run
    from scp_ray.evaluation.runs.layout import report_run, summarize_run
    from scp_ray.serve.explaining import explain_worst
    from scp_ray.serve.measuring import measure_searcher
    from scp_ray.serve.reviewing import document_lengths
    from scp_ray.serve.searcher import LocalSearcher
    from scp_ray.serve.sweeping import sweep_settings

    queries = read_queries(args.queries)
    earlier = None if args.against is None else read_earlier(args.against)
    if earlier is not None:
        require_same_questions(queries, earlier)
    searcher = LocalSearcher.open(args.index, settings)
    lengths = document_lengths(args.index, searcher.manifest)
    check_spans(queries, lengths, args.index)
    if args.out is not None:
        args.out.mkdir(parents=True, exist_ok=True)  # before the asking, which takes long
    measured = measure_searcher(searcher, queries, tell, budget=args.budget)
    evaluation = _evaluation(args, settings, searcher, measured, lengths)
    comparison = None if earlier is None else compare(evaluation, earlier)
    if args.out is not None:
        evaluation = replace(
            evaluation,
            sweeps=sweep_settings(searcher, queries, settings, tell, budget=args.budget),
            explained=explain_worst(searcher, measured, tell),
        )
        page = render_page(report_run(evaluation, comparison))
        write_run(args.out, evaluation, comparison, page)
    if args.json:
        show_json(_figures(evaluation, comparison))
    else:
        show(render_summary(summarize_run(evaluation, comparison)))
    return ExitCode.DONE


def _evaluation(
    args: argparse.Namespace,
    settings: Settings,
    searcher: "LocalSearcher",
    measured: "Measured",
    lengths: dict[str, int],
) -> "EvaluationRun":
    from scp_ray.evaluation.metrics import CUTOFF
    from scp_ray.evaluation.runs.record import EvaluationRun

    manifest = searcher.manifest
    sections = {name: getattr(settings, name).model_dump(mode="json") for name in _SECTIONS}
    # What every question asks for goes before the settings.
    sections["retrieval"]["top_k"] = CUTOFF
    sections["context"]["max_tokens"] = args.budget
    is_exact = SearchMode.EXACT in {settings.index.search, manifest.settings["index"]["search"]}
    sections["index"] = {"search": (SearchMode.EXACT if is_exact else SearchMode.HNSW).value}
    return EvaluationRun(
        args.index,
        manifest.generation,
        manifest.encoder.model,
        args.queries.name,
        sections,
        args.budget,
        measured.asked,
        measured.ranking,
        measured.evidence,
        lengths,
    )


def _figures(evaluation: "EvaluationRun", comparison: "Comparison | None") -> dict[str, Any]:
    from scp_ray.evaluation.report import evidence_figures, figures
    from scp_ray.evaluation.runs.files import against_of

    evidence, budget = evaluation.evidence, evaluation.budget
    return {
        "index": evaluation.index,
        "generation": evaluation.generation,
        **figures(evaluation.ranking),
        **(evidence_figures(evidence, budget) if evidence else {}),
        **({"against": against_of(comparison)} if comparison else {}),
    }
