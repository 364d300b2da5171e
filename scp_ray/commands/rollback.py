"""``scp-ray rollback``: let readers take another generation."""

import argparse
import secrets

from scp_ray.commands.terminal import ExitCode, show, tell
from scp_ray.config import Settings

HELP = "go back to an earlier generation"
DESCRIPTION = """\
Lets readers take another published generation, at once and without copying anything. Nothing is
deleted, and the next run goes on from there: its generation gets the largest number plus one.
Exit code 4 when a run is at work on the index.
"""
EXAMPLES = """\
examples:
  scp-ray generations index/
  scp-ray rollback index/ --to 6
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("index", metavar="INDEX", help="address of the index")
    parser.add_argument(
        "--to", type=int, required=True, metavar="N", help="number of the generation"
    )


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Run the command and return its exit code."""
    from scp_ray.storage.generations import require_generation, roll_back
    from scp_ray.storage.lease import acquire, kept_alive
    from scp_ray.storage.opening import open_existing

    store, lease_s = open_existing(args.index), settings.publish.lease_s
    require_generation(store)  # before a lease is written there
    lease = acquire(store, f"rollback-{secrets.token_hex(4)}", lease_s, tell)
    with kept_alive(lease, lease_s):
        manifest = roll_back(store, args.to, lease.fence)
    show(
        f"readers take generation {manifest.generation}: {manifest.num_documents} documents, "
        f"{manifest.num_chunks} chunks"
    )
    return ExitCode.DONE
