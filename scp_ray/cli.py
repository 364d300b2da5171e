"""``scp-ray``: the command line."""

import argparse
import logging
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

from scp_ray import __version__
from scp_ray.commands.terminal import ExitCode, tell
from scp_ray.config import load_settings
from scp_ray.errors import ConfigError, PreconditionFailedError, ScpRayError

_COMMANDS = (
    "index",
    "plan",
    "query",
    "evaluate",
    "ablate",
    "audit",
    "serve",
    "generations",
    "rollback",
    "gc",
    "purge",
    "verify",
    "doctor",
)
_DESCRIPTION = """\
Turns a large collection of long, similar documents into a sharded, versioned retrieval index,
and finds the right passage of the right document in it.
"""
_EPILOG = """\
settings: every command takes --config FILE (YAML) and --set section.key=value, and reads
SCP_RAY__SECTION__KEY from the environment; later ones win, in this order: file, environment,
--set. `scp-ray COMMAND --help` has examples.

exit codes: 0 done, 1 failed, 2 wrong use, 3 partial (some documents quarantined), 4 another run
is at work on the index
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="scp-ray",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"scp-ray {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in _COMMANDS:
        _add_command(commands, name, import_module(f"scp_ray.commands.{name}"))
    return parser


def _add_command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, module: ModuleType
) -> None:
    parser = commands.add_parser(
        name,
        help=module.HELP,
        description=module.DESCRIPTION,
        epilog=module.EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if hasattr(module, "PARTS"):
        parts = parser.add_subparsers(metavar="PART", required=True)
        for part, its_module in module.PARTS.items():
            _add_command(parts, part, its_module)
        return
    _add_arguments(parser, module)


def _add_arguments(parser: argparse.ArgumentParser, module: ModuleType) -> None:
    module.add_arguments(parser)
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings as YAML")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SECTION.KEY=VALUE",
        dest="assignments",
        help="one setting; may be repeated",
    )
    parser.set_defaults(run=module.run)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    return _run(build_parser().parse_args(argv))


def run_job(module: ModuleType, prog: str, argv: Sequence[str]) -> int:
    """Run a command that only a job has, and return its exit code."""
    parser = argparse.ArgumentParser(
        prog=prog,
        description=module.DESCRIPTION,
        epilog=module.EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_arguments(parser, module)
    return _run(parser.parse_args(argv, argparse.Namespace(command=prog)))


def _run(args: argparse.Namespace) -> int:
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    try:
        settings = load_settings(args.config, args.assignments)
        code: int = args.run(args, settings)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone; there is nobody to tell
        code = ExitCode.FAILED
    except (ScpRayError, OSError, KeyboardInterrupt) as error:
        tell(f"scp-ray {args.command}: {str(error) or 'interrupted'}")
        code = _exit_code(error)
    return code


def _exit_code(error: BaseException) -> ExitCode:
    if isinstance(error, ConfigError):
        return ExitCode.WRONG_USE
    if isinstance(error, PreconditionFailedError):
        return ExitCode.LEASE_HELD
    return ExitCode.FAILED


if __name__ == "__main__":
    sys.exit(main())
