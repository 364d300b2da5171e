"""The service, its floor, and other vector databases behind an endpoint, by turns under load."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.figures import ROOT, rounded, say, spread
from benchmarks.serve_asking import Asker, ids_of, recall
from benchmarks.serve_bench import CLIENTS, DEFAULT, VECTORS, Bench, Measured, checked, summed_up
from benchmarks.serve_floor import encoder_threads, floor_in_process
from benchmarks.serve_process import serving
from benchmarks.serve_service import service
from scp_ray.embedding.model_folder import find_model_folder

RIVALS = ("chroma", "lancedb", "milvus")
GATHERED = "_gathered"
FLOOR, OURS, OURS_VECTORS = "floor", "ours", "ours_vectors"
PACKAGES = ("chromadb", "lancedb", "pymilvus", "milvus-lite", "torch", "sentence-transformers")
MANY_CLIENTS = tuple(number for number in CLIENTS if number > 1)  # those of the goals
_RATIO, _EXTRA_MS = 1.3, 5.0  # the goal of the p50 over the floor's
_REPLY_BYTES = 10_000
_CEILING = "ceiling"
_RESULTS = '"results":[{'
_COSINE_ALONE = {**VECTORS, "min_index_gap": 1, "position_weight": 0.0}

Round = dict[str, dict[str, Measured]]  # by system and number of clients


@dataclass
class Rivals:
    """The other services, in an environment of their own.

    Attributes:
        python: Its interpreter.
        bench: How everything is measured.
        least_recall: Recall@10 that each is set to reach.
        found: What each is set to, by its name, and the recall that it has so.
    """

    python: Path
    bench: Bench
    least_recall: float = 1.0
    found: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def versions(self) -> dict[str, str]:
        """Return the versions of the packages there."""
        code = (
            "import importlib.metadata as m, json; "
            f"print(json.dumps({{name: m.version(name) for name in {PACKAGES}}}))"
        )
        versions: dict[str, str] = json.loads(self._run(["-c", code]))
        return versions

    def fill(self) -> None:
        """Make the databases that are not there."""
        for name in RIVALS:
            say(f"filling {name}")
            self._run(["-m", _module(name), *map(str, self._arguments(name)), "--fill"])

    def measure(self, name: str, *, gather: bool) -> Round:
        """Start one, offer each load, and end it."""
        options = ["--recall", str(self.least_recall), *(["--gather"] if gather else [])]
        arguments = [*self._arguments(name), *options]
        title = name + GATHERED * gather
        with serving(self.python, _module(name), arguments) as served:
            self.found[name] = served.state
            loads = MANY_CLIENTS if gather else CLIENTS
            return {
                title: {
                    str(n): self.bench.load_other(title, served.port, n, _RESULTS) for n in loads
                }
            }

    def _arguments(self, name: str) -> list[str | Path]:
        corpus, settings = self.bench.corpus, self.bench.settings
        model = find_model_folder(settings.embedding.model)
        threads = str(encoder_threads(settings))
        store = corpus.folder / "stores" / name
        return [corpus.plain, store, model, "--threads", threads]

    def _run(self, arguments: Sequence[str]) -> str:
        done = subprocess.run(  # noqa: S603 - the user names the interpreter
            [self.python, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            message = f"{self.python} {' '.join(arguments[:2])}: {done.stderr[-2000:]}"
            raise RuntimeError(message)
        return done.stdout


def measure_load(bench: Bench, python: Path) -> dict[str, Any]:
    """Measure every system once a round, and sum up.

    Args:
        bench: How.
        python: Interpreter of the environment with the other services.
    """
    rivals = Rivals(python, bench)
    rivals.fill()
    found = _recalls(bench)
    rivals.least_recall = found["ours_cosine_alone"]
    systems: list[Callable[[], Round]] = [
        partial(_ceiling, bench),
        partial(_floor, bench),
        partial(_ours, bench),
        *(partial(rivals.measure, name, gather=False) for name in RIVALS),
        *(partial(rivals.measure, name, gather=True) for name in RIVALS),
    ]
    rounds: list[Round] = []
    for number in range(bench.rounds):
        say(f"round {number + 1} of {bench.rounds}")
        measured: Round = {}
        for place in range(len(systems)):  # each is the first of a round some time
            measured |= systems[(place + number) % len(systems)]()
        rounds.append(measured)
    return {
        "recall": found | {name: rounded(state["recall"]) for name, state in rivals.found.items()},
        "search_settings": {name: state["setting"] for name, state in rivals.found.items()},
        "versions": rivals.versions(),
        **compared(rounds),
        "systems": summed_up(rounds),
    }


def compared(rounds: Sequence[Round]) -> dict[str, Any]:
    """Return what the goals are about; each ratio is of one round's figures.

    ``of_p50_goal`` is our p50 as a share of 1.3 times the floor's and 5 ms more, ``ahead`` our
    requests/s against another service's.
    """
    rivals = [name for name in rounds[0] if name.removesuffix(GATHERED) in RIVALS]
    goals = [str(number) for number in MANY_CLIENTS]

    def ahead(ours: str, rival: str, clients: str) -> dict[str, float]:
        return spread(
            [
                one[ours][clients]["requests_per_s"] / one[rival][clients]["requests_per_s"]
                for one in rounds
            ]
        )

    return {
        "of_p50_goal": {
            ours: spread([_of_goal(one, ours) for one in rounds]) for ours in (OURS, OURS_VECTORS)
        },
        "ahead": {
            ours: {rival: {n: ahead(ours, rival, n) for n in goals} for rival in rivals}
            for ours in (OURS, OURS_VECTORS)
        },
    }


def _of_goal(measured: Round, ours: str) -> float:
    goal = _RATIO * measured[FLOOR]["1"]["p50_ms"] + _EXTRA_MS
    return measured[ours]["1"]["p50_ms"] / goal


def _ceiling(bench: Bench) -> Round:
    with serving(sys.executable, "benchmarks.serve_trivial", [str(_REPLY_BYTES)]) as served:
        return {_CEILING: {str(n): bench.load_other(_CEILING, served.port, n, "") for n in CLIENTS}}


def _floor(bench: Bench) -> Round:
    specs = [bench.spec(0, n) for n in CLIENTS]
    reports = floor_in_process(bench.corpus.index, bench.settings, specs)
    pairs = zip(CLIENTS, reports, strict=True)
    return {FLOOR: {str(n): checked(FLOOR, n, report) for n, report in pairs}}


def _ours(bench: Bench) -> Round:
    with service(bench.corpus.index, bench.serve_settings(num_groups=1)) as served:
        return {
            name: {str(n): bench.load(name, served.port, n, body) for n in CLIENTS}
            for name, body in ((OURS, DEFAULT), (OURS_VECTORS, VECTORS))
        }


def _recalls(bench: Bench) -> dict[str, float]:
    """Return our recall@10: by cosine alone against all vectors, and as it answers by default."""
    settings = bench.serve_settings(num_groups=1)
    with service(bench.corpus.index, settings) as served, Asker(served.port) as asker:

        def answers(body: Mapping[str, Any]) -> list[list[str]]:
            questions = bench.corpus.questions
            return [ids_of(asker.ask({"query": question, **body})) for question in questions]

        exact = [set(ids) for ids in answers({**DEFAULT, "exact": True})]
        found = {
            "ours_cosine_alone": recall(answers(_COSINE_ALONE), bench.corpus.exact_hits()),
            "ours": recall(answers(DEFAULT), exact),
        }
    say(f"recall@10: {found}")
    return found


def _module(name: str) -> str:
    return f"benchmarks.serve_{name}"
