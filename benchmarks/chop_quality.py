"""Measure CHOP with real language models: decisions, signatures, and what is found with them.

On a stitched document, whose parts are known, count the boundaries between products that a model
finds, and the chunks that get the right device. On manuals with questions compare the annotators
none, heuristic and vllm, and the true name in front of every chunk. Answers are kept in an
annotation cache, so that a run that was ended goes on where it was.

Writes ``results/chop_quality.json``. Needs vLLM.
"""

import argparse
import json
import random
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

from benchmarks.asked_model import AskedModel, asked_model, costs, with_earlier
from benchmarks.chunked_texts import (
    ChunkedText,
    answered_by,
    device_of,
    most_asked,
    read_chunked,
)
from benchmarks.continuity_figures import Pair, boundary_figures, carried, name_figures, pairs_of
from benchmarks.environment import capture, data_sha256
from benchmarks.figures import RESULTS, Result, rounded, say
from benchmarks.signature_accuracy import (
    Stretch,
    measure,
    part_at_start,
    part_of_majority,
    read_parts,
)
from scp_ray.annotators.direct import DirectAnnotator
from scp_ray.annotators.heuristic import HeuristicAnnotator
from scp_ray.annotators.none import annotate_empty
from scp_ray.chop.annotate import fold
from scp_ray.chop.prompting import prompt_revision
from scp_ray.config import Settings, load_settings
from scp_ray.evaluation.queries import Query, read_queries
from scp_ray.evaluation.report import Figures, figures
from scp_ray.pipeline import front_stages
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.run import index_corpus
from scp_ray.records import ChunkAnnotation, Cnm
from scp_ray.serve.measuring import measure_searcher
from scp_ray.serve.searcher import LocalSearcher

_ASSIGNMENTS = (
    "chop.annotator=vllm",
    "chop.document_fallback=false",
    "vllm.enforce_eager=true",
    "vllm.max_model_len=4096",
    "vllm.max_num_seqs=32",
    "llm.timeout_s=3600",
    "index.search=exact",
    "index.num_shards=1",
)
_SEED = 5
_TRUE_NAME = "true name in front"

Annotations: TypeAlias = dict[str, list[ChunkAnnotation]]
"""Of each document, by doc_id."""


def main() -> None:
    """Ask every model, score what it said, and write the figures."""
    args = _parser().parse_args()
    settings = load_settings(None, [*_ASSIGNMENTS, *args.set])
    environment = capture(settings, args.stitched)
    parts = read_parts(args.stitched / "parts.jsonl")
    [stitched] = read_texts(args.stitched, [parts[0].doc_id], settings)
    queries = read_queries(args.manuals / "queries.jsonl")
    doc_ids = most_asked(queries, args.devices)
    manuals = read_texts(args.manuals, doc_ids, settings, args.characters)
    asked = answered_by(queries, manuals)
    systems, models = fixed_systems(manuals, queries), {}
    for name, folder in args.model:
        of_model = settings.with_values("llm", model=folder)
        with asked_model(of_model, args.answers, is_started=not args.answered) as model:
            models[name] = {"stitched": _stitched(model, stitched, parts, args)}
            if args.devices and not args.answered:
                systems |= _llm_systems(name, model, manuals)
        usage = args.answers / f"{name}-{prompt_revision()}.json"
        models[name]["cost"] = costs(*with_earlier(usage, model.usage, model.seconds))
        say(f"{name}: {json.dumps(models[name])}")
    found = {"models": models, "manuals": compare(manuals, asked, systems, settings)}
    parameters = {
        "prompts": prompt_revision(),
        "boundaries_tuned_on": args.tuned_on,
        "other_pairs": args.other_pairs or "all",
        "answered_only": args.answered,
        "seed": _SEED,
        "documents": doc_ids,
        "characters": args.characters or "all",
        "manuals_sha256": data_sha256(args.manuals),
    }
    say(
        f"wrote {Result(environment, parameters, found).write(args.out.stem, args.out.parent).name}"
    )


