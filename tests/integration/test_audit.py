"""The audits from files to figures, reports and refusals."""

import csv
import json
import runpy
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Page, sync_playwright

from scp_ray.cli import main
from scp_ray.config import Settings
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.run import index_corpus

Capture = pytest.CaptureFixture[str]
Rows = Sequence[Mapping[str, Any]]

TEXT_COLUMNS = ["id", "rating", "labels", "flags", "narrative", "template", "stratum", "reviewer"]
OCR_COLUMNS = ["case", "slice", "rater", "score", "pass"]

# Each word is a case, each digit what one of five raters gave; 3 and more passes.
OCR_SCORES = {
    "clean chat screenshots": """
        43355 55555 44444 55555 44443 55555 44443 33333 43353 44444
        55555 53545 44444 33333 55555 33333 45544 44434 55555 11121""",
    "email and page captures": """
        33444 33535 31221 35455 45553 54554 54335 34545 44353 44443 34355 21222""",
    "mixed-UI screenshots": "21325 55355 31435 54214 43555 12122 44334 34543 34443 54534",
    "label and receipt photos": """
        34423 31135 44544 11212 21111 12121 45344 45445 22143 32433 54334 54533
        43251 33422 25334 22112""",
    "handwritten or blurry": """
        45534 42321 44454 43445 45535 11111 11111 55555 22222 21211 11111 11111""",
}


def _spread(counts: Mapping[Any, int]) -> list[Any]:
    """Return each value as often as told, evenly mixed."""
    places = [
        ((turn + 0.5) / count, str(value), value)
        for value, count in counts.items()
        for turn in range(count)
    ]
    return [value for _, _, value in sorted(places, key=lambda place: place[:2])]


def _labelled(
    stratum: str, ratings: Mapping[int, int], flags: Mapping[str, int], **counts: int
) -> Iterator[dict[str, Any]]:
    number = sum(ratings.values())
    columns = [
        _spread(ratings),
        _spread({**flags, "": number - sum(flags.values())}),
        _spread({"positive": counts["positive"], "mixed": number - counts["positive"]}),
        _spread(
            {
                "The bullet on the hinge is vague": counts["detail"],
                "fine": number - counts["detail"],
            }
        ),
    ]
    for place, (rating, flag, label, narrative) in enumerate(zip(*columns, strict=True)):
        yield {
            "id": f"{stratum}-{place}",
            "rating": rating,
            "labels": [label],
            "flags": [flag] if flag else [],
            "narrative": narrative,
            "template": f"template {place % 3}",
            "stratum": stratum,
            "reviewer": f"reviewer {place % 5}",
        }


@pytest.fixture(scope="module")
def paper_reviews() -> list[dict[str, Any]]:
    """770 reviews of which 318 are labelled, made so that the published figures come out."""
    core = {"title not aligned": 10, "title inaccurate": 9, "step missing": 7}
    pilot = {"title not aligned": 2, "title inaccurate": 2, "step missing": 2}
    unlabelled = [
        {
            **dict.fromkeys(TEXT_COLUMNS),
            "id": f"open-{number}",
            "template": f"template {number % 3}",
        }
        for number in range(452)
    ]
    return [
        *_labelled("core", {2: 14, 3: 224, 4: 57, 5: 5}, core, positive=245, detail=228),
        *_labelled("pilot", {2: 2, 3: 13, 4: 3}, pilot, positive=9, detail=9),
        *unlabelled,
    ]


@pytest.fixture(scope="module")
def paper_ratings() -> list[dict[str, Any]]:
    """350 ratings of 70 cases, made so that the published figures come out."""
    return [
        {
            "case": f"{name} {place}",
            "slice": name,
            "rater": f"analyst {rater}",
            "score": int(score),
            "pass": int(score) >= 3,
        }
        for name, cases in OCR_SCORES.items()
        for place, case in enumerate(cases.split())
        for rater, score in enumerate(case)
    ]


def _cell(value: Any) -> Any:
    return ";".join(value) if isinstance(value, list) else value


def _write(path: Path, rows: Rows) -> Path:
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(rows[0])
            writer.writerows([_cell(value) for value in row.values()] for row in rows)
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    else:
        pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path)
    return path


def _audit(part: str, file: Path, capsys: Capture) -> dict[str, Any]:
    assert main(["audit", part, str(file), "--json"]) == 0
    figures: dict[str, Any] = json.loads(capsys.readouterr().out)
    return figures


