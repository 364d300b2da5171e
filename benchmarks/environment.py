"""Where and on what a benchmark ran; nothing that names a machine, a person or a folder of it."""

import hashlib
import os
import platform
import shutil
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.figures import ROOT
from scp_ray.config import Settings, available_cpus

_PACKAGES = ("scp-ray", "torch", "faiss-cpu", "ray", "sentence-transformers", "numpy", "pyarrow")
_SOURCES = ("scp_ray", "benchmarks/*.py", "pyproject.toml", "requirements.lock")
_CPU_INFO = Path("/proc/cpuinfo")
_GIB = 2**30


def capture(settings: Settings, data: Path) -> dict[str, Any]:
    """Describe this machine, this version of the project, and what it was given.

    Args:
        settings: The library's settings in the benchmark.
        data: File or folder that the benchmark worked on; its last two names are kept.
    """
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _git("rev-parse", "HEAD"),
        "uncommitted_changes": bool(_git("status", "--porcelain", "--", *_SOURCES)),
        "cpu": cpu_model(),
        "cores": available_cpus(),
        "load_before": round(os.getloadavg()[0], 2),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB, 1),
        "gpu": _gpu(),
        "versions": {
            "python": platform.python_version(),
            **{package: version(package) for package in _PACKAGES},
        },
        "settings_hash": settings.hash,
        "data": {"name": "/".join(data.resolve().parts[-2:]), "sha256": data_sha256(data)},
    }


def data_sha256(data: Path) -> str:
    """Return the SHA-256 over the names and contents of a folder's files, or of one file."""
    files = [data] if data.is_file() else sorted(filter(Path.is_file, data.rglob("*")))
    digest = hashlib.sha256()
    for path in files:
        name = path.relative_to(data).as_posix()
        digest.update(f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def cpu_model(info: Path = _CPU_INFO) -> str:
    """Return what the processor calls itself."""
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _gpu() -> str | None:
    import torch

    return torch.cuda.get_device_name(0) if torch.cuda.is_available() else None


def _git(*arguments: str) -> str | None:
    git = shutil.which("git")
    if git is None:
        return None
    done = subprocess.run(  # noqa: S603 - arguments are this file's own
        [git, "--no-optional-locks", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() if done.returncode == 0 else None
