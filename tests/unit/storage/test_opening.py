"""Addresses of stores."""

from pathlib import Path

import pytest

from scp_ray.errors import ConfigError
from scp_ray.storage.opening import open_existing, open_store


def test_folders_and_file_urls_are_one_store(tmp_path: Path) -> None:
    assert open_store(str(tmp_path)).url == open_store(f"file://{tmp_path}").url == str(tmp_path)


def test_relative_folders_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_store("index").url == str(tmp_path / "index")


def test_other_schemes_are_refused() -> None:
    with pytest.raises(ConfigError, match="cannot store on gs://"):
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
