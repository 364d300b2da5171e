"""Measure answers of a language model from what is found: plain chunks against CHOP + SCP-HNSW.

The questions need reference answers, and the model is a folder for vLLM. Indexes and answers are
kept in a work folder, so that a run that was broken off goes on. Writes
``results/generation.json``.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.environment import capture
from benchmarks.figures import ROOT, Result, rounded, say
from scp_ray.cli import run_job
from scp_ray.commands import evaluate_generation
from scp_ray.commands.terminal import ExitCode
from scp_ray.config import load_settings
from scp_ray.evaluation.paired import PairedDifference, paired_difference
from scp_ray.evaluation.queries import read_queries
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.run import index_corpus

SYSTEMS = {
    "plain": [
        "chop.annotator=none",
        "retrieval.position_weight=0",
        "retrieval.lexical_weight=0",
    ],
    "scp_ray": [],
}
# Few requests at once: on CPUs each one gets slower with every other.
_ENGINE = ["chop.annotator=vllm", "vllm.max_num_seqs=8", "llm.timeout_s=1800"]
_NOT_FIGURES = {"index", "generation", "file", "paper", "questions"}
_MEASURES = ("token_f1", "rouge_l", "bert_score")

Rows: TypeAlias = Sequence[Mapping[str, Any]]
"""Questions as ``generation.json`` has them, one for each number of passages."""


def main() -> None:
    """Index the corpus with each system, have every question answered, and write the figures."""
    args = _parser().parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    queries = _first_with_answer(args.queries, args.limit, args.work / "asked.jsonl")
    environment = capture(load_settings(None, [], {}), args.corpus)
    model = [*_ENGINE, f"llm.model={args.model}"]
    trees = {name: _answered(args, queries, name, model) for name in SYSTEMS}
    documents = {
        query.query_id: {span.doc_id for span in query.relevant} for query in read_queries(queries)
    }
    figures = {name: _figures(tree, documents) for name, tree in trees.items()}
    figures["scp_ray_minus_plain"] = differences(*(tree["questions"] for tree in trees.values()))
    settings = {"systems": SYSTEMS, "engine": [*_ENGINE, f"llm.model={args.model.name}"]}
    path = Result(environment, settings, figures).write("generation")
    say(f"wrote {path.relative_to(ROOT)}")


def _answered(args: argparse.Namespace, queries: Path, name: str, model: list[str]) -> Any:  # noqa: ANN401 - JSON
    index, answers = args.work / name / "index", args.work / name / "answers"
    settings = load_settings(None, SYSTEMS[name], {})
    index_corpus(IndexRequest(str(args.corpus), str(index), settings), InProcessExecutor(), say)
    assignments = [word for value in [*SYSTEMS[name], *model] for word in ("--set", value)]
    code = run_job(
        evaluate_generation,
        "evaluate_generation.py",
        [str(index), str(queries), "--out", str(answers), *assignments],
    )
    if code not in {ExitCode.DONE, ExitCode.PARTIAL}:
        raise SystemExit(code)
    return json.loads((answers / "generation.json").read_text(encoding="utf-8"))


def _figures(tree: Mapping[str, Any], documents: Mapping[str, set[str]]) -> dict[str, Any]:
    firsts = [
        row["passages"][0]["doc_id"] in documents[row["query_id"]]
        for row in tree["questions"]
        if row["passages"]
    ]
    figures = {key: value for key, value in tree.items() if key not in _NOT_FIGURES}
    return {**figures, "right_document_first": rounded(sum(firsts) / len(firsts))}


def differences(plain: Rows, other: Rows) -> dict[str, dict[str, Any]]:
    """Return what the other system gains in each measure, by number of passages.

    Questions that one of the two did not answer at a number of passages are left out there.
    """
    bases = {(row["query_id"], row["num_passages"]): row for row in plain if not row["failure"]}
    pairs: dict[int, list[tuple[Mapping[str, Any], Mapping[str, Any]]]] = {}
    for row in other:
        base = bases.get((row["query_id"], row["num_passages"]))
        if base is not None and not row["failure"]:
            pairs.setdefault(row["num_passages"], []).append((base, row))
    return {
        str(number): {measure: asdict(_gain(rows, measure)) for measure in _MEASURES}
        for number, rows in sorted(pairs.items())
    }


def _gain(
    rows: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]], measure: str
) -> PairedDifference:
    return paired_difference([base[measure] for base, _ in rows], [row[measure] for _, row in rows])


def _first_with_answer(queries: Path, limit: int | None, copy: Path) -> Path:
    lines = queries.read_text(encoding="utf-8").splitlines()
    answered = (line for line in lines if line.strip() and json.loads(line).get("answer"))
    copy.write_text("".join(f"{line}\n" for line in islice(answered, limit)), encoding="utf-8")
    return copy


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path, help="folder of documents")
    parser.add_argument("queries", type=Path, help="questions with reference answers, as JSONL")
    parser.add_argument("--model", type=Path, required=True, help="folder of a language model")
    parser.add_argument("--work", type=Path, required=True, help="folder of indexes and answers")
    parser.add_argument("--limit", type=int, help="first questions alone")
    return parser


if __name__ == "__main__":
    main()
