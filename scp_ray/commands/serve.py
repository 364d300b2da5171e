"""``scp-ray serve``: answer questions over HTTP."""

import argparse

from scp_ray.commands.terminal import ExitCode, tell
from scp_ray.config import Settings, have_serve_favour_throughput

HELP = "serve an index over HTTP"
DESCRIPTION = """\
Starts the Ray Serve application: shard groups that hold the index, and an HTTP front that runs
the two-pass query over them. POST /v1/query answers; /docs describes the interface; /healthz and
/readyz tell how it is. Runs until it is stopped.
"""
EXAMPLES = """\
examples:
  scp-ray serve index/
  scp-ray serve index/ --port 9000 --set serve.num_groups=4
  curl -s localhost:8000/v1/query -H 'Content-Type: application/json' -d '{"query": "..."}'
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("index", metavar="INDEX", help="address of the index")
    parser.add_argument("--host", help="address to listen on (setting serve.host)")
    parser.add_argument("--port", type=int, help="TCP port (setting serve.port)")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Run the command and return its exit code."""
    from scp_ray.pipeline.ray_executor import connect
    from scp_ray.serve.launch import serve_until_stopped

    settings = settings.with_values("serve", host=args.host, port=args.port)
    tell(f"starting the service of {args.index}")
    have_serve_favour_throughput()
    tell(connect())
    serve_until_stopped(args.index, settings, tell)
    return ExitCode.DONE
