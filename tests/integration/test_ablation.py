"""An ablation from its file to its results: on Ray, in this process, killed, and run again."""

import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from playwright.sync_api import sync_playwright

from scp_ray.annotators.llm_modules import decision_questions
from scp_ray.cli import main
from scp_ray.config import load_settings
from scp_ray.embedding.factory import load_encoder
from scp_ray.errors import ConfigError
from scp_ray.evaluation.ablation.config import (
    CellSetting,
    SetConfig,
    checked_setting,
    load_ablation,
    product_setting,
)
from scp_ray.evaluation.ablation.measure import RememberedCounts, answer_question
from scp_ray.evaluation.ablation.report import report_ablation
from scp_ray.evaluation.ablation.scoring import ScoredVariant
from scp_ray.evaluation.queries import read_queries
from scp_ray.pipeline.ablation import AblationCounts, AblationRequest, run_ablation
from scp_ray.pipeline.ablation_files import write_results
from scp_ray.pipeline.ablation_sets import read_set, save_set
from scp_ray.pipeline.ablation_stages import AblationSite, PrepareStage, embed_texts, task_table
from scp_ray.pipeline.describe_stage import describe_encoder
from scp_ray.pipeline.executor import Executor, InProcessExecutor
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.ray_executor import RayExecutor
from scp_ray.pipeline.run import index_corpus
from scp_ray.serve.models import QueryRequest
from scp_ray.serve.searcher import LocalSearcher

pytestmark = pytest.mark.integration

EXAMPLES = Path(__file__).parents[2] / "examples"
HASH = "embedding.model=hash://32"
STUDIES = [
    {"name": "Gap by overlap", "vary": {"min_index_gap": [1, 3], "overlap_tokens": [5, 15]}},
    {"name": "Signatures", "vary": {"annotator": ["none", "heuristic", "true_name"]}},
    {"name": "Chunkers", "cells": {"cosine": {"chunker": "cosine"}, "long": {"top_k": 3}}},
]
Ablate = Callable[..., AblationCounts]


@pytest.fixture
def config(corpus: Path, tmp_path: Path) -> Path:
    """An ablation over the twelve manuals, each of which has a question and a true name."""
    rows, names = [], {}
    for path in sorted(corpus.iterdir()):
        text, start = path.read_text(), 400
        title = text[2 : text.index(" - ")]
        names[path.name] = title
        words = " ".join(text[start : start + 60].split()[1:6])
        span = {"doc_id": path.name, "char_start": start, "char_end": start + 60}
        rows.append({"query_id": path.stem, "query": f"{title}: {words}?", "relevant": [span]})
    (tmp_path / "names.json").write_text(json.dumps(names))
    (tmp_path / "questions.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    tree: dict[str, Any] = {
        "sets": {
            "manuals": {
                "corpus": "corpus",
                "queries": "questions.jsonl",
                "true_names": "names.json",
            }
        },
        "base": {
            "chunk_size_tokens": 60,
            "overlap_tokens": 15,
            "min_index_gap": 2,
            "budget_tokens": 200,
        },
        "studies": STUDIES,
    }
    (tmp_path / "ablation.yaml").write_text(yaml.safe_dump(tree))
    return tmp_path / "ablation.yaml"


@pytest.fixture
def ablate(config: Path, tmp_path: Path) -> Ablate:
    """Run the ablation into a folder below ``tmp_path``."""

    def run(out: str, executor: Executor | None = None, *assignments: str) -> AblationCounts:
        settings = load_settings(None, [HASH, *assignments], {})
        request = AblationRequest(load_ablation(config), str(tmp_path / out), settings)
        results, counts = run_ablation(request, executor or InProcessExecutor(), lambda _: None)
        write_results(request.out, results, report_ablation(results, "Ablation"))
        return counts

    return run


def _figures(folder: Path) -> bytes:
    return (folder / "ablation.json").read_bytes()


def _pieces(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.suffix in {".arrow", ".json"}]


def test_a_second_run_makes_nothing_and_gives_the_same(ablate: Ablate, tmp_path: Path) -> None:
    first = ablate("out")
    kept = _figures(tmp_path / "out")
    second = ablate("out")
    assert _figures(tmp_path / "out") == kept
    assert set(first.reused.values()) == {0}
    assert set(second.done.values()) == {0}
    assert second.reused["cells"] == first.done["cells"] == 9


@pytest.mark.parametrize("out", ["corpus", "corpus/out"])
def test_results_inside_a_corpus_are_refused(ablate: Ablate, out: str) -> None:
    with pytest.raises(ConfigError, match=r"sets\.manuals\.corpus: .* not be inside the corpus"):
        ablate(out)


