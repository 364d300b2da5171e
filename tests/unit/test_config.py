"""Settings: sources, refusals, identity."""

from pathlib import Path

import pytest

from scp_ray.config import Settings, fingerprint, load_settings, settings_from_manifest
from scp_ray.errors import ConfigError


def test_later_sources_win(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("index:\n  num_shards: 2\n  m: 16\nchunking:\n  overlap_tokens: 10\n")
    environment = {"SCP_RAY__INDEX__NUM_SHARDS": "3", "SCP_RAY__INDEX__M": "24", "OTHER": "1"}
    settings = load_settings(file, ["index.num_shards=5"], environment)
    assert settings.index.num_shards == 5
    assert settings.index.m == 24
    assert settings.chunking.overlap_tokens == 10


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("indx.num_shards=3", "unknown setting 'indx'; did you mean 'index'"),
        ("index.num_shard=3", "did you mean 'index.num_shards'"),
        ("index.num_shards=0", r"index.num_shards: .*greater than or equal to 1.*got 0"),
        ("index.num_shards=many", r"index.num_shards: .*integer"),
        ("index.num_shards", "expected section.key=value"),
        ("num_shards=3", "expected a section and a key"),
        ("index.a.b=3", "expected a section and a key"),
        ("index.m={", "is not a YAML value"),
        ("chunking.overlap_tokens=200", "must be less than"),
        ("retrieval.position_weight=.nan", "finite number"),
        ("embedding.device=tpu", "embedding.device"),
        ("chop.annotator=magic", "'none', 'heuristic', 'vllm' or 'openai'"),
    ],
)
def test_wrong_assignments_are_explained(assignment: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_settings(None, [assignment], {})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"index: [1, 2]", "must be a map of sections"),
        (b"- index", "must be a map of sections"),
        (b"index: {", "is not YAML"),
        (b"\xff\xfe\x00", "is not YAML"),
        (b"unknown:\n  key: 1\n", "unknown setting 'unknown'"),
        (b"index:\n  m: 8\n  m: 16\n", "'m' stands twice in one map"),
    ],
)
def test_wrong_files_are_explained(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "settings.yaml"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        load_settings(file, [], {})


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.yaml: No such file"):
        load_settings(tmp_path / "absent.yaml", [], {})


def test_empty_file_gives_the_defaults(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("index:\n")
    assert load_settings(file, [], {}) == Settings()


def test_hash_follows_every_setting() -> None:
    other = load_settings(None, ["serve.port=9000"], {})
    assert Settings().hash == load_settings(None, [], {}).hash
    assert other.hash != Settings().hash


@pytest.mark.parametrize(
    "assignment",
    ["chunking.overlap_tokens=10", "chop.annotator=none", "embedding.dtype=bfloat16"],
)
def test_fingerprint_follows_what_shapes_rows(assignment: str) -> None:
    assert fingerprint(load_settings(None, [assignment], {}), "r") != fingerprint(Settings(), "r")


@pytest.mark.parametrize(
    "assignment",
    ["index.num_shards=9", "retrieval.top_k=9", "embedding.batch_size=8", "embedding.device=cpu"],
)
def test_fingerprint_ignores_the_rest(assignment: str) -> None:
    assert fingerprint(load_settings(None, [assignment], {}), "r") == fingerprint(Settings(), "r")


def test_fingerprint_follows_revisions() -> None:
    assert fingerprint(Settings(), "a", "b") != fingerprint(Settings(), "a", "c")


def test_one_section_is_changed_and_checked() -> None:
    settings = load_settings(None, ["index.m=16"], {})
    changed = settings.with_values("serve", port=9000, host=None)
    assert (changed.serve.port, changed.serve.host) == (9000, settings.serve.host)
    assert changed.index == settings.index
    with pytest.raises(ConfigError, match=r"serve\.port: .*got 0"):
        settings.with_values("serve", port=0)


def test_query_params_take_overrides() -> None:
    params = Settings().query_params(top_k=9, position_weight=None, exact=True)
    assert (params.top_k, params.exact) == (9, True)
    assert params.position_weight == Settings().retrieval.position_weight
    with pytest.raises(ConfigError, match=r"retrieval\.top_k"):
        Settings().query_params(top_k=0)


def test_index_decides_the_encoder_and_the_process_the_rest() -> None:
    stored = load_settings(None, ["embedding.model=m", "retrieval.top_k=3"], {})
    mine = load_settings(None, ["embedding.device=cpu", "retrieval.top_k=7"], {})
    merged = settings_from_manifest(stored.model_dump(mode="json"), mine)
    assert merged.embedding.model == "m"
    assert merged.embedding.device == "cpu"
    assert merged.retrieval.top_k == 7