def read_texts(
    data: Path, doc_ids: Sequence[str], settings: Settings, max_characters: int = 0
) -> list[ChunkedText]:
    """Read documents of a data folder, cut as the settings say."""
    corpus = data / "corpus"
    return read_chunked(corpus, doc_ids, settings.embedding, settings.chunking, max_characters)


def chosen_pairs(pairs: Sequence[Pair], num_others: int) -> list[Pair]:
    """Return the boundaries, the pairs beside them, and a sample of the others, in order."""
    if not num_others:
        return list(pairs)
    near = {pair.index + step for pair in pairs if pair.is_boundary for step in (-1, 0, 1)}
    others = [pair.index for pair in pairs if pair.index not in near]
    near |= set(random.Random(_SEED).sample(others, min(num_others, len(others))))  # noqa: S311
    return [pair for pair in pairs if pair.index in near]


def halves(pairs: Sequence[Pair], num_tuned_on: int) -> tuple[list[Pair], list[Pair]]:
    """Split pairs halfway between the last boundary that prompts were tuned on and the next."""
    boundaries = [pair.index for pair in pairs if pair.is_boundary]
    last, following = boundaries[num_tuned_on - 1 : num_tuned_on + 1]
    middle = (last + following) // 2
    seen = [pair for pair in pairs if pair.index <= middle]
    return seen, [pair for pair in pairs if pair.index > middle]


def _stitched(
    model: AskedModel, text: ChunkedText, parts: Sequence[Stretch], args: argparse.Namespace
) -> dict[str, Any]:
    """Return how the decisions did, and the signatures where all pairs are asked."""
    pairs = chosen_pairs(pairs_of(text.text, text.spans, parts), args.other_pairs)
    continues = model.decisions(text, [pair.index for pair in pairs])
    tuned_on, held_out = (
        [pair for pair in half if pair.index in continues] for half in halves(pairs, args.tuned_on)
    )
    changes = [pair for pair in pairs if not continues.get(pair.index, True)]
    boundaries = [pair.index + 1 for pair in changes if pair.is_boundary]
    false_alarms = [pair.index + 1 for pair in changes if not pair.is_boundary]
    found: dict[str, Any] = {
        "all": boundary_figures([*tuned_on, *held_out], continues),
        "tuned_on": boundary_figures(tuned_on, continues),
        "held_out": boundary_figures(held_out, continues),
        "names_at_boundaries": _names(model, text, parts, boundaries),
        "names_at_false_alarms": _names(model, text, parts, false_alarms),
    }
    if not (args.other_pairs or args.answered):
        decisions, cnms = model.signatures(text)
        found["spans"] = len(cnms)
        found["spans_without_model"] = sum(cnm.model is None for cnm in cnms.values())
        found["right_device"] = {
            fallback: right_device(text, annotations, parts)
            for fallback, annotations in by_fallback(decisions, cnms).items()
        }
    return found


def _names(
    model: AskedModel, text: ChunkedText, parts: Sequence[Stretch], starts: Sequence[int]
) -> dict[str, int]:
    return name_figures(model.first_signatures(text, starts), text.text, text.spans, parts)


def by_fallback(
    decisions: Sequence[bool], cnms: Mapping[int, Cnm]
) -> dict[str, list[ChunkAnnotation]]:
    """Return the annotations of a document by where a span takes a missing model from."""
    return {
        "off": fold(decisions, cnms, document_fallback=False),
        "document": fold(decisions, cnms, document_fallback=True),
        "span before": fold(decisions, carried(decisions, cnms), document_fallback=False),
    }


def right_device(
    text: ChunkedText, annotations: Sequence[ChunkAnnotation], parts: Sequence[Stretch]
) -> dict[str, float]:
    """Return the share of chunks that name the right device, judged in two ways."""
    rows = zip(text.spans, annotations, strict=True)
    named = [
        (index, Stretch(text.doc_id, start, end, row.cnm.model))
        for index, ((start, end), row) in enumerate(rows)
    ]
    return {
        "by_start": rounded(measure(named, parts, part_at_start).share),
        "by_majority": rounded(measure(named, parts, part_of_majority).share),
    }


