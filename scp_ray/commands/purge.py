"""``scp-ray purge``: remove a document from everything that an index holds."""

import argparse
import secrets
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

from scp_ray.commands.terminal import ExitCode, show, show_json, tell
from scp_ray.config import Settings

if TYPE_CHECKING:
    from scp_ray.pipeline.purge import Purged

HELP = "remove a document from everything that an index holds, and prove it"
DESCRIPTION = """\
Publishes a generation without the document, retires every generation that holds it, and deletes
their files, what dead runs left of it, the staged parts that hold it (their documents are done
again) and the copies in this machine's cache. Then every object that is left is looked into; exit
code 1, and their names, when one still holds the document or cannot be looked into. It may be
repeated at any time. Exit code 4 when a run is at work on the index.

Unlike with gc, files go at once: a service or another reader of an older generation must be
reloaded or restarted. The corpus is not touched: remove the document there too, or the next run
indexes it again. Not reached are answers of a language model about text that no generation holds
any more (delete annotations/ in the index if there are such), the caches and temporary folders of
other machines, old versions that a bucket keeps (scp-ray doctor --index says whether it does),
and backups.
"""
EXAMPLES = """\
examples:
  scp-ray purge index/ letters/1997-03-14.txt --dry-run
  scp-ray purge index/ letters/1997-03-14.txt
  scp-ray purge s3://bucket/index row-17 --json
"""
_MIB = 1024 * 1024
_MOST_NAMED = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("index", metavar="INDEX", help="address of the index")
    parser.add_argument("doc_id", metavar="DOC_ID", help="the document, as replies name it")
    parser.add_argument("--dry-run", action="store_true", help="only say what holds it")
    parser.add_argument("--json", action="store_true", help="print what was done as JSON")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Run the command and return its exit code."""
    from scp_ray.errors import ConfigError
    from scp_ray.pipeline.document_traces import require_index
    from scp_ray.pipeline.purge import purge_document
    from scp_ray.storage.lease import acquire, kept_alive
    from scp_ray.storage.opening import open_existing
    from scp_ray.storage.publish import read_state

    try:
        args.doc_id.encode()
    except UnicodeEncodeError as error:
        message = f"DOC_ID {args.doc_id!a} is not valid UTF-8; no document can be named so"
        raise ConfigError(message) from error
    if args.dry_run:
        return _say_what_holds_it(args)
    store, lease_s = open_existing(args.index), settings.publish.lease_s
    require_index(store, read_state(store))  # before a lease is written there
    lease = acquire(store, f"purge-{secrets.token_hex(4)}", lease_s, tell)
    with kept_alive(lease, lease_s):
        done = purge_document(store, args.doc_id, lease, tell)
    if args.json:
        show_json(asdict(done) | {"is_proven": done.is_proven}, indent=1)
    else:
        show("\n".join([*_report(done), *_verdict(done)]))
    return ExitCode.DONE if done.is_proven else ExitCode.FAILED


def _say_what_holds_it(args: argparse.Namespace) -> int:
    from scp_ray.pipeline.purge import find_document
    from scp_ray.storage.opening import open_existing

    traces, cache = find_document(open_existing(args.index), args.doc_id)
    holding = asdict(traces) | {"cached": [str(folder) for folder in cache.going]}
    if args.json:
        show_json(holding, indent=1)
        return ExitCode.DONE
    show(f"{args.doc_id} is in:")
    for kind, names in holding.items():
        show(f"  {kind.replace('_', ' ')}: {', '.join(map(str, names)) or 'none'}")
    return ExitCode.DONE


def _report(done: "Purged") -> list[str]:
    if not done.was_found:
        return [f"{done.doc_id} was found nowhere; {_deleted(done)}"]
    traces = done.traces
    where = (
        f"{done.doc_id} was in generations {_named(traces.generations)}; "
        f"{len(traces.shards)} shards, {len(traces.parts)} staged parts, "
        f"{len(done.cached)} folders of this machine's cache"
    )
    lines = [where, _deleted(done)]
    if done.published:
        lines.append(f"published generation {done.generation} without it")
    if traces.generations:
        lines.append(
            f"retired generations {_named(traces.generations)}; reload or restart what reads them"
        )
    if done.corpus is not None:
        lines.append(
            f"the corpus {done.corpus} is as it was: remove the document there, or the next run "
            "indexes it again"
        )
    return lines


def _deleted(done: "Purged") -> str:
    return f"deleted {len(done.keys)} files, {done.size_bytes / _MIB:.1f} MiB"


def _verdict(done: "Purged") -> list[str]:
    """Say what was looked at, and what it came to."""
    proof = done.proof
    checked = (
        f"objects checked: {proof.objects_checked}, and {done.cached_files_checked} files of this "
        f"machine's cache, for rows of it and {proof.probes} pieces of its text"
    )
    lines = [checked]
    if proof.also_in:
        lines.append(f"some of its text is also in other documents: {_named(proof.also_in)}")
    if done.old_versions_kept:
        lines.append("warning: the bucket keeps old versions of objects, and the document in them")
    elif done.old_versions_kept is None:
        lines.append("warning: the bucket does not say whether it keeps old versions of objects")
    lines += [f"still holds it: {name}" for name in (*proof.holding, *done.files_left)]
    lines += [f"cannot be looked into: {name}" for name in proof.unreadable]
    if done.was_found:
        lines.append(
            "answers of a language model about text that no generation and no staged part held "
            "any more are not reached; delete annotations/ if there are such"
        )
    lines.append("nothing holds its text any more" if done.is_proven else "not proven; see above")
    return lines


def _named(names: Iterable[object]) -> str:
    listed = [str(name) for name in names]
    more = len(listed) - _MOST_NAMED
    shown = ", ".join(listed[:_MOST_NAMED]) or "none"
    return f"{shown} and {more} more" if more > 0 else shown
