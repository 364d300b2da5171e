"""Check the results against ``thresholds.toml``; exit code 1 when a figure misses its limit."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.figures import RESULTS, say
from benchmarks.thresholds import THRESHOLDS, Verdict, judge, read_results, read_thresholds


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table of limits and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of result files")
    parser.add_argument("--thresholds", type=Path, default=THRESHOLDS, help="TOML file of limits")
    args = parser.parse_args(argv)
    thresholds = [row for row in read_thresholds(args.thresholds) if row.requirement]
    verdicts = judge(thresholds, read_results(thresholds, args.results))
    for verdict in verdicts:
        say(_line(verdict))
    return 0 if all(verdict.is_met for verdict in verdicts) else 1


def _line(verdict: Verdict) -> str:
    row = verdict.threshold
    state = "ok    " if verdict.is_met else "MISSED"
    return f"{state}  {row.result}.{row.path}: {verdict.text}, {row.requirement}"


if __name__ == "__main__":
    sys.exit(main())