def test_variants_share_the_texts_that_they_have_in_common(ablate: Ablate, config: Path) -> None:
    ablate("out")
    tree = yaml.safe_load(config.read_text())
    tree["studies"].append({"name": "Fallback", "vary": {"document_fallback": [True, False]}})
    config.write_text(yaml.safe_dump(tree))
    again = ablate("out")
    assert again.done == {"cells": 1, "variants": 1, "texts": 0}


def test_ray_gives_the_bytes_of_one_process(
    ray_cluster: None, ablate: Ablate, tmp_path: Path
) -> None:
    ablate("alone")
    ablate("ray", RayExecutor(load_settings(None, [HASH], {})))
    assert _figures(tmp_path / "ray") == _figures(tmp_path / "alone")


def test_a_store_on_s3_will_do(ablate: Ablate, config: Path, s3_address: str) -> None:
    settings = load_settings(None, [HASH], {})
    request = AblationRequest(load_ablation(config), s3_address, settings)
    results, _ = run_ablation(request, InProcessExecutor(), lambda _: None)
    again, counts = run_ablation(request, InProcessExecutor(), lambda _: None)
    assert set(counts.done.values()) == {0}
    assert again.to_tree() == results.to_tree()


@pytest.mark.parametrize("folder", ["variants", "embeddings", "cells"])
def test_a_run_that_was_killed_is_finished_by_the_next(
    ablate: Ablate, config: Path, tmp_path: Path, folder: str
) -> None:
    script = tmp_path / "slowly.py"
    script.write_text(
        "import sys, time\nfrom pathlib import Path\n"
        "from scp_ray.config import load_settings\n"
        "from scp_ray.evaluation.ablation.config import load_ablation\n"
        "from scp_ray.pipeline.ablation import AblationRequest, run_ablation\n"
        "from scp_ray.pipeline.executor import InProcessExecutor\n"
        f"settings = load_settings(None, [{HASH!r}], {{}})\n"
        "request = AblationRequest(load_ablation(Path(sys.argv[1])), sys.argv[2], settings)\n"
        "run_ablation(request, InProcessExecutor(), lambda _line: time.sleep(0.5))\n"
    )
    out = tmp_path / "killed"
    with subprocess.Popen([sys.executable, str(script), str(config), str(out)]) as process:
        while not _pieces(out / folder):
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
    resumed = ablate("killed")
    ablate("whole")
    assert _figures(out) == _figures(tmp_path / "whole")
    assert 0 < resumed.done["cells"] <= 9
    assert resumed.done["variants"] < 5


def test_a_cell_is_what_the_product_answers(tmp_path: Path) -> None:
    settings = load_settings(None, [HASH, "index.search=exact"], {})
    index = str(tmp_path / "index")
    corpus = EXAMPLES / "manuals"
    index_corpus(IndexRequest(str(corpus), index, settings), InProcessExecutor(), lambda _: None)
    searcher = LocalSearcher.open(index, settings)
    setting = checked_setting(product_setting(settings), "base")
    scored, count_tokens = _scored(tmp_path, settings, setting)
    queries = read_queries(EXAMPLES / "manual_queries.jsonl")
    merging = checked_setting({**product_setting(settings), "selector": "merge"}, "merge")
    for row, query in enumerate(queries):
        request = {"query": query.query, "top_k": 10, "max_context_tokens": 1000}
        reply = searcher.answer(QueryRequest.checked(request))
        expected = [(one.doc_id, one.char_start, one.char_end) for one in reply.results]
        assert answer_question(scored, row, setting, count_tokens).hits == expected
        context = answer_question(scored, row, merging, count_tokens).context
        assert reply.context is not None
        assert context.tokens == reply.context.tokens
        assert [one.text for one in context.passages] == [
            one.text for one in reply.context.passages
        ]


