"""``scp-ray index``: build or re-index."""

import argparse
from typing import TYPE_CHECKING

from scp_ray.commands.terminal import ExitCode, show, tell
from scp_ray.config import Settings

if TYPE_CHECKING:
    from scp_ray.pipeline.report import RunReport

HELP = "build an index from a corpus, or bring it up to date"
DESCRIPTION = """\
Reads every document of CORPUS (.txt .md .html .pdf .docx .jsonl .parquet), splits it into
chunks, writes a CHOP signature in front of each, embeds them, builds one SCP-HNSW index per
shard and publishes the whole as a new generation of INDEX. Documents that did not change since
the last generation cost nothing. Documents that cannot be used are listed with the reason; the
rest goes on and the exit code is 3.

A run that was stopped or killed is finished by running the same command again.
"""
EXAMPLES = """\
examples:
  scp-ray index manuals/ index/
  scp-ray index s3://bucket/manuals s3://bucket/index
  scp-ray index manuals/ index/ --set index.num_shards=16 --set chop.annotator=none
  scp-ray index manuals/ index/ --json > report.json
"""
_SHOWN_PROBLEMS = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("corpus", metavar="CORPUS", help="folder of documents, or s3://")
    parser.add_argument(
        "index", metavar="INDEX", help="folder of the index, or s3://; made if missing"
    )
    parser.add_argument(
        "--allow-removals",
        action="store_true",
        help="publish even when more documents vanished than publish.max_removed_fraction",
    )
    parser.add_argument(
        "--max-llm-calls",
        type=int,
        metavar="N",
        help="stop before more calls of a language model than that, 0 for none; the next run "
        "goes on from there",
    )
    parser.add_argument("--json", action="store_true", help="print the run report as JSON")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Run the command and return its exit code."""
    from scp_ray.pipeline.interrupt import interruptible
    from scp_ray.pipeline.preparation import IndexRequest
    from scp_ray.pipeline.ray_executor import RayExecutor, connect
    from scp_ray.pipeline.report import RunStatus
    from scp_ray.pipeline.run import index_corpus

    settings = settings.with_values("llm", max_calls=args.max_llm_calls)
    request = IndexRequest(args.corpus, args.index, settings, args.allow_removals)
    tell("starting Ray")
    tell(connect())
    with interruptible() as stop:

        def progress(line: str) -> None:
            stop.check()
            tell(line)

        report = index_corpus(request, RayExecutor(settings), progress)
    show(report.to_json() if args.json else _summary(report))
    return ExitCode.PARTIAL if report.status is RunStatus.PARTIAL else ExitCode.DONE


def _summary(report: "RunReport") -> str:
    documents, chunks = report.documents, report.chunks
    states = ", ".join(
        f"{documents[state]} {state}" for state in ("new", "changed", "renamed", "same", "removed")
    )
    phases = ", ".join(f"{name} {value:.1f}" for name, value in report.seconds.items())
    lines = [
        f"{report.status}: generation {report.generation} of {report.index}",
        f"  documents  {documents['published']} published: {states}",
        f"  chunks     {chunks['published']} published: "
        + ", ".join(f"{chunks[kind]} {kind}" for kind in ("embedded", "adopted", "kept")),
        *_annotation_lines(report.annotation, report.annotation_rates),
        f"  shards     {report.shards['built']} built, {report.shards['reused']} reused",
        f"  seconds    {phases}",
    ]
    if report.skipped_files:
        lines.append(f"  skipped    {len(report.skipped_files)} files of other kinds")
    for failure in report.quarantined[:_SHOWN_PROBLEMS]:
        kept = " (previous version kept)" if failure.kept_previous else ""
        lines.append(f"  quarantined {failure.doc_id}: {failure.reason}: {failure.detail}{kept}")
    if len(report.quarantined) > _SHOWN_PROBLEMS:
        lines.append(f"  ... and {len(report.quarantined) - _SHOWN_PROBLEMS} more; see the report")
    lines.append(f"  report     {report.index}/runs/{report.run_id}/report.json")
    return "\n".join(lines)


def _annotation_lines(annotation: dict[str, int], rates: dict[str, float]) -> list[str]:
    if not annotation.get("llm_calls") and not annotation.get("cache_hits"):
        return []
    kinds = ("llm_calls", "cache_hits", "retries", "fallbacks", "prompt_tokens", "output_tokens")
    counts = ", ".join(f"{annotation[kind]} {kind.replace('_', ' ')}" for kind in kinds)
    shares = "".join(f", {name.replace('_', ' ')} {rate:.0%}" for name, rate in rates.items())
    return [f"  annotation {annotation['spans']} spans: {counts}{shares}"]
