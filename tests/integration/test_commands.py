"""The commands over one index, on the session's cluster."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from scp_ray.cli import main

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("ray_cluster"),
]

SETTINGS = ["--set", "embedding.model=hash://32", "--set", "index.num_shards=3"]
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def queries(corpus: Path, tmp_path: Path) -> Path:
    """Two questions, each the beginning of a manual."""
    file = tmp_path / "queries.jsonl"
    rows = [
        {
            "query_id": f"q{number}",
            "query": (corpus / f"manual_{number:03d}.md").read_text()[:900],
            "relevant": [{"doc_id": f"manual_{number:03d}.md", "char_start": 0, "char_end": 200}],
        }
        for number in (2, 5)
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    return file


def test_plan_index_query_evaluate(
    corpus: Path, queries: Path, tmp_path: Path, capsys: Capture, write_manual: Callable[..., Path]
) -> None:
    index = str(tmp_path / "index")
    assert main(["plan", str(corpus), index, "--json", *SETTINGS]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["documents"]["new"], plan["shards_touched"], plan["llm"]["calls"]) == (12, 3, 0)
    assert not Path(index).exists()

    assert main(["index", str(corpus), index, "--json", *SETTINGS]) == 0
    captured = capsys.readouterr()
    report = json.loads(captured.out)
    assert report["chunks"]["embedded"] == plan["chunks"]
    assert report["tokens_embedded"] == plan["embedding_tokens"]
    assert report["annotation"]["decisions"] == plan["continuity_decisions"]
    assert "embedded 12/12 documents" in captured.err
    assert "s left" in captured.err

    assert main(["query", index, "--file", str(queries), "--json", "--top-k", "3"]) == 0
    replies = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [reply["query_id"] for reply in replies] == ["q2", "q5"]
    assert [reply["results"][0]["doc_id"] for reply in replies] == [
        "manual_002.md",
        "manual_005.md",
    ]
    assert main(["evaluate", index, str(queries), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["n"], figures["hit@1"], figures["mrr@10"]) == (2, 1.0, 1.0)
    assert main(["evaluate", index, str(queries)]) == 0
    assert "hit@10" in capsys.readouterr().out
    assert main(["evaluate", index, str(queries), "--json", "--budget", "1000"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["evidence_recall@1000"] == 1.0
    assert 0.0 < figures["evidence_precision@1000"] < 1.0
    assert 0.0 < figures["context_tokens"] <= 1000
    assert main(["evaluate", index, str(queries), "--budget", "60"]) == 0
    assert "evidence_recall@60" in capsys.readouterr().out

    write_manual(corpus, 2, sentences=30)
    write_manual(corpus, 90)
    (corpus / "manual_001.md").unlink()
    assert main(["plan", str(corpus), index, *SETTINGS]) == 0
    shown = capsys.readouterr().out
    assert "1 new, 1 changed, 10 same, 0 renamed, 1 removed, 0 quarantined" in shown
    assert main(["index", str(corpus), index, *SETTINGS]) == 0
    shown = capsys.readouterr().out
    assert "done: generation 2" in shown
    assert "12 published: 1 new, 1 changed, 0 renamed, 10 same, 1 removed" in shown


def test_query_shows_why(corpus: Path, tmp_path: Path, capsys: Capture) -> None:
    index = str(tmp_path / "index")
    assert main(["index", str(corpus), index, *SETTINGS]) == 0
    capsys.readouterr()
    argv = ["query", index, "clean the filter", "--top-k", "4", "--explain"]
    assert main([*argv, "--min-index-gap", "5"]) == 0
    shown = capsys.readouterr().out
    assert "? clean the filter" in shown
    assert "prior: position" in shown
    assert "dropped, too near to chunk" in shown
    assert shown.count("kept") == 4
    argv = ["query", index, "clean the filter", "--filter", '{"doc_id": "absent"}']
    assert main(argv) == 0
    assert "nothing found" in capsys.readouterr().out


def test_query_weighs_words_and_assembles_a_context(
    corpus: Path, tmp_path: Path, capsys: Capture
) -> None:
    index = str(tmp_path / "index")
    assert main(["index", str(corpus), index, *SETTINGS]) == 0
    capsys.readouterr()
    ask = ["query", index, "K-107 filter", "--top-k", "2", "--lexical-weight"]
    assert main([*ask, "1", "--max-context-tokens", "400", "--explain"]) == 0
    shown = capsys.readouterr().out
    assert "1. " in shown
    assert "manual_007.md" in shown.splitlines()[1]
    assert "[manual_007.md characters" in shown
    assert " words, " in shown
    assert main([*ask, "0.5", "--json"]) == 0
    reply = json.loads(capsys.readouterr().out)
    assert reply["lexical"]["weight"] > 0.0
    assert main(["query", index, "zwölf Xylophone"]) == 0
    assert "knows none of these words" in capsys.readouterr().out
    assert main([*ask, "1.5"]) == 2
    assert "lexical_weight" in capsys.readouterr().err


def test_doctor_checks_encoder_and_store(tmp_path: Path, capsys: Capture) -> None:
    assert main(["doctor", "--index", str(tmp_path), "--json", *SETTINGS]) == 0
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)}
    assert checks["store"]["status"] == checks["encoder"]["status"] == "ok"
    assert "256 tokens" in checks["encoder"]["detail"]
    assert not list(tmp_path.glob("probe*"))
    argv = ["doctor", "--set", "embedding.model=/no-such-model"]
    assert main(argv) == 1
    assert "FAIL  encoder" in capsys.readouterr().out
