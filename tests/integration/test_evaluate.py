"""``scp-ray evaluate`` from an index and questions to figures, files and page."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Page, sync_playwright

from scp_ray.cli import main
from scp_ray.config import Settings
from scp_ray.evaluation.queries import read_queries
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.run import index_corpus
from scp_ray.serve.explaining import explain_worst
from scp_ray.serve.measuring import measure_searcher
from scp_ray.serve.searcher import LocalSearcher
from scp_ray.serve.sweeping import sweep_settings

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

Capture = pytest.CaptureFixture[str]
ATTACK = "</td></details><script>document.title='taken'</script><img src=x onerror=alert(1)>"
SECTIONS = [
    "Results",
    "Contexts of at most 400 tokens",
    "Against the earlier evaluation",
    "Evidence against the budget",
    "Redundancy and coverage against the gap",
    "Weight of position",
    "Weight of the words",
    "Where evidence and results lie",
    "Worst questions",
    "Settings",
    "Time",
]


@pytest.fixture(scope="module")
def texts(
    tmp_path_factory: pytest.TempPathFactory, write_manual: Callable[..., Path]
) -> dict[str, str]:
    """Eight manuals by name."""
    folder = tmp_path_factory.mktemp("corpus")
    return {path.name: path.read_text() for path in (write_manual(folder, n) for n in range(8))}


@pytest.fixture(scope="module")
def index(
    texts: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
    small_settings: Callable[..., Settings],
) -> str:
    """An index of the manuals."""
    root = tmp_path_factory.mktemp("index")
    (root / "corpus").mkdir()
    for name, text in texts.items():
        (root / "corpus" / name).write_text(text)
    address = str(root / "index")
    request = IndexRequest(str(root / "corpus"), address, small_settings())
    index_corpus(request, InProcessExecutor(), lambda _line: None)
    return address


def _row(query_id: str, query: str, doc_id: str, start: int, end: int) -> dict[str, Any]:
    span = {"doc_id": doc_id, "char_start": start, "char_end": end}
    return {"query_id": query_id, "query": query, "relevant": [span]}


def _write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.fixture(scope="module")
def rows(texts: dict[str, str]) -> list[dict[str, Any]]:
    """Eight questions in the words of their evidence, and two whose evidence lies elsewhere."""
    found = [
        _row(f"q{place}", text[700:900], name, 700, 900)
        for place, (name, text) in enumerate(texts.items())
    ]
    first, second = texts["manual_000.md"], texts["manual_001.md"]
    return [
        *found,
        _row("other", second[1000:1300], "manual_000.md", 2000, 2300),
        _row(ATTACK, f"{first[300:500]} {ATTACK}", "manual_003.md", 1500, 1700),
    ]


@pytest.fixture
def queries(rows: list[dict[str, Any]], tmp_path: Path) -> Path:
    return _write(tmp_path / "queries.jsonl", rows)


def _without_timings(folder: Path) -> tuple[str, dict[str, Any], str]:
    figures = json.loads((folder / "evaluation.json").read_text())
    del figures["timings_ms"]
    table = pq.read_table(folder / "questions.parquet")
    columns = [name for name in table.column_names if not name.endswith("_ms")]
    page = (folder / "report.html").read_text().split("<h2>Time</h2>")[0]
    return json.dumps(figures), table.select(columns).to_pydict(), page


def test_the_same_questions_give_the_same_files_twice(
    index: str, queries: Path, tmp_path: Path, capsys: Capture
) -> None:
    for name in ("one", "two"):
        argv = ["evaluate", index, str(queries), "--budget", "400", "--out", str(tmp_path / name)]
        assert main([*argv, "--json"]) == 0
        captured = capsys.readouterr()
    assert "weight of position: 8/8 values" in captured.err
    assert _without_timings(tmp_path / "one") == _without_timings(tmp_path / "two")
    figures = json.loads((tmp_path / "one" / "evaluation.json").read_text())
    printed = json.loads(captured.out)
    assert (printed["n"], figures["queries"]["n"]) == (10, 10)
    for name, value in figures["metrics"].items():
        assert printed[name] == pytest.approx(value["mean"], abs=0.051)
        assert value["low"] <= value["mean"] <= value["high"]
    assert 0.8 <= figures["metrics"]["hit@10"]["mean"] < 1.0
    (row,) = [
        r
        for r in pq.read_table(tmp_path / "one" / "questions.parquet").to_pylist()
        if r["query_id"] == "q3"
    ]
    assert row["hit@1"] == 1.0
    assert row["results"][0]["doc_id"] == "manual_003.md"
    assert row["total_ms"] > 0.0


def test_an_earlier_evaluation_is_compared_question_by_question(
    index: str, queries: Path, rows: list[dict[str, Any]], tmp_path: Path, capsys: Capture
) -> None:
    out = str(tmp_path / "before")
    argv = ["evaluate", index, str(queries), "--set", "retrieval.lexical_weight=0"]
    assert main([*argv, "--out", out, "--budget", "300"]) == 0
    capsys.readouterr()
    assert main(["evaluate", index, str(queries), "--against", out, "--json"]) == 0
    against = json.loads(capsys.readouterr().out)["against"]
    assert against["folder"] == out
    found = against["differences"]["mrr@10"]
    assert found["low"] <= found["mean"] <= found["high"]
    assert 0 < found["num_better"] + found["num_worse"] <= 10
    assert 0.0 < found["p_value"] <= 1.0
    assert "evidence_recall@300" in against["left_out"]
    assert main(["evaluate", index, str(queries), "--against", out]) == 0
    assert "Against the earlier evaluation" in capsys.readouterr().out

    others = _write(tmp_path / "others.jsonl", rows[:-1])
    assert main(["evaluate", index, str(others), "--against", out]) == 2
    assert "other questions (9 here, 10 there), so nothing can be paired" in capsys.readouterr().err
    assert main(["evaluate", index, str(queries), "--against", str(tmp_path / "absent")]) == 2
    assert "is no folder of `scp-ray evaluate --out`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (_row("q", "?", "absent.md", 0, 5), "relevant[0]: doc_id 'absent.md' is not in "),
        (_row("q", "?", "manual_001.md", 0, 10**6), "the span 0-1000000 is outside the text of "),
        ({"query_id": "q", "query": "?", "relevant": []}, "'q' has no relevant span to score by"),
        ({"query_id": "q", "query": "?"}, "row.relevant is missing"),
    ],
)
def test_questions_that_cannot_be_scored_are_refused_by_line(
    row: dict[str, Any],
    reason: str,
    rows: list[dict[str, Any]],
    index: str,
    tmp_path: Path,
    capsys: Capture,
) -> None:
    file = _write(tmp_path / "bad.jsonl", [*rows[:3], row])
    out = tmp_path / "out"
    assert main(["evaluate", index, str(file), "--out", str(out)]) == 1
    told = capsys.readouterr()
    assert f"{file}, line 4: " in told.err
    assert reason in told.err
    assert told.out == ""
    assert not out.exists()


def test_a_folder_that_cannot_be_made_is_told_before_anything_is_asked(
    index: str, queries: Path, tmp_path: Path, capsys: Capture
) -> None:
    rows = queries.read_text().splitlines() * 10
    renamed = [{**json.loads(row), "query_id": str(place)} for place, row in enumerate(rows)]
    many = _write(tmp_path / "many.jsonl", renamed)
    (tmp_path / "taken").write_text("a file")
    out = str(tmp_path / "taken" / "out")
    assert main(["evaluate", index, str(many), "--out", out]) == 1
    told = capsys.readouterr().err
    assert f"Not a directory: '{out}'" in told
    assert "asked" not in told


@pytest.fixture(scope="module")
def searcher(index: str, small_settings: Callable[..., Settings]) -> LocalSearcher:
    return LocalSearcher.open(index, small_settings())


def test_sweeps_ask_with_every_value_and_the_one_in_force(
    searcher: LocalSearcher, queries: Path, small_settings: Callable[..., Settings]
) -> None:
    settings = small_settings("retrieval.position_weight=0.3")
    told: list[str] = []
    asked = read_queries(queries)
    budget, gap, position, words = sweep_settings(
        searcher, asked, settings, told.append, budget=700
    )
    assert [point.value for point in budget.points] == [250, 500, 700, 1000, 2000, 4000]
    recalls = [sum(point.values["evidence_recall"]) for point in budget.points]
    assert recalls == sorted(recalls)
    assert recalls[0] < recalls[-1]
    assert [sum(point.values["redundancy@10"]) > 0 for point in gap.points] == [True, *[False] * 4]
    assert position.base is not None
    assert position.base.value == 0.3
    assert words.in_force == settings.retrieval.lexical_weight
    plain = measure_searcher(searcher, asked, told.append)
    assert words.base is not None
    assert words.base.values["mrr@10"] == plain.ranking.values()["mrr@10"]
    assert told[0] == "evidence against the budget: 1/6 values"


def test_worst_questions_tell_where_their_evidence_is(
    searcher: LocalSearcher, queries: Path, texts: dict[str, str]
) -> None:
    told: list[str] = []
    measured = measure_searcher(searcher, read_queries(queries), told.append)
    explained = explain_worst(searcher, measured, told.append)
    names = [one.asked.query.query_id for one in explained]
    assert set(names[:2]) == {"other", ATTACK}
    (other,) = [one for one in explained if one.asked.query.query_id == "other"]
    (sought,) = other.sought
    assert sought.text == texts["manual_000.md"][2000:2300]
    assert sought.rank is not None
    assert sought.chunk is not None
    assert sought.chunk.doc_id == "manual_000.md"
    ranked_before = [one for one in other.candidates if one.score > sought.chunk.score]
    assert len(ranked_before) < sought.rank
    assert other.candidates[0].is_kept
    kept = [(one.doc_id, one.chunk_index) for one in other.candidates if one.is_kept]
    assert kept == [(one.doc_id, one.chunk_index) for one in other.asked.results]
    assert other.first_text in texts[other.asked.results[0].doc_id]
    assert told[-1].startswith("explaining the ")


@pytest.fixture(scope="module")
def report(
    rows: list[dict[str, Any]], index: str, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A page of everything, with a question that carries markup."""
    folder = tmp_path_factory.mktemp("report")
    queries = _write(folder / "queries.jsonl", rows)
    argv = ["evaluate", index, str(queries), "--budget", "400"]
    assert main([*argv, "--out", str(folder / "before"), "--set", "retrieval.min_index_gap=1"]) == 0
    against = ["--against", str(folder / "before")]
    assert main([*argv, "--out", str(folder / "after"), *against]) == 0
    return folder / "after" / "report.html"


