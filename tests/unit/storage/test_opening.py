"""Addresses of stores."""

from pathlib import Path

import pytest

from scp_ray.errors import ConfigError
from scp_ray.storage.opening import is_on_s3, open_existing, open_store


def test_folders_and_file_urls_are_one_store(tmp_path: Path) -> None:
    assert open_store(str(tmp_path)).url == open_store(f"file://{tmp_path}").url == str(tmp_path)


def test_relative_folders_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_store("index").url == str(tmp_path / "index")


def test_buckets_are_opened_without_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert open_store("s3://bucket/index/").url == "s3://bucket/index"
    assert is_on_s3("s3://bucket/index")
    assert not is_on_s3("index")
    with pytest.raises(ConfigError, match="not an address of the form s3://bucket/prefix"):
        open_store("s3://")


def test_other_schemes_are_refused() -> None:
    with pytest.raises(ConfigError, match="cannot store on gs://; give a folder or s3://"):
        open_store("gs://bucket/index")


def test_corpus_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such folder"):
        open_existing(str(tmp_path / "absent"))
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match="is a file; give a folder"):
        open_existing(str(tmp_path / "file"))


@pytest.mark.parametrize("address", ["", " "])
def test_empty_address_is_not_this_folder(address: str) -> None:
    with pytest.raises(ConfigError, match="is empty"):
        open_store(address)


def test_a_home_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError, match="~nobody-here/index"):
        open_store("~nobody-here/index")
