"""``jobs/evaluate_generation.py``: how well a language model answers from what an index finds."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scp_ray.commands.terminal import ExitCode, show, show_json, tell
from scp_ray.config import Settings
from scp_ray.errors import ConfigError, QueriesFormatError
from scp_ray.evaluation.queries import read_queries

if TYPE_CHECKING:
    from scp_ray.embedding.token_encoder import TokenEncoder
    from scp_ray.evaluation.generation.published import OwnSetup
    from scp_ray.serve.searcher import LocalSearcher

DESCRIPTION = """\
Asks an index for ten results to every question of QUERIES that has an `answer`, has a language
model answer it from the first 1, 3, 5 and 10 of them, and scores the answers against the reference
by token F1, ROUGE-L and BERTScore, and by groundedness: the share of an answer's sentences that the
same model says the passages support. The model is that of the annotators, by the settings
chop.annotator (vllm or openai), llm, and vllm or openai. What it answered is kept in DIR, so that a
second run, and one after a fault, asks only the rest. Exit code 3 when questions were not answered.
"""
EXAMPLES = """\
examples:
  jobs/evaluate_generation.py index/ queries.jsonl --out answers/ \\
      --set chop.annotator=vllm --set llm.model=models/qwen --set vllm.max_num_seqs=8
  jobs/evaluate_generation.py index/ queries.jsonl --out answers/ --bert-model models/roberta \\
      --bert-layer 17 --set chop.annotator=openai --set llm.model=gemma \\
      --set openai.base_url=http://host:8000/v1
"""
SIZES: Final = (1, 3, 5, 10)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the job."""
    parser.add_argument("index", metavar="INDEX", help="address of the index")
    parser.add_argument("queries", metavar="QUERIES", type=Path, help="questions as JSONL")
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        required=True,
        help="for generation.json, generation.html and what the model answered",
    )
    parser.add_argument(
        "--bert-model",
        metavar="FOLDER",
        help="model of BERTScore; by default the index's encoder",
    )
    parser.add_argument(
        "--bert-layer", type=int, metavar="N", help="its layer, from 1; by default the last one"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Run the job and return its exit code."""
    from scp_ray.commands.generation_answers import answer_questions, find_passages
    from scp_ray.evaluation.generation.report import report_generation
    from scp_ray.evaluation.generation.results import figures_tree, question_rows, write_results
    from scp_ray.evaluation.generation.scoring import Measured, score_answers
    from scp_ray.evaluation.pages.summary import render_summary
    from scp_ray.serve.searcher import LocalSearcher

    _check_model(settings)
    every = read_queries(args.queries)
    references = {query.query_id: query.answer for query in every if query.answer is not None}
    if not references:
        message = f"{args.queries}: no question has an answer to compare with"
        raise QueriesFormatError(message)
    searcher = LocalSearcher.open(args.index, settings)
    encoder = _token_encoder(args, searcher, settings)
    asked = [query for query in every if query.query_id in references]
    questions = find_passages(searcher, asked, SIZES[-1])
    answered = answer_questions(args.out, questions, SIZES, settings)
    scored = score_answers(answered, references, encoder.encode if encoder else None)
    texts = [*references.values(), *(one.answer or "" for one in answered)]
    measured = Measured(
        questions,
        references,
        scored,
        _setup(args, searcher, settings, encoder, texts),
        num_without_answer=len(every) - len(references),
    )
    report = report_generation(measured)
    tree = {
        "index": args.index,
        "generation": searcher.manifest.generation,
        **figures_tree(measured),
    }
    write_results(args.out, {**tree, "questions": question_rows(measured)}, report)
    if args.json:
        show_json(tree, indent=1)
    else:
        show(render_summary(report))
    return ExitCode.PARTIAL if any(one.answered.failure for one in scored) else ExitCode.DONE


def _check_model(settings: Settings) -> None:
    from scp_ray.annotators.factory import served_model

    if not settings.chop.annotator.needs_llm:
        message = (
            f"chop.annotator is {settings.chop.annotator}, but answers need a language model; set "
            "it to vllm or openai, and llm.model to the model"
        )
        raise ConfigError(message)
    served_model(settings)


def _token_encoder(
    args: argparse.Namespace, searcher: "LocalSearcher", settings: Settings
) -> "TokenEncoder | None":
    """Load the model of BERTScore; None where there is none but the encoder without a model."""
    from scp_ray.embedding.hash_encoder import HASH_SCHEME
    from scp_ray.embedding.model_folder import find_model_folder
    from scp_ray.embedding.token_encoder import TokenEncoder

    model = args.bert_model or searcher.manifest.encoder.model
    if model.startswith(HASH_SCHEME):
        tell(f"no BERTScore: {model} has no model; name one with --bert-model")
        return None
    return TokenEncoder(find_model_folder(model), settings.embedding.device, args.bert_layer)


def _setup(
    args: argparse.Namespace,
    searcher: "LocalSearcher",
    settings: Settings,
    encoder: "TokenEncoder | None",
    texts: Sequence[str],
) -> "OwnSetup":
    """Say what the figures come from; ``texts`` are those that BERTScore compares."""
    from scp_ray.config import settings_from_tree
    from scp_ray.evaluation.generation.published import BertSetup, OwnSetup

    chunking = settings_from_tree(searcher.manifest.settings).chunking
    bert = None
    if encoder is not None:
        bert = BertSetup(
            _short_name(args.bert_model or searcher.manifest.encoder.model),
            encoder.layer,
            is_encoder=args.bert_model is None,
            num_cut=sum(encoder.num_tokens(text) > encoder.max_tokens for text in texts),
        )
    return OwnSetup(
        args.queries.name,
        _short_name(str(settings.llm.model)),
        _short_name(searcher.manifest.encoder.model),
        chunking.chunk_size_tokens,
        chunking.overlap_tokens,
        bert,
    )


def _short_name(model: str) -> str:
    """Return the name of a model that may be given as a folder."""
    return Path(model).name if Path(model).is_dir() else model
