"""``scp-ray serve``: answer questions over HTTP."""

import argparse

from scp_ray.commands.terminal import ExitCode, tell
from scp_ray.config import Settings, have_serve_favour_throughput

HELP = "serve an index over HTTP"
DESCRIPTION = """\
Starts the query service: HTTP fronts that hold the index and answer questions, or, where it does
not fit one process, fronts over groups of shards. It follows the index: a new generation is served
without a restart. POST /v1/query answers; / is a page that asks; /docs describes the interface;
/healthz and /readyz tell how it is. Runs until it is stopped. On a cluster of one node the fronts
listen themselves, else Ray Serve's proxies do (setting serve.http_server).
"""
EXAMPLES = """\
examples:
  scp-ray serve index/
  scp-ray serve index/ --port 9000 --set serve.num_fronts=2
  scp-ray serve index/ --host 0.0.0.0 --set serve.tokens_file=/etc/scp-ray/tokens
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
    from scp_ray.serve.launch import require_servable, serve_until_stopped

    settings = settings.with_values("serve", host=args.host, port=args.port)
    require_servable(args.index, settings)
    tell(f"starting the service of {args.index}")
    have_serve_favour_throughput()
    tell(connect())
    serve_until_stopped(args.index, settings, tell)
    return ExitCode.DONE
