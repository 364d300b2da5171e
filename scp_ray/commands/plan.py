"""``scp-ray plan``: what ``index`` would do, and what it would cost."""

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from scp_ray.commands.terminal import ExitCode, show, show_json, tell
from scp_ray.config import Settings

if TYPE_CHECKING:
    from scp_ray.pipeline.estimate import CostEstimate

HELP = "say what `index` would do and cost; changes nothing"
DESCRIPTION = """\
Compares CORPUS with the current generation of INDEX and says how many documents are new,
changed, same and removed, and how many chunks, tokens and LLM calls a run would take. Counts
come from reading up to 64 of the documents, scaled up by size; tokens of a language model are
a quarter of the characters. With --llm-tokens-per-second, a rate that you measured, it says how
long the annotation takes. Nothing is written.
"""
EXAMPLES = """\
examples:
  scp-ray plan manuals/ index/
  scp-ray plan manuals/ index/ --set chop.annotator=vllm --set llm.model=MODEL \\
    --llm-tokens-per-second 20000
"""
_SECONDS_PER_HOUR = 3600


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("corpus", metavar="CORPUS", help="folder of documents, or s3://")
    parser.add_argument(
        "index", metavar="INDEX", help="folder of the index, or s3://; may be missing"
    )
    parser.add_argument(
        "--llm-tokens-per-second",
        type=float,
        metavar="N",
        help="prompt tokens that all engines together take",
    )
    parser.add_argument("--json", action="store_true", help="print the plan as JSON")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Run the command and return its exit code."""
    from scp_ray.pipeline.estimate import estimate_cost
    from scp_ray.pipeline.preparation import IndexRequest, prepare
    from scp_ray.pipeline.ray_executor import RayExecutor, connect
    from scp_ray.storage.opening import open_existing

    tell("starting Ray")
    tell(connect())
    executor = RayExecutor(settings)
    request = IndexRequest(open_existing(args.corpus).url, args.index, settings)
    prepared = prepare(request, executor, tell)
    estimate = estimate_cost(executor, request, prepared)
    if args.json:
        problems = [asdict(problem) for problem in prepared.plan.quarantined]
        show_json({**asdict(estimate), "quarantined": problems}, indent=1)
    else:
        show(_summary(estimate, args.llm_tokens_per_second))
    return ExitCode.DONE


def _summary(estimate: "CostEstimate", tokens_per_s: float | None) -> str:
    about = "about " if estimate.is_estimate else ""
    states = ", ".join(f"{count} {state}" for state, count in estimate.documents.items())
    llm = estimate.llm
    lines = [
        f"documents  {states}",
        f"shards     {estimate.shards_touched} of {estimate.num_shards} to build",
        f"chunks     {about}{estimate.chunks} to annotate and embed",
        f"tokens     {about}{estimate.embedding_tokens} to embed",
        f"decisions  {about}{estimate.continuity_decisions} of continuity",
        f"LLM calls  {about if llm.calls else ''}{llm.calls}",
    ]
    if llm.calls or llm.cached:
        lines += [
            f"LLM tokens about {llm.prompt_tokens} of prompts, {llm.output_tokens} of answers",
            f"LLM cache  {about}{llm.cached} answers are there already",
        ]
    if tokens_per_s:
        hours = llm.prompt_tokens / tokens_per_s / _SECONDS_PER_HOUR
        lines.append(f"LLM time   about {hours:.1f} h at {tokens_per_s:g} prompt tokens/s")
    return "\n".join(lines)
