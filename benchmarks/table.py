"""Print the results as a Markdown table, or put it into a file between its two markers."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.figures import RESULTS, Result, say
from benchmarks.thresholds import THRESHOLDS, Verdict, judge, read_results, read_thresholds

BEGIN = "<!-- benchmarks -->"
END = "<!-- /benchmarks -->"


def main(argv: Sequence[str] | None = None) -> int:
    """Print or write the table and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, metavar="FILE", help="replace the table in FILE")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of result files")
    parser.add_argument("--thresholds", type=Path, default=THRESHOLDS, help="TOML file of limits")
    args = parser.parse_args(argv)
    thresholds = read_thresholds(args.thresholds)
    results = read_results(thresholds, args.results)
    table = render(judge(thresholds, results), results)
    if args.write is None:
        say(table)
        return 0
    text = args.write.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text.partition(BEGIN)[2]:
        sys.stderr.write(f"{args.write}: no lines {BEGIN} and {END}\n")
        return 1
    args.write.write_text(replaced(text, table), encoding="utf-8")
    return 0


def render(verdicts: Sequence[Verdict], results: Mapping[str, Result]) -> str:
    """Return the table of figures, and a line for each result on where it was measured."""
    lines = ["| Figure | Measured | Required |", "|---|---|---|"]
    for verdict in verdicts:
        row = verdict.threshold
        lines.append(f"| {row.title} | {verdict.text} | {row.requirement} |")
    lines.append("")
    lines += [f"- {_origin(name, result.environment)}" for name, result in sorted(results.items())]
    return "\n".join(lines)


def replaced(text: str, table: str) -> str:
    """Return ``text`` with the lines between its two markers replaced by a table."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{table}\n{END}{tail}"


def _origin(name: str, environment: Mapping[str, Any]) -> str:
    versions = environment["versions"]
    packages = ", ".join(
        f"{package} {versions[package]}" for package in ("torch", "faiss-cpu", "ray")
    )
    commit = str(environment["commit"])[:10] + ("+" if environment["uncommitted_changes"] else "")
    return (
        f"`{name}`: {environment['date'][:10]}, commit {commit}, {environment['cores']} cores of "
        f"{environment['cpu']}, {environment['memory_gib']:g} GiB, "
        f"{environment['gpu'] or 'no GPU'}; {packages}; data {environment['data']['name']}"
    )


if __name__ == "__main__":
    sys.exit(main())
