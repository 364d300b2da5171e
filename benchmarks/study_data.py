"""Makes the folder that ``ablation_study.yaml`` reads, of corpora with questions.

Corpora and questions are copied. True names of manuals are read from their titles, and those of a
stitched file from its list of parts. A stitched file has no questions of its own: it gets those of
the manuals that it is made of, as far as their evidence lies in its parts.
"""

import argparse
import json
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.figures import say

_TITLE: Final = re.compile(r"# (.+) User Manual\n")
_SETS: Final = ("manuals", "passages", "stitched")


def main() -> None:
    """Make the folder."""
    args = _parser().parse_args()
    for name in _SETS:
        _copy(args.data / name, args.out / name)
    manuals, stitched = args.out / "manuals", args.out / "stitched"
    texts = {path.name: _text(path) for path in sorted((manuals / "corpus").iterdir())}
    _write(manuals / "names.json", [json.dumps(true_names(texts))])
    parts = _rows(stitched / "parts.jsonl")
    _write(stitched / "names.json", [json.dumps(part_names(parts))])
    whole = {path.name: _text(path) for path in (stitched / "corpus").iterdir()}
    questions = list(questions_of_parts(_rows(manuals / "queries.jsonl"), texts, whole, parts))
    _write(stitched / "queries.jsonl", [json.dumps(row, ensure_ascii=False) for row in questions])
    say(f"{len(texts)} manuals, {len(parts)} parts, {len(questions)} questions on them")


def true_names(texts: Mapping[str, str]) -> dict[str, str]:
    """Return what each manual's title says that it is about, by doc_id."""
    titles = {doc_id: _TITLE.match(text) for doc_id, text in texts.items()}
    return {doc_id: title.group(1) for doc_id, title in titles.items() if title}


def part_names(parts: Iterable[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the named parts of stitched files, by doc_id."""
    names: dict[str, list[dict[str, Any]]] = {}
    for part in parts:
        names.setdefault(part["doc_id"], []).append(
            {
                "char_start": part["char_start"],
                "char_end": part["char_end"],
                "name": part["model"],
            }
        )
    return names


def questions_of_parts(
    questions: Iterable[Mapping[str, Any]],
    manuals: Mapping[str, str],
    stitched: Mapping[str, str],
    parts: Iterable[Mapping[str, Any]],
) -> Iterable[dict[str, Any]]:
    """Yield the questions whose evidence lies in parts of a stitched file, with its offsets there.

    Evidence outside of the parts is left out. A part is the beginning of a manual, but for its
    first line.
    """
    places = {doc_id: place for part in parts for doc_id, place in _origin(part, manuals, stitched)}
    for question in questions:
        spans = [
            moved
            for span in question["relevant"]
            if span["doc_id"] in places
            for moved in _moved(span, places[span["doc_id"]])
        ]
        if spans:
            yield {**question, "relevant": spans}


def _origin(
    part: Mapping[str, Any], manuals: Mapping[str, str], stitched: Mapping[str, str]
) -> Iterable[tuple[str, dict[str, Any]]]:
    """Yield the manual that a part is of, and how offsets move."""
    text = stitched[part["doc_id"]][part["char_start"] : part["char_end"]]
    body = text[text.index("\n") :].rstrip()
    for doc_id, manual in manuals.items():
        start = manual.index("\n")
        if manual.startswith(body, start):
            shift = part["char_start"] + text.index("\n") - start
            yield doc_id, {"doc_id": part["doc_id"], "shift": shift, "end": start + len(body)}


def _moved(span: Mapping[str, Any], place: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    if span["char_end"] <= place["end"]:
        yield {
            "doc_id": place["doc_id"],
            "char_start": span["char_start"] + place["shift"],
            "char_end": span["char_end"] + place["shift"],
        }


def _copy(source: Path, target: Path) -> None:
    """Copy the files of a folder, whatever may be done with the originals."""
    for path in sorted(source.rglob("*")):
        if path.is_file():
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _text(path).split("\n") if line]


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder with manuals/, passages/ and stitched/")
    parser.add_argument("out", type=Path, help="folder to make")
    return parser


if __name__ == "__main__":
    main()