def test_text_audit_gives_the_published_figures(
    paper_reviews: Rows, tmp_path: Path, capsys: Capture
) -> None:
    figures = _audit("text", _write(tmp_path / "reviews.csv", paper_reviews), capsys)
    assert (figures["num_reviews"], figures["num_labelled"]) == (770, 318)
    assert figures["num_texts"] == 770

    def projected(share: dict[str, Any]) -> int:
        return round(share["projected"]["point"])

    assert projected(figures["ratings"]["3"]) == 574
    assert projected(figures["bands"]["1-2"]) == 39
    assert round(figures["mean_rating"]["point"], 2) == 3.17
    assert projected(figures["flagged"]) == 77
    assert round(figures["flagged"]["share"]["point"], 3) == 0.101
    assert projected(figures["detailed"]) == 574
    assert round(figures["detailed"]["share"]["point"], 3) == 0.745
    flags = [
        (issue["name"], projected(issue["share"]))
        for issue in figures["issues"]
        if issue["kind"] == "flag"
    ]
    assert flags[:2] == [("title not aligned", 29), ("title inaccurate", 27)]
    groups = {group["name"]: group for group in figures["by_stratum"]}
    assert round(groups["core"]["flagged"]["point"], 3) == 0.087
    assert round(groups["pilot"]["flagged"]["point"], 3) == 0.333
    positive = {
        name: label["share"]["point"]
        for name, group in groups.items()
        for label in group["labels"]
        if label["label"] == "positive"
    }
    assert (round(positive["core"], 3), round(positive["pilot"], 3)) == (0.817, 0.5)
    assert len(figures["by_reviewer"]) == 1 + 5


def test_ocr_audit_gives_the_published_figures(
    paper_ratings: Rows, tmp_path: Path, capsys: Capture
) -> None:
    figures = _audit("ocr", _write(tmp_path / "ratings.csv", paper_ratings), capsys)
    assert (figures["overall"]["num_ratings"], figures["overall"]["num_cases"]) == (350, 70)
    rates = {one["name"]: one["pass_rate"]["point"] for one in figures["slices"]}
    assert list(rates) == list(OCR_SCORES)
    assert list(rates.values()) == [0.95, 0.85, 0.78, 0.6, 0.45]
    kappas = {one["name"]: one["kappa_score"] for one in figures["slices"]}
    assert round(kappas["clean chat screenshots"], 2) == 0.68
    assert round(kappas["handwritten or blurry"], 2) == 0.54
    weighted = [pair["weighted_kappa"] for pair in figures["pairs"]]
    assert len(weighted) == 10
    assert (round(min(weighted), 3), round(max(weighted), 3)) == (0.646, 0.753)
    binary = [pair["kappa_pass"] for pair in figures["pairs"]]
    assert (round(min(binary), 2), round(max(binary), 2)) == (0.72, 0.85)