def fixed_systems(texts: Sequence[ChunkedText], queries: Sequence[Query]) -> dict[str, Annotations]:
    """Return what is compared with the models: no signature, the heuristic's, the true name."""
    devices = {query.relevant[0].doc_id: device_of(query) for query in queries}
    heuristic = HeuristicAnnotator(document_fallback=True).annotate
    return {
        "none": {text.doc_id: annotate_empty(text.chunks) for text in texts},
        "heuristic": {text.doc_id: heuristic(text.chunks) for text in texts},
        _TRUE_NAME: {
            text.doc_id: fold(
                [True] * (len(text.spans) - 1),
                {0: Cnm(model=devices[text.doc_id])},
                document_fallback=False,
            )
            for text in texts
        },
    }


def _llm_systems(
    name: str, model: AskedModel, texts: Sequence[ChunkedText]
) -> dict[str, Annotations]:
    systems: dict[str, Annotations] = {}
    for text in texts:
        for fallback, annotations in by_fallback(*model.signatures(text)).items():
            systems.setdefault(f"{name}, fallback {fallback}", {})[text.doc_id] = annotations
    return systems


def compare(
    texts: Sequence[ChunkedText],
    queries: Sequence[Query],
    systems: Mapping[str, Annotations],
    settings: Settings,
) -> dict[str, Any]:
    """Index the texts with each system's annotations and ask every question."""
    if not queries:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder, "corpus")
        corpus.mkdir()
        for text in texts:
            (corpus / text.doc_id).write_bytes(text.text.encode())
        rows = {
            name: _measured(
                corpus, Path(folder, f"index-{number}"), texts, annotations, queries, settings
            )
            for number, (name, annotations) in enumerate(systems.items())
        }
    best = rows[_TRUE_NAME]
    shares = {
        name: {metric: rounded(row[metric] / best[metric]) for metric in ("hit@1", "mrr@10")}
        for name, row in rows.items()
    }
    return {"chunks": sum(len(text.spans) for text in texts), "rows": rows, "of_true_name": shares}


def _measured(
    corpus: Path,
    index: Path,
    texts: Sequence[ChunkedText],
    annotations: Annotations,
    queries: Sequence[Query],
    settings: Settings,
) -> Figures:
    known = {tuple(text.chunks): annotations[text.doc_id] for text in texts}
    annotator = DirectAnnotator(lambda chunks: known[tuple(chunks)])
    plain = settings.with_values("chop", annotator="heuristic")
    request = IndexRequest(str(corpus), str(index), plain)
    with patch.object(front_stages, "make_annotator", lambda *_arguments: annotator):
        index_corpus(request, InProcessExecutor(), say)
    searcher = LocalSearcher.open(str(index), plain)
    return figures(measure_searcher(searcher, queries, say).ranking)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stitched", metavar="STITCHED", type=Path, help="corpus/ and parts.jsonl")
    parser.add_argument("manuals", metavar="MANUALS", type=Path, help="corpus/ and queries.jsonl")
    parser.add_argument("answers", metavar="ANSWERS", type=Path, help="folder to keep answers in")
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="NAME=FOLDER",
        type=named_folder,
        help="a model",
    )
    parser.add_argument(
        "--other-pairs", type=int, default=0, metavar="N", help="ask only N pairs off boundaries"
    )
    parser.add_argument(
        "--tuned-on", type=int, default=2, metavar="N", help="boundaries seen for the prompts"
    )
    parser.add_argument(
        "--devices", type=int, default=5, metavar="N", help="manuals with most questions; 0 = none"
    )
    parser.add_argument(
        "--characters", type=int, default=0, metavar="N", help="only the first N of each manual"
    )
    parser.add_argument(
        "--answered", action="store_true", help="start no model; count what was answered before"
    )
    parser.add_argument("--out", type=Path, default=RESULTS / "chop_quality.json", metavar="FILE")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    return parser


def named_folder(text: str) -> tuple[str, str]:
    """Read a model of the command line: a name for the figures, and its folder."""
    name, separator, folder = text.partition("=")
    if not separator:
        message = f"{text}: write NAME=FOLDER"
        raise argparse.ArgumentTypeError(message)
    return name, folder


if __name__ == "__main__":
    main()
