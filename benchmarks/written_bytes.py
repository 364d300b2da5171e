"""What a run writes into the folder of an index, by kind, found by looking at the folder."""

from pathlib import Path
from typing import TypeAlias

_STAGED = "staged"
_KINDS = ("annotations", "generations", "runs", "shards")
_OTHER = "other"
_Version: TypeAlias = tuple[int, int, int]


class WrittenBytes:
    """Looks at a folder before a run and after it, and at what it stages meanwhile.

    Args:
        folder: The index.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._before = _versions(folder)
        self._staged_bytes = 0

    def look(self) -> None:
        """Take note of the parts that are staged; they are complete until the commit."""
        versions = _versions(self._folder)
        staged = [size for path, (size, *_) in versions.items() if _STAGED in path.parts]
        self._staged_bytes = max(self._staged_bytes, sum(staged))

    def by_kind(self) -> dict[str, int]:
        """Return the bytes of all files that are new or others now, by their folder.

        ``staged`` are those of the parts, which are gone after the commit; ``all`` is the sum.
        """
        sizes = dict.fromkeys((*_KINDS, _OTHER), 0) | {_STAGED: self._staged_bytes}
        for path, version in _versions(self._folder).items():
            if self._before.get(path) != version:
                kind = path.parts[0]
                sizes[kind if kind in _KINDS else _OTHER] += version[0]
        return {**sizes, "all": sum(sizes.values())}


def _versions(folder: Path) -> dict[Path, _Version]:
    found: dict[Path, _Version] = {}
    for path in folder.rglob("*"):
        try:
            status = path.stat()
        except FileNotFoundError:  # a run is at work on the folder
            continue
        if not path.is_dir():
            version = (status.st_size, status.st_mtime_ns, status.st_ino)
            found[path.relative_to(folder)] = version
    return found
