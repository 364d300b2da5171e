"""Load the service, its floor and other vector databases by turns, and measure its parts.

The others (Chroma's server, LanceDB, Milvus Lite) have an environment of their own, made once:

    python3.11 -m venv build/serve
    build/serve/bin/python -m pip install -r benchmarks/requirements-serve.txt

A whole run writes ``results/bench_serve.json``; a part alone only with ``--write``, beside the
parts that the file has already.
"""

import argparse
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.environment import capture
from benchmarks.figures import RESULTS, ROOT, Result, read_result, say
from benchmarks.serve_bench import Bench
from benchmarks.serve_corpus import CORPUS, served_corpus
from benchmarks.serve_filters import measure_filters
from benchmarks.serve_generations import measure_generations
from benchmarks.serve_groups import measure_groups
from benchmarks.serve_passes import measure_passes
from benchmarks.serve_profile import profile_front
from benchmarks.serve_rounds import measure_load
from scp_ray.config import load_settings

NAME = "bench_serve"
_PARTS = ("load", "passes", "groups", "generations", "filters")
_OTHERS = ROOT / "build" / "serve" / "bin" / "python"
_CACHE = Path(tempfile.gettempdir()) / "scp-ray-bench-serve"

Part = Callable[[Bench], dict[str, Any]]


def main() -> None:
    """Measure what is asked for."""
    args = _arguments()
    if not args.python.exists():
        message = f"{args.python} is not there; the others' environment is made so:\n{__doc__}"
        raise SystemExit(message)
    settings = load_settings(None, args.set, {})
    environment = capture(settings, CORPUS)
    corpus = served_corpus(args.cache, args.chunks, settings)
    bench = Bench(corpus, settings, args.rounds, args.seconds, args.warm_up_seconds)
    if args.profile is not None:
        profile_front(bench, args.profile)
        return
    parts = _parts(args.python)
    figures: dict[str, Any] = {}
    for name in args.only or _PARTS:
        say(f"== {name}")
        measured_at = {key: capture(settings, CORPUS)[key] for key in ("date", "commit")}
        figures[name] = {**parts[name](bench), "measured_at": measured_at}
        _result(environment, bench, args.chunks, figures).write(NAME, args.cache)
    if args.write or not args.only:
        _result(environment, bench, args.chunks, merged(figures)).write(NAME)
        say(f"written: {NAME}.json")
    else:
        say(f"written: {args.cache / NAME}.json")


def merged(figures: Mapping[str, Any], folder: Path = RESULTS) -> dict[str, Any]:
    """Return the parts that were measured now, and of the result that is there the other ones."""
    before = read_result(NAME, folder)
    return {**(before.figures if before else {}), **figures}


def _parts(python: Path) -> dict[str, Part]:
    return {
        "load": partial(measure_load, python=python),
        "passes": measure_passes,
        "groups": measure_groups,
        "generations": measure_generations,
        "filters": measure_filters,
    }


def _result(
    environment: Mapping[str, Any], bench: Bench, num_chunks: int, figures: Mapping[str, Any]
) -> Result:
    sections = {"index", "retrieval", "embedding", "serve"}
    settings = {
        "chunks": num_chunks,
        "rounds": bench.rounds,
        "seconds": bench.duration_s,
        "warm_up_seconds": bench.warm_s,
        **bench.settings.model_dump(mode="json", include=sections),
    }
    return Result(environment, settings, figures)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--python", type=Path, default=_OTHERS, help="interpreter of the others' environment"
    )
    parser.add_argument("--only", action="append", choices=_PARTS, help="a part, not all")
    parser.add_argument("--write", action="store_true", help="write the result of parts too")
    parser.add_argument("--rounds", type=int, default=5, help="times that each is measured")
    parser.add_argument("--seconds", type=float, default=6.0, help="of one load")
    parser.add_argument(
        "--warm-up-seconds", type=float, default=1.0, help="before each, not counted"
    )
    parser.add_argument("--chunks", type=int, default=10_000, help="size of the corpus")
    parser.add_argument("--cache", type=Path, default=_CACHE, help="folder that keeps the corpora")
    parser.add_argument(
        "--profile", type=Path, metavar="FILE", help="only sample the front's stacks into FILE"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="section.key=value", help="a setting"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
