"""``scp-ray gc``: delete what no kept generation needs."""

import argparse
import secrets
import time
from dataclasses import asdict

from scp_ray.commands.terminal import ExitCode, show, show_json, tell
from scp_ray.config import Settings

HELP = "delete old generations and what dead runs left"
DESCRIPTION = """\
Keeps the newest generations and the one that readers take, and deletes the files that only others
need, shards that were never published, and staged parts that the next run cannot use. The files of
a generation that is dropped stay for publish.reader_grace_s (an hour) for readers that have them
open; run it again after that. Exit code 4 when a run is at work on the index.
"""
EXAMPLES = """\
examples:
  scp-ray gc index/ --keep 3 --dry-run
  scp-ray gc index/ --keep 3
"""
_MIB = 1024 * 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("index", metavar="INDEX", help="address of the index")
    parser.add_argument(
        "--keep", type=int, required=True, metavar="N", help="newest generations to keep"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be deleted")
    parser.add_argument("--json", action="store_true", help="print what was done as JSON")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Run the command and return its exit code."""
    from scp_ray.storage.garbage import Retention, collect_garbage
    from scp_ray.storage.generations import require_generation
    from scp_ray.storage.lease import acquire, kept_alive
    from scp_ray.storage.opening import open_existing

    store, config = open_existing(args.index), settings.publish
    retention = Retention(args.keep, config.reader_grace_s, time.time())
    if args.dry_run:
        done = collect_garbage(store, retention, fence=None)
    else:
        require_generation(store)  # before a lease is written there
        lease = acquire(store, f"gc-{secrets.token_hex(4)}", config.lease_s, tell)
        with kept_alive(lease, config.lease_s):
            done = collect_garbage(store, retention, lease.fence)
    if args.json:
        show_json(asdict(done), indent=1)
        return ExitCode.DONE
    would = "would be " if args.dry_run else ""
    show(f"generations kept: {_numbers(done.kept)}; {would}retired: {_numbers(done.retired)}")
    if done.waiting:
        show(f"kept for running readers: generations {_numbers(done.waiting)}")
    show(f"{would}deleted: {len(done.keys)} files, {done.size_bytes / _MIB:.1f} MiB")
    return ExitCode.DONE


def _numbers(generations: list[int]) -> str:
    return ", ".join(map(str, generations)) or "none"