def test_the_command_prints_and_writes_what_it_found(
    ray_cluster: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    arguments = ["ablate", str(EXAMPLES / "ablation.yaml"), "--out", str(out), "--set", HASH]
    assert main([*arguments, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed.pop("run")["done"]["cells"] == len(printed["cells"])
    assert printed == json.loads(_figures(out))
    assert main(arguments) == 0
    shown = capsys.readouterr()
    assert "What beats the base" in shown.out
    assert f"cells 0 made and {len(printed['cells'])} reused" in shown.err
    table = pq.read_table(out / "cells.parquet")
    assert table.num_rows == len(printed["cells"]) * printed["sets"]["sample"]["num_questions"]


def test_a_slip_in_the_file_ends_with_its_key_before_anything_starts(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = yaml.safe_load(config.read_text())
    tree["studies"][0]["vary"]["overlap_tokens"] = [60]
    config.write_text(yaml.safe_dump(tree))
    assert main(["ablate", str(config), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert "study 'Gap by overlap': overlap_tokens (60) must be less than" in error
    assert "starting Ray" not in error
    assert not (tmp_path / "out").exists()


def test_the_page_opens_offline(ablate: Ablate, tmp_path: Path) -> None:
    ablate("out")
    path = shutil.which("chromium")
    assert path, "chromium is not installed"
    faults: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_context(offline=True).new_page()
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: faults.append(request.url))
        page.goto((tmp_path / "out" / "ablation.html").as_uri())
        headings = page.locator("h2").all_inner_texts()
        plots = page.locator("svg").count()
        rows = page.locator("section", has_text="Signatures: manuals").locator("tbody tr").count()
        browser.close()
    assert [fault for fault in faults if not fault.startswith("file:")] == []
    assert "Gap by overlap: manuals" in headings
    assert plots >= 1
    assert rows == 3


class Model(BaseHTTPRequestHandler):
    """A language model that knows one kettle, and never sees a change of subject."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asks_for_cnm = "response_format" in body
        answer = '{"category": "kettle", "nouns": [], "model": "LLM 1"}' if asks_for_cnm else "TRUE"
        message = {"role": "assistant", "content": answer}
        usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        reply = {"id": "1", "object": "chat.completion", "choices": [choice], "usage": usage}
        data = json.dumps(reply).encode()
        self.server.calls.append(asks_for_cnm)  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def model() -> Iterator[ThreadingHTTPServer]:
    """A server of the language model."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.calls = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_language_model_writes_signatures_and_is_paid_once(
    config: Path,
    ablate: Ablate,
    tmp_path: Path,
    model: ThreadingHTTPServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    tree = yaml.safe_load(config.read_text())
    tree["studies"] = [
        {"name": "LLM", "vary": {"annotator": ["openai"], "continuity": [True, False]}},
    ]
    config.write_text(yaml.safe_dump(tree))
    address = f"openai.base_url=http://127.0.0.1:{model.server_port}/v1"
    ablate("out", None, "llm.model=one", address)
    calls: list[bool] = model.calls  # type: ignore[attr-defined]
    cells = json.loads(_figures(tmp_path / "out"))["cells"].values()
    num_chunks = next(iter(cells))["num_chunks"]
    assert calls.count(False) == len(_decisions(tmp_path / "out"))
    assert calls.count(True) <= num_chunks  # extractions: the first chunks are known already
    for folder in ("variants", "cells"):
        shutil.rmtree(tmp_path / "out" / folder)
    paid = len(calls)
    again = ablate("out", None, "llm.model=one", address)
    assert again.done["variants"] == 3  # with the base
    assert len(calls) == paid


def _decisions(out: Path) -> set[bytes]:
    """Return the keys of what the decisions of an ablation with one way to cut ask."""
    table = pa.ipc.open_file(next(out.glob("variants/*.arrow"))).read_all()
    rows = zip(*(table.column(name).to_pylist() for name in ("doc_id", "text")), strict=True)
    return {
        key
        for (doc_id, text), (next_doc_id, next_text) in pairwise(rows)
        if doc_id == next_doc_id
        for key in decision_questions(text, next_text)
    }


def _scored(tmp_path: Path, settings: Any, setting: CellSetting) -> tuple[Any, Any]:
    """Prepare the sample as an ablation does."""
    executor = InProcessExecutor()
    queries = EXAMPLES / "manual_queries.jsonl"
    config = SetConfig(corpus=str(EXAMPLES / "manuals"), queries=str(queries))
    one = read_set("sample", config, settings.corpus)
    entry = describe_encoder(executor, settings)
    site = AblationSite(str(tmp_path / "out"), settings, entry, 1, 1)
    save_set(site.open().store, one)
    task = {"key": "v", "set": one.fingerprint, "setting": setting.variant.model_dump(mode="json")}
    list(PrepareStage(site)(task_table([task])))
    variant, encoder = site.open().load_variant("v"), load_encoder(settings.embedding)
    questions = [query.query for query in one.queries]
    vectors = embed_texts(encoder, variant.embedding_texts)
    scored = ScoredVariant(variant, vectors, questions, encoder.encode_query(questions))
    return scored, RememberedCounts(encoder.tokenizer)
