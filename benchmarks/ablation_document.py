"""Writes the results of the ablation study into ``docs/ablations.md``, and its JSON beside it."""

import argparse
from pathlib import Path
from typing import Final

from benchmarks.figures import ROOT, say

MARKER: Final = "<!-- results -->\n"
_DOCUMENT: Final = ROOT / "docs" / "ablations.md"


def main() -> None:
    """Write both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, help="results of scp-ray ablate")
    args = parser.parse_args()
    results = (args.out / "ablation.md").read_text(encoding="utf-8")
    text = with_results(_DOCUMENT.read_text(encoding="utf-8"), results)
    _DOCUMENT.write_text(text, encoding="utf-8")
    figures = _DOCUMENT.with_suffix(".json")
    figures.write_bytes((args.out / "ablation.json").read_bytes())
    say(f"written: {_DOCUMENT.name} and {figures.name}")


def with_results(document: str, results: str) -> str:
    """Return a document with other results after its marker, their headings one level deeper.

    Raises:
        ValueError: If the document has no marker.
    """
    head, marker, _ = document.partition(MARKER)
    if not marker:
        message = f"the document has no line {MARKER.strip()!r}"
        raise ValueError(message)
    _, _, body = results.partition("\n")  # its title is the document's
    deeper = [f"#{line}" if line.startswith("## ") else line for line in body.split("\n")]
    return head + marker + "\n".join(deeper)


if __name__ == "__main__":
    main()