def test_job_audits_as_the_command_does(
    paper_ratings: Rows, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = _write(tmp_path / "ratings.csv", paper_ratings)
    job = Path(__file__).parents[2] / "jobs" / "audit_evidence.py"
    monkeypatch.setattr(sys, "argv", [str(job), "ocr", str(file), "--json"])
    with pytest.raises(SystemExit, match="^0$"):
        runpy.run_path(str(job), run_name="__main__")
    assert json.loads(capsys.readouterr().out) == _audit("ocr", file, capsys)


@pytest.mark.parametrize("part", ["text", "ocr"])
def test_three_formats_give_one_audit(
    part: str, paper_reviews: Rows, paper_ratings: Rows, tmp_path: Path, capsys: Capture
) -> None:
    rows = {"text": paper_reviews, "ocr": paper_ratings}[part]
    audits = [
        {**_audit(part, _write(tmp_path / f"file.{ending}", rows), capsys), "file": ""}
        for ending in ("csv", "jsonl", "parquet")
    ]
    assert audits[0] == audits[1] == audits[2]


@pytest.mark.parametrize("part", ["text", "ocr"])
def test_reports_are_the_same_twice_and_say_what_the_terminal_says(
    part: str, paper_reviews: Rows, paper_ratings: Rows, tmp_path: Path, capsys: Capture
) -> None:
    rows = {"text": paper_reviews, "ocr": paper_ratings}[part]
    file = _write(tmp_path / "file.csv", rows)
    for out in ("one", "two"):
        assert main(["audit", part, str(file), "--out", str(tmp_path / out)]) == 0
    shown = capsys.readouterr().out
    for name in ("audit.json", "audit.html"):
        first = (tmp_path / "one" / name).read_bytes()
        assert first == (tmp_path / "two" / name).read_bytes()
    page = (tmp_path / "one" / "audit.html").read_text()
    for figure in {"text": ("574", "10.1 %", "81.7 %"), "ocr": ("95.0 %", "0.646", "0.54")}[part]:
        assert figure in shown
        assert figure in page
    figures = json.loads((tmp_path / "one" / "audit.json").read_text())
    assert figures == _audit(part, file, capsys)


@pytest.fixture(scope="module")
def manuals(tmp_path_factory: pytest.TempPathFactory, write_manual: Callable[..., Path]) -> Path:
    """Twelve manuals."""
    folder = tmp_path_factory.mktemp("manuals")
    for number in range(12):
        write_manual(folder, number)
    return folder


@pytest.fixture(scope="module")
def index(
    manuals: Path, tmp_path_factory: pytest.TempPathFactory, small_settings: Callable[..., Settings]
) -> str:
    """An index of the manuals, which no test changes."""
    address = str(tmp_path_factory.mktemp("index"))
    request = IndexRequest(str(manuals), address, small_settings())
    index_corpus(request, InProcessExecutor(), lambda _line: None)
    return address


@pytest.fixture
def sheet(index: str, tmp_path: Path, capsys: Capture) -> Callable[..., Path]:
    """Export a sheet: ``(name, *options)``."""
    queries = tmp_path / "queries.jsonl"
    rows = [
        {"query_id": f"q{number}", "query": f"clean filter of Orbis K-{number}", "relevant": []}
        for number in range(100, 112)
    ]
    queries.write_text("\n".join(map(json.dumps, rows)))

    def export(name: str, *options: str) -> Path:
        argv = ["audit", "sample", index, str(queries), "--out", str(tmp_path / name), *options]
        assert main(argv) == 0
        return tmp_path / name

    return export


def _read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_sheet_holds_results_as_they_are_found(
    sheet: Callable[..., Path], index: str, manuals: Path, capsys: Capture
) -> None:
    rows = _read_csv(sheet("sheet.csv", "--size", "30", "--json"))
    told = json.loads(capsys.readouterr().out)
    assert told["rows"] == len(rows) == 30
    assert told["strata"] == [
        {"stratum": "rank 1", "rows": 10, "results": 12},
        {"stratum": "rank 2-3", "rows": 10, "results": 24},
        {"stratum": "rank 4 and more", "rows": 10, "results": 84},
    ]
    queries = {row["query_id"]: row["query"] for row in rows}
    for query_id, query in queries.items():
        assert main(["query", index, query, "--top-k", "10", "--json"]) == 0
        results = json.loads(capsys.readouterr().out)["results"]
        for row in (row for row in rows if row["query_id"] == query_id):
            found = results[int(row["rank"]) - 1]
            assert (row["doc_id"], row["text"]) == (found["doc_id"], found["text"])
            text = (manuals / row["doc_id"]).read_text()
            assert text[int(row["char_start"]) : int(row["char_end"])] == row["text"]


def test_formats_of_a_sheet_hold_the_same_sample(sheet: Callable[..., Path]) -> None:
    by_csv = [row["id"] for row in _read_csv(sheet("sheet.csv"))]
    by_parquet = pq.read_table(sheet("sheet.parquet")).column("id").to_pylist()
    lines = sheet("sheet.jsonl").read_text().splitlines()
    assert by_csv == by_parquet == [json.loads(line)["id"] for line in lines]
    assert len(set(by_csv)) == 100


def _filled(path: Path, num_rated: int, **changed: str) -> Path:
    """Rate the first rows of a sheet as a person would, and change cells of the third."""
    rows = _read_csv(path)
    for place, row in enumerate(rows[:num_rated]):
        row["rating"] = "5" if row["stratum"] == "rank 1" else "2"
        row["flags"] = "" if row["rating"] == "5" else "Wrong  product; off topic"
        row["narrative"] = "not the product that was asked for" if place % 2 else ""
    rows[2].update(changed)
    with path.with_name("filled.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path.with_name("filled.csv")


def test_filled_sheet_is_projected_to_all_results(
    sheet: Callable[..., Path], index: str, capsys: Capture
) -> None:
    filled = _filled(sheet("sheet.csv", "--size", "36"), 30)
    capsys.readouterr()
    assert main(["audit", "text", str(filled), "--index", index, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["num_reviews"], figures["num_labelled"], figures["num_texts"]) == (36, 30, 120)
    assert figures["strata"] == ["rank 1", "rank 2-3", "rank 4 and more"]
    assert figures["ratings"]["5"]["projected"]["point"] == 12
    assert figures["mean_rating"]["point"] == round((12 * 5 + 108 * 2) / 120, 4)
    assert figures["flagged"]["share"]["point"] == 0.9
    names = {issue["name"] for issue in figures["issues"]}
    assert names == {"wrong product", "off topic"}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"doc_id": "absent.md"}, "doc_id 'absent.md' is not in "),
        ({"char_start": "7", "char_end": "999999"}, "the span 7-999999 is outside the text of"),
        ({"char_start": "90", "char_end": "90"}, "char_end (90) is not after char_start (90)"),
        ({"doc_id": ""}, "doc_id, char_start, char_end are blank"),
        ({"rating": "7"}, "rating is 7, not from 1 to 5"),
    ],
)
def test_sheets_that_do_not_fit_the_index_are_refused(
    sheet: Callable[..., Path], index: str, capsys: Capture, changed: dict[str, str], reason: str
) -> None:
    filled = _filled(sheet("sheet.csv", "--size", "12"), 12, **changed)
    capsys.readouterr()
    line = 2 + sum(row["text"].count("\n") + 1 for row in _read_csv(filled)[:2])
    assert main(["audit", "text", str(filled), "--index", index]) == 2
    assert f"filled.csv, line {line}: {reason}" in capsys.readouterr().err


