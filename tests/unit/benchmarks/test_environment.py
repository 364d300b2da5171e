"""What is told of the machine, and what is not."""

import getpass
import json
import socket
from pathlib import Path

from benchmarks.environment import capture, cpu_model, data_sha256
from scp_ray.config import Settings


def test_capture_names_no_machine_person_or_folder(tmp_path: Path) -> None:
    data = tmp_path / "some" / "manuals"
    data.mkdir(parents=True)
    environment = capture(Settings(), data)
    text = json.dumps(environment)
    assert environment["data"]["name"] == "some/manuals"
    assert str(tmp_path) not in text
    assert str(Path.home()) + "/" not in text
    values = text.replace('"', " ").split()
    assert socket.gethostname() not in values
    assert getpass.getuser() not in values


def test_capture_tells_settings_apart(tmp_path: Path) -> None:
    data = tmp_path / "a.txt"
    data.write_text("text")
    hashes = {
        capture(settings, data)["settings_hash"]
        for settings in (Settings(), Settings().with_values("index", m=16))
    }
    assert len(hashes) == 2


def test_data_hash_follows_names_and_contents_alone(tmp_path: Path) -> None:
    def folder(name: str, files: dict[str, str]) -> Path:
        for key, text in files.items():
            path = tmp_path / name / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path / name

    first = data_sha256(folder("first", {"a.md": "x", "b/c.md": "y"}))
    assert data_sha256(folder("second", {"b/c.md": "y", "a.md": "x"})) == first
    assert data_sha256(folder("third", {"a.md": "x", "b/d.md": "y"})) != first
    assert data_sha256(folder("fourth", {"a.md": "z", "b/c.md": "y"})) != first


def test_data_hash_of_one_file(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("one", "two", "three")]
    for path, text in zip(paths, ("x", "x", "y"), strict=True):
        path.write_text(text)
    one, two, three = map(data_sha256, paths)
    assert one == two != three


def test_cpu_model_is_the_processor_not_its_number(tmp_path: Path) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text("processor\t: 0\nmodel\t\t: 17\nmodel name\t: Example 9000\nflags\t: a b\n")
    assert cpu_model(info) == "Example 9000"
    assert cpu_model(tmp_path / "missing")