@pytest.fixture(params=[(390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")])
def page(request: pytest.FixtureRequest) -> Iterator[Page]:
    """A phone and a desktop that are offline."""
    width, scheme = request.param
    chromium = shutil.which("chromium")
    assert chromium, "chromium is not installed"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True
        )
        yield context.new_page()
        browser.close()


def test_report_opens_offline_and_fits(report: Path, page: Page) -> None:
    asked: list[str] = []
    problems: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: problems.append(message.text))
    page.goto(report.as_uri())
    assert asked == [report.as_uri()]
    assert page.locator("section h2").all_inner_texts() == SECTIONS
    assert page.locator("svg").count() == 7
    width = page.evaluate("window.innerWidth")
    worst = page.locator("details")
    assert worst.count() >= 2
    assert not worst.first.locator("table").is_visible()
    for place in range(worst.count()):
        worst.nth(place).locator("summary").click()
    assert worst.first.locator("table").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert ATTACK in page.locator("body").inner_text()
    assert page.title() == "How often the right passage is found"
    assert page.evaluate("document.scripts.length") == 0
    assert problems == []
    overflowing = page.evaluate(
        "[...document.querySelectorAll('svg text')].filter((text) => {"
        " const box = text.getBBox(), view = text.ownerSVGElement.viewBox.baseVal;"
        " return box.x < -1 || box.x + box.width > view.width + 1; }).map((t) => t.textContent)"
    )
    assert overflowing == []