def test_sheet_is_never_written_over(
    sheet: Callable[..., Path], index: str, tmp_path: Path, capsys: Capture
) -> None:
    path = sheet("sheet.csv", "--size", "3")
    before = path.read_bytes()
    argv = ["audit", "sample", index, str(tmp_path / "queries.jsonl"), "--out", str(path)]
    assert main(argv) == 2
    assert "is there already, and may have been filled in" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_bad_queries_are_named_by_line(index: str, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "bad.jsonl").write_text('{"query_id": "a"}')
    argv = ["audit", "sample", index, str(tmp_path / "bad.jsonl"), "--out", str(tmp_path / "s.csv")]
    assert main(argv) == 1
    assert "bad.jsonl, line 1: row.query is missing" in capsys.readouterr().err
    assert not (tmp_path / "s.csv").exists()


ATTACK = (
    "<script>document.title='owned'</script><img src=http://127.0.0.1:9/x onerror=alert(1)>"
    "</td></table></section><style>*{display:none}</style> \" onmouseover='alert(2)' &lt;b&gt;"
    " \x1b[2J"
)


@pytest.fixture
def page() -> Iterator[Page]:
    """A phone that is offline and shows the page in dark colours."""
    chromium = shutil.which("chromium")
    assert chromium, "chromium is not installed"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context(
            viewport={"width": 375, "height": 700}, color_scheme="dark", offline=True
        )
        yield context.new_page()
        browser.close()


def _attacked(rows: Rows, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Put markup into the names and texts of some rows."""
    attacked = []
    for place, row in enumerate(rows):
        changed = {
            column: [ATTACK] if isinstance(row[column], list) else f"{ATTACK} {row[column]}"
            for column in columns
            if row[column] and place % 7 == 0
        }
        attacked.append({**row, **changed})
    return attacked


@pytest.mark.parametrize("part", ["text", "ocr"])
def test_report_opens_offline_on_a_phone_whatever_the_file_says(
    part: str, paper_reviews: Rows, paper_ratings: Rows, tmp_path: Path, page: Page, capsys: Capture
) -> None:
    rows = {
        "text": _attacked(paper_reviews, TEXT_COLUMNS[2:]),
        "ocr": _attacked(paper_ratings, ["case", "rater"]),
    }[part]
    file = _write(tmp_path / "file.jsonl", rows)
    assert main(["audit", part, str(file), "--out", str(tmp_path)]) == 0
    assert "\x1b" not in capsys.readouterr().out
    asked: list[str] = []
    told: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: told.append(message.text))
    page.on("dialog", lambda dialog: told.append(dialog.message))
    address = (tmp_path / "audit.html").as_uri()
    page.goto(address)
    assert (asked, told) == ([address], [])
    assert page.title().startswith("Audit of ")
    assert page.evaluate("document.scripts.length") == 0
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    assert page.locator("svg").first.is_visible()
    assert page.locator("section > h2").count() == page.locator("body > section").count() > 3
    assert ATTACK[:60] in page.inner_text("body")
