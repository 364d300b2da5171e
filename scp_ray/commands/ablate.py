"""``scp-ray ablate``: what each part of the method is worth."""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from scp_ray.commands.terminal import ExitCode, show, show_json, tell
from scp_ray.config import Settings

if TYPE_CHECKING:
    from scp_ray.pipeline.ablation import AblationCounts

HELP = "measure a grid of settings over sets of questions"
DESCRIPTION = """\
Measures every cell of a grid of chunking, annotation, scoring and selection over one or several
sets of questions, and compares each with the base on the same questions. CONFIG (YAML) names the
sets, the base (the settings in force, but for what it changes) and the studies that vary it. What
was measured before is taken from OUT, and a run that was stopped or killed is finished by the same
command. Writes ablation.json, ablation.html, ablation.md and cells.parquet to OUT.
"""
EXAMPLES = """\
examples:
  scp-ray ablate examples/ablation.yaml --out ablation/
  scp-ray ablate examples/ablation.yaml --out ablation/ --set embedding.model=hash://32
  scp-ray ablate study.yaml --data data/ --out s3://bucket/ablation --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("ablation", metavar="CONFIG", type=Path, help="what is measured, as YAML")
    parser.add_argument(
        "--out", metavar="OUT", required=True, help="folder of the results, or s3://"
    )
    parser.add_argument(
        "--data",
        metavar="DIR",
        type=Path,
        help="folder that {data}/ in a path of CONFIG stands for",
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Run the command and return its exit code."""
    from scp_ray.evaluation.ablation.config import load_ablation
    from scp_ray.evaluation.ablation.report import report_ablation
    from scp_ray.evaluation.pages.summary import render_summary
    from scp_ray.pipeline.ablation import AblationRequest, ablation_settings, run_ablation
    from scp_ray.pipeline.ablation_files import write_results
    from scp_ray.pipeline.interrupt import interruptible
    from scp_ray.pipeline.ray_executor import RayExecutor, connect

    config = load_ablation(args.ablation, args.data)
    executor_settings = ablation_settings(config, settings)
    tell("starting Ray")
    tell(connect())
    with interruptible() as stop:

        def progress(line: str) -> None:
            stop.check()
            tell(line)

        request = AblationRequest(config, args.out, settings)
        results, counts = run_ablation(request, RayExecutor(executor_settings), progress)
        report = report_ablation(results, config.title)
        tree = write_results(args.out, results, report)
    tell(_summary(counts))
    if args.json:
        show_json({**tree, "run": asdict(counts)})
    else:
        show(render_summary(report))
    return ExitCode.DONE


def _summary(counts: "AblationCounts") -> str:
    made = ", ".join(
        f"{kind} {counts.done[kind]} made and {counts.reused[kind]} reused" for kind in counts.done
    )
    phases = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in counts.seconds.items())
    return f"{made}; {phases}"
