"""Looks through this machine's cache for a document.

The cache is shared by all indexes, and each file of it can be fetched again: so a folder goes
when it may hold the document, whosesoever it is.
"""

from collections import defaultdict
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

from scp_ray.errors import IndexFormatError
from scp_ray.index.lexical import TERMS_FILE as SHARD_TERMS_FILE
from scp_ray.index.shard_files import CHUNKS_FILE
from scp_ray.pipeline.text_search import Wanted, look_into
from scp_ray.storage.keys import TERMS_FILE


@dataclass(frozen=True, slots=True)
class CacheState:
    """What a cache has.

    Attributes:
        num_clean_files: Files that were looked into and do not hold the document.
        going: Folders that hold it, or whose words cannot be told from those of the document.
    """

    num_clean_files: int
    going: list[Path]


def look_into_cache(cache: Path, wanted: Wanted, needed: Container[str]) -> CacheState:
    """Look through a cache.

    Args:
        cache: Its folder; need not exist.
        wanted: The document.
        needed: Folders of the index that do not hold it, as keys.
    """
    files = defaultdict[Path, list[Path]](list)
    for path in sorted(cache.rglob("*")):
        if path.is_file():
            files[path.parent].append(path)
    going: list[Path] = []
    num_clean = 0
    for folder, paths in files.items():
        is_needed = folder.relative_to(cache).as_posix() in needed
        has_words_alone = not is_needed and _has_words_alone(paths)
        if has_words_alone or any(_holds(path, wanted) for path in paths):
            going.append(folder)
        else:
            num_clean += len(paths)
    return CacheState(num_clean, going)


def _has_words_alone(paths: list[Path]) -> bool:
    """Say whether there are words, and no rows that tell which documents they are of."""
    names = {path.name for path in paths}
    return CHUNKS_FILE not in names and bool(names & {TERMS_FILE, SHARD_TERMS_FILE})


def _holds(path: Path, wanted: Wanted) -> bool:
    try:
        finding = look_into(path, wanted)
    except FileNotFoundError:  # a file that another process was fetching has its name now
        return False
    except IndexFormatError:
        return True
    return finding.has_rows or bool(finding.probes)
