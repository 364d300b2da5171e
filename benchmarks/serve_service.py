"""The service of scp_ray on a Ray cluster of its own; serves until SIGTERM."""

import argparse
import json
import logging
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ray

from benchmarks.serve_process import Served, serving
from scp_ray.config import Settings, have_serve_favour_throughput, settings_from_tree
from scp_ray.pipeline.ray_executor import connect
from scp_ray.serve.launch import serve_until_stopped


@contextmanager
def service(index: Path, settings: Settings) -> Iterator[Served]:
    """Serve an index in processes of their own for as long as the block lasts.

    Args:
        index: Folder of the index.
        settings: How to serve it; any free port is taken.
    """
    arguments: list[str | Path] = [index, settings.model_dump_json()]
    with serving(sys.executable, "benchmarks.serve_service", arguments) as served:
        yield served


def main() -> None:
    """Serve, and say where once it is ready."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index")
    parser.add_argument("settings", help="settings tree as JSON")
    args = parser.parse_args()
    settings = settings_from_tree(json.loads(args.settings)).with_values("serve", port=_free_port())

    def tell(line: str) -> None:
        if line.startswith("ready"):
            sys.stdout.write(f"ready {settings.serve.port} {{}}\n")
            sys.stdout.flush()

    have_serve_favour_throughput()
    ray.init("local", include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    connect()
    serve_until_stopped(args.index, settings, tell)
    ray.shutdown()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()
