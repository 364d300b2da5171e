"""``scp-ray generations``: what was published, and what readers take."""

import argparse
from dataclasses import asdict

from scp_ray.commands.terminal import ExitCode, show, show_json
from scp_ray.config import Settings

HELP = "list the published generations of an index"
DESCRIPTION = """\
Lists every published generation with its age, size and settings; readers take the one with the
star. `scp-ray rollback` goes back to another.
"""
EXAMPLES = """\
examples:
  scp-ray generations index/
  scp-ray generations index/ --json
"""
_MIB = 1024 * 1024
_HEAD = "  generation created (UTC)          documents    chunks      MiB  settings"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("index", metavar="INDEX", help="address of the index")
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def run(args: argparse.Namespace, _settings: Settings) -> int:
    """Run the command and return its exit code."""
    from scp_ray.storage.generations import list_generations
    from scp_ray.storage.opening import open_existing

    generations = list_generations(open_existing(args.index))
    if args.json:
        show_json([asdict(one) for one in generations], indent=1)
        return ExitCode.DONE
    show(_HEAD)
    for one in generations:
        created = one.created_at.partition("+")[0].replace("T", " ")
        show(
            f"{'*' if one.is_current else ' '} {one.generation:<11}{created:<22}"
            f"{one.documents:>10}{one.chunks:>10}{one.size_bytes / _MIB:>9.1f}  "
            f"{one.settings_hash[:12]}"
        )
    return ExitCode.DONE
