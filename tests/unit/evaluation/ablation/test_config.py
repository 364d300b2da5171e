"""What an ablation may ask for, and how a slip is refused."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from scp_ray.config import Settings, load_settings
from scp_ray.errors import ConfigError
from scp_ray.evaluation.ablation.config import (
    checked_setting,
    load_ablation,
    product_setting,
)

SETS = {"small": {"corpus": "texts", "queries": "questions.jsonl"}}
STUDIES = [{"name": "Gap", "vary": {"min_index_gap": [1, 2]}}]


def _write(folder: Path, **changes: Any) -> Path:
    path = folder / "ablation.yaml"
    path.write_text(yaml.safe_dump({"sets": SETS, "studies": STUDIES, **changes}))
    return path


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    config = load_ablation(_write(tmp_path))
    assert config.sets["small"].corpus == str(tmp_path / "texts")
    assert config.sets["small"].queries == str(tmp_path / "questions.jsonl")


def test_paths_below_data_and_addresses(tmp_path: Path) -> None:
    sets = {"one": {"corpus": "s3://bucket/texts", "queries": "{data}/questions.jsonl"}}
    config = load_ablation(_write(tmp_path, sets=sets), Path("/elsewhere"))
    assert config.sets["one"].corpus == "s3://bucket/texts"
    assert config.sets["one"].queries == "/elsewhere/questions.jsonl"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sets": {}}, "sets: Dictionary should have at least 1 item"),
        ({"sets": {"a": {"corpus": "x"}}}, r"sets\.a\.queries: Field required"),
        ({"sets": {"a": {**SETS["small"], "size": 3}}}, r"unknown key 'sets\.a\.size'"),
        ({"studies": []}, "studies: List should have at least 1 item"),
        ({"studies": [{"name": "x", "vary": {"b": []}}]}, r"studies\.0\.vary\.b: List should have"),
        ({"studies": [{"name": "x"}]}, "study 'x' needs either vary or cells"),
        ({"studies": [*STUDIES, *STUDIES]}, "two studies have the name 'Gap'"),
        ({"studies": [{**STUDIES[0], "sets": ["big"]}]}, "names 'big', which is not one of sets"),
        ({"sets": {"a": {**SETS["small"], "corpus": "{data}/x"}}}, r"sets\.a\.corpus .* --data"),
        (
            {"sets": {"a": {**SETS["small"], "queries": "s3://bucket/q.jsonl"}}},
            r"sets\.a\.queries is 's3://bucket/q\.jsonl': only a corpus may have an address",
        ),
        (
            {"sets": {"a": {**SETS["small"], "true_names": "s3://bucket/n.json"}}},
            r"sets\.a\.true_names is 's3://bucket/n\.json': only a corpus",
        ),
        ({"base": [1]}, "base: Input should be a valid dictionary"),
    ],
)
def test_a_slip_is_refused_with_its_key(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        load_ablation(_write(tmp_path, **changes))


def test_what_is_no_file_or_no_yaml_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*nothing\.yaml: No such file"):
        load_ablation(tmp_path / "nothing.yaml")
    (tmp_path / "bad.yaml").write_text("sets: [")
    with pytest.raises(ConfigError, match=r"bad\.yaml is not YAML"):
        load_ablation(tmp_path / "bad.yaml")
    (tmp_path / "twice.yaml").write_text("sets: {}\nsets: {}\n")
    with pytest.raises(ConfigError, match="'sets' stands twice in one map"):
        load_ablation(tmp_path / "twice.yaml")


def test_the_product_gives_the_defaults() -> None:
    settings = load_settings(None, ["retrieval.lexical_weight=0.7", "chop.annotator=none"], {})
    setting = checked_setting(product_setting(settings), "base")
    assert (setting.lexical_weight, setting.annotator) == (0.7, "none")
    assert setting.top_k == 10  # the metrics look at ten results


def test_a_context_of_the_product_is_the_budget() -> None:
    settings = load_settings(None, ["context.max_tokens=2000"], {})
    assert checked_setting(product_setting(settings), "base").budget_tokens == 2000
    without = load_settings(None, ["context.max_tokens=0"], {})
    assert checked_setting(product_setting(without), "base").budget_tokens > 0


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("rerank.model=ms-marco", r"rerank\.model is 'ms-marco': an ablation has no cross-encoder"),
        ("retrieval.prior_scope=shard", r"retrieval\.prior_scope is 'shard': .* has no shards"),
    ],
)
def test_what_no_cell_can_do_is_refused(assignment: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        product_setting(load_settings(None, [assignment], {}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"overlap_tokens": 200}, r"overlap_tokens \(200\) must be less than chunk_size_tokens"),
        ({"position_weight": 1.5}, "position_weight: Input should be less than or equal to 1"),
        ({"position_weight": True}, "position_weight: Input should be a valid number"),
        ({"continuity": 1}, "continuity: Input should be a valid boolean"),
        ({"selector": "best"}, "selector: Input should be 'top_k', 'gap', 'mmr'"),
        ({"prefix_parts": ["model", "model"]}, "prefix_parts names a part twice"),
        ({"prefix_parts": ["colour"]}, r"prefix_parts\.0: Input should be 'model', 'category'"),
        ({"smoothness": 0.1}, "unknown key 'smoothness'"),
    ],
)
def test_a_wrong_factor_is_refused_with_its_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"^here: .*{message}"):
        checked_setting({**product_setting(Settings()), **changes}, "here")
