"""What operators see of the service: a real Ray node's metrics, a collector's spans, the logs."""

import asyncio
import json
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pyarrow.json
import pytest
from fastapi import FastAPI
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from ray import serve

from scp_ray.config import Settings
from scp_ray.errors import ShardUnavailableError
from scp_ray.pipeline.report import RunReport
from scp_ray.serve.access_log import RequestLog
from scp_ray.serve.audit_line import AUDIT_SCHEMA
from scp_ray.serve.audit_log import AuditLog
from scp_ray.serve.metrics import NoMetrics
from scp_ray.serve.models import DegradedModel, QueryRequest
from scp_ray.serve.query_encoding import encode_each
from scp_ray.serve.router import Observers, Reading, Router
from scp_ray.serve.searcher import LocalSearcher
from scp_ray.serve.tracing import span, start_tracing, stop_tracing

LATE_GROUP = DegradedModel(group="group-1", reason="deadline passed")
pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

ROOT = Path(__file__).parents[2]
DASHBOARD = ROOT / "deploy" / "grafana" / "scp_ray.json"
DOCUMENT = ROOT / "docs" / "observability.md"
FORGOTTEN_AFTER_S = 22.0  # two reports of Ray, and a little
SELECTOR = re.compile(r"\b(ray_\w+)\{([^}]*)\}")
ROW_OF_METRIC = re.compile(r"^\| `(ray_scp_ray_\w+)` \| (\w+) \|", re.MULTILINE)
PARENT = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")
WORDS = "which valve do I close first"


def _front() -> serve.Application:
    """Return an application that tells of itself what a service would, when it is asked."""

    class Front:
        def __serve_build_asgi_app__(self) -> Any:
            import asyncio

            from fastapi import FastAPI

            from scp_ray.serve.access_log import RequestLog, start_logging
            from scp_ray.serve.group_calls import Step
            from scp_ray.serve.metrics import ServeMetrics

            for _ in range(2):
                start_logging()
            metrics = ServeMetrics()
            api = FastAPI()

            @api.get("/tell/{number}")
            async def tell(number: int) -> int:
                metrics.call_done("group-1", Step.FIRST_PASS, 0.003, "ok")
                metrics.call_done("group-1", Step.FIRST_PASS, 0.3, "late")
                metrics.call_size("group-1", Step.FIRST_PASS, 2)
                metrics.hedged("group-1")
                metrics.answered(1.0, [LATE_GROUP], num_gap_drops=3, num_deepenings=2)
                metrics.answered(0.5, [], num_gap_drops=0, num_deepenings=0)
                metrics.in_flight(4)
                metrics.waiting("group-1", 5)
                metrics.serving(17)
                metrics.memory(2)
                metrics.reloaded("swapped")
                metrics.reloaded("failed")
                metrics.current(is_readable=False)
                metrics.audit_lost(6)
                return number

            @api.get("/slow")
            async def slow() -> None:
                await asyncio.sleep(60)

            return RequestLog(api, metrics, returns_id=False)

    deployment = serve.deployment(name="front", ray_actor_options={"num_cpus": 0.1})
    return deployment(serve.ingress()(Front)).bind()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def front(ray_cluster: None) -> Iterator[httpx.Client]:
    """A replica of a service on a real cluster."""
    port = _free_port()
    serve.start(http_options={"host": "127.0.0.1", "port": port})
    serve.run(_front(), name="observed", route_prefix="/")
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
        yield client
    serve.shutdown()


def _scrape() -> dict[str, Metric]:
    """Return what the node exports of scp_ray, as Prometheus reads it."""
    import ray

    (node,) = [node for node in ray.nodes() if node["Alive"]]
    address = f"http://{node['NodeManagerAddress']}:{node['MetricsExportPort']}/metrics"
    families = text_string_to_metric_families(httpx.get(address, timeout=10).text)
    return {family.name: family for family in families if family.name.startswith("ray_scp_ray_")}


def _value(metrics: dict[str, Metric], name: str, **labels: str) -> float:
    """Return a sample of the only replica that tells of an application ``observed``."""
    wanted = {"application": "observed", "deployment": "front", **labels}
    (value,) = (
        sample.value
        for family in metrics.values()
        for sample in family.samples
        if sample.name == f"ray_scp_ray_{name}" and wanted.items() <= sample.labels.items()
    )
    return value


def _wait_for(metrics_of: Callable[[], dict[str, Metric]], name: str) -> dict[str, Metric]:
    ends = time.monotonic() + 60
    while name not in (metrics := metrics_of()):
        assert time.monotonic() < ends, sorted(metrics)
        time.sleep(0.5)
    return metrics


def _lines_of(request_id: str) -> list[dict[str, Any]]:
    """Return the access log's lines of a request, wherever the cluster wrote them."""
    from ray._private.worker import _global_node

    logs = Path(_global_node.get_logs_dir_path())
    found = [
        line
        for path in logs.rglob("*.*")
        if path.suffix in {".err", ".out", ".log"}
        for line in path.read_text(errors="replace").splitlines()
        if f'"request_id": "{request_id}"' in line
    ]
    return [json.loads(line) for line in found]


def test_node_exports_what_the_service_tells(front: httpx.Client) -> None:
    reply = front.get("/tell/1", headers={"X-Request-Id": "request-1"})
    assert reply.headers.get_list("x-request-id") == ["request-1"]
    assert front.get("/tell/2").status_code == 200
    assert front.get("/nowhere/at/all").status_code == 404
    with pytest.raises(httpx.ReadTimeout, match="timed out"):
        front.get("/slow", timeout=0.5)
    told_at = time.monotonic()
    metrics = _wait_for(_scrape, "ray_scp_ray_requests")
    _check_values(metrics)
    _check_dashboard(metrics)
    _check_document(metrics)
    (line,) = _lines_of("request-1")
    assert (line["route"], line["status"]) == ("/tell/{number}", 200)
    time.sleep(max(0.0, told_at + FORGOTTEN_AFTER_S - time.monotonic()))
    later = _scrape()
    assert _value(later, "requests_total", route="/slow", status="499") == 1
    assert _value(later, "serving_generation") == 17
    assert _value(later, "waiting", group="group-1") == 5
    assert _value(later, "gap_drops_total") == 6


def _check_values(metrics: dict[str, Metric]) -> None:
    step = {"group": "group-1", "step": "first_pass"}
    assert _value(metrics, "requests_total", route="/tell/{number}", status="200") == 2
    assert _value(metrics, "requests_total", route="unmatched", status="404") == 1
    assert _value(metrics, "request_seconds_count", route="/tell/{number}") == 2
    assert _value(metrics, "call_seconds_count", outcome="ok", **step) == 2
    assert _value(metrics, "call_seconds_bucket", outcome="ok", le="0.002", **step) == 0
    assert _value(metrics, "call_seconds_bucket", outcome="ok", le="0.005", **step) == 2
    assert _value(metrics, "call_seconds_bucket", outcome="late", le="0.25", **step) == 0
    assert _value(metrics, "call_questions_sum", **step) == 4
    assert _value(metrics, "call_questions_count", **step) == 2
    assert _value(metrics, "hedged_calls_total", group="group-1") == 2
    assert _value(metrics, "coverage_count") == 4
    assert _value(metrics, "coverage_bucket", le="0.999") == 2
    assert _value(metrics, "degraded_total", kind="late") == 2
    assert _value(metrics, "gap_drops_total") == 6
    assert _value(metrics, "deeper_searches_total") == 4
    assert _value(metrics, "in_flight") == 4
    assert _value(metrics, "waiting", group="group-1") == 5
    assert _value(metrics, "serving_generation") == 17
    assert _value(metrics, "open_generations") == 2
    assert _value(metrics, "reloads_total", result="swapped") == 2
    assert _value(metrics, "reloads_total", result="failed") == 2
    assert _value(metrics, "reload_failed") == 1
    assert _value(metrics, "current_unreadable") == 1
    assert _value(metrics, "audit_lost_total") == 12


def _queries(node: object) -> Iterator[str]:
    """Yield every query of a dashboard, wherever it is."""
    if isinstance(node, list):
        for item in node:
            yield from _queries(item)
    elif isinstance(node, dict):
        for key, item in node.items():
            if key in {"expr", "definition"} and isinstance(item, str):
                yield item
            else:
                yield from _queries(item)


def _check_dashboard(metrics: dict[str, Metric]) -> None:
    """Every metric, label and bucket that the dashboard asks for is exported, and all are shown."""
    exported: dict[str, list[dict[str, str]]] = {}
    for family in metrics.values():
        for sample in family.samples:
            exported.setdefault(sample.name, []).append(sample.labels)
    shown = set()
    for query in _queries(json.loads(DASHBOARD.read_text())):
        names = set(re.findall(r"\bray_\w+", query))
        assert names <= set(exported), query
        shown |= names
        selected = {label for name in names for labels in exported[name] for label in labels}
        for _, matchers in SELECTOR.findall(query):
            assert set(re.findall(r"(\w+)(?:=~|!=|=)", matchers)) <= selected, query
            for bound in re.findall(r'le="([^"]+)"', matchers):
                assert bound in {labels.get("le") for name in names for labels in exported[name]}
        for grouped in re.findall(r"\bby \(([^)]*)\)", query):
            assert {label.strip() for label in grouped.split(",")} <= selected, query
    shown_families = {
        family
        for family in metrics
        if any(name == family or name.startswith(f"{family}_") for name in shown)
    }
    assert shown_families == set(metrics)


def _check_document(metrics: dict[str, Metric]) -> None:
    """Every metric has its row in the document, with the name that Prometheus sees."""
    rows = dict(
        re.findall(r"^\| `(ray_scp_ray_\w+)` \| (\w+) \|", DOCUMENT.read_text(), re.MULTILINE)
    )
    suffix = {"counter": "_total"}
    assert rows == {
        family.name + suffix.get(family.type, ""): family.type for family in metrics.values()
    }


def test_panels_of_the_dashboard_lie_beside_each_other() -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (place["x"] + column, place["y"] + line)
            for column in range(place["w"])
            for line in range(place["h"])
        }
        assert not taken & cells, panel["title"]
        taken |= cells
    rows = [panel["title"] for panel in panels if panel["type"] == "row"]
    assert len(rows) == 7
    assert all(panel["targets"] for panel in panels if panel["type"] != "row")


class Collector:
    """Receives spans over OTLP/HTTP; what it has received is in ``spans``."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.services: set[str] = set()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.receive(self.path, body)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_args: object) -> None:
                return None

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"

    def receive(self, path: str, body: bytes) -> None:
        assert path == "/v1/traces"
        for resource_spans in ExportTraceServiceRequest.FromString(body).resource_spans:
            for attribute in resource_spans.resource.attributes:
                if attribute.key == "service.name":
                    self.services.add(attribute.value.string_value)
            for scope_spans in resource_spans.scope_spans:
                self.spans += scope_spans.spans

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    running = Collector()
    yield running
    stop_tracing()
    running.close()


def _traced_api() -> RequestLog:
    api = FastAPI()

    @api.get("/v1/query")
    async def query() -> int:
        with span("encode"):
            pass

        async def first_pass(group: str) -> None:
            with span("first pass", group=group, generation=17):
                await asyncio.sleep(0.002)

        await asyncio.gather(first_pass("group-0"), first_pass("group-1"))
        with span("second pass", group="group-0", generation=17):
            await asyncio.to_thread(_fetch)
        return 1

    @api.get("/broken")
    async def broken() -> None:
        with span("second pass"):
            raise ShardUnavailableError(WORDS)

    return RequestLog(api, NoMetrics())


def _fetch() -> None:
    with span("fetch"):
        pass


async def _get(app: RequestLog, path: str, headers: dict[str, str]) -> None:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
        await client.get(f"{path}?q={WORDS}", headers=headers)


def _attributes(one: Span) -> dict[str, str | int]:
    return {
        attribute.key: attribute.value.string_value or attribute.value.int_value
        for attribute in one.attributes
    }


def test_collector_receives_the_steps_of_a_request(collector: Collector) -> None:
    start_tracing(collector.endpoint)
    trace_id, parent_id = PARENT
    headers = {"Traceparent": f"00-{trace_id}-{parent_id}-01", "X-Request-Id": "request-1"}
    asyncio.run(_get(_traced_api(), "/v1/query", headers))
    stop_tracing()
    assert collector.services == {"scp-ray"}
    assert {one.trace_id.hex() for one in collector.spans} == {trace_id}
    (request,) = (one for one in collector.spans if one.name == "request")
    assert request.parent_span_id.hex() == parent_id
    assert request.kind == Span.SPAN_KIND_SERVER
    assert _attributes(request) == {
        "http.request.method": "GET",
        "http.route": "/v1/query",
        "http.response.status_code": 200,
        "scp_ray.request_id": "request-1",
    }
    names = {one.span_id: one.name for one in collector.spans}
    steps = [one for one in collector.spans if one is not request]
    assert sorted((one.name, names[one.parent_span_id]) for one in steps) == [
        ("encode", "request"),
        ("fetch", "second pass"),
        ("first pass", "request"),
        ("first pass", "request"),
        ("second pass", "request"),
    ]
    groups = {_attributes(one).get("scp_ray.group") for one in steps if one.name == "first pass"}
    assert groups == {"group-0", "group-1"}
    assert all(
        one.end_time_unix_nano - one.start_time_unix_nano >= 2e6
        for one in steps
        if one.name == "first pass"
    )


def test_spans_say_what_failed_and_no_words(collector: Collector) -> None:
    start_tracing(collector.endpoint)
    asyncio.run(_get(_traced_api(), "/broken", {"traceparent": "00-of no form-01"}))
    stop_tracing()
    told = {one.name: (one.status.code, _attributes(one)["error.type"]) for one in collector.spans}
    failed = Status.STATUS_CODE_ERROR
    assert told == {
        "second pass": (failed, "ShardUnavailableError"),
        "request": (failed, "500"),
    }
    assert all(WORDS.split()[1] not in str(one) for one in collector.spans)


def test_caller_that_does_not_sample_is_not_traced(collector: Collector) -> None:
    start_tracing(collector.endpoint)
    trace_id, parent_id = PARENT
    headers = {"traceparent": f"00-{trace_id}-{parent_id}-00"}
    asyncio.run(_get(_traced_api(), "/v1/query", headers))
    stop_tracing()
    assert collector.spans == []


def test_collector_that_is_not_there_costs_no_request() -> None:
    start_tracing(f"http://127.0.0.1:{_free_port()}")
    app, started = _traced_api(), time.perf_counter()
    for _ in range(20):
        asyncio.run(_get(app, "/v1/query", {}))
    assert time.perf_counter() - started < 5.0
    stop_tracing()
    assert time.perf_counter() - started < 10.0


Run = Callable[..., RunReport]


def _router(run: Run, tmp_path: Path, settings: Settings, audit_log: AuditLog) -> Router:
    """Return what answers questions over a real index of one group, and writes each down."""
    run()
    one = LocalSearcher.open(str(tmp_path / "index"), settings)
    group = one._group

    class Client:
        name = "group-0"
        shard_ids = group.shard_ids

        def __getattr__(self, step: str) -> Any:
            async def call(*arguments: Any) -> Any:
                return getattr(group, step)(*arguments)

            return call

    async def encode(text: str) -> Any:
        return encode_each(one._encoder, [text])[0]

    observers = Observers(NoMetrics(), audit_log)
    return Router(one.manifest, [Client()], Reading(encode, one._reader), settings, None, observers)


def _audited(folder: Path) -> list[dict[str, Any]]:
    options = pyarrow.json.ParseOptions(
        explicit_schema=AUDIT_SCHEMA, unexpected_field_behavior="error"
    )
    tables = [pyarrow.json.read_json(path, parse_options=options) for path in folder.iterdir()]
    return [row for table in tables for row in table.to_pylist()]


def test_audit_log_says_what_replies_were_made_of(
    run: Run, tmp_path: Path, small_settings: Callable[..., Settings]
) -> None:
    log = AuditLog(str(tmp_path / "audit"), with_text=True)
    router = _router(run, tmp_path, small_settings(), log)
    requests = [
        QueryRequest(query=WORDS, explain=True),
        QueryRequest(query="pump", explain=True, top_k=50, filter={"doc_id": "manual_004.md"}),
        QueryRequest(embedding=[1.0] * 32, explain=True, min_index_gap=4),
    ]
    replies = [asyncio.run(router.answer(request)) for request in requests]
    log.close()
    rows = _audited(tmp_path / "audit")
    assert [row["query"] for row in rows] == [WORDS, "pump", None]
    assert [row["filter"] for row in rows] == [None, '{"doc_id": "manual_004.md"}', None]
    for row, reply in zip(rows, replies, strict=True):
        assert reply.audit is not None
        assert row["generation"] == reply.generation
        results = [result.model_dump() for result in reply.results]
        assert row["results"] == [
            {name: result[name] for name in kept}
            for result, kept in zip(results, row["results"], strict=True)
        ]
        decisions = [one.model_dump(mode="json") for one in reply.audit.decisions]
        assert [{**one, "kept": one["reason"] == "kept"} for one in row["decisions"]] == [
            {**one, "score": candidate.score}
            for one, candidate in zip(decisions, reply.audit.second_pass, strict=True)
        ]
        assert row["shards_ok"] == [0, 1, 2]
        assert {one["step"]: one["ms"] for one in row["timings_ms"]} == reply.timings_ms


def test_folder_that_vanishes_costs_lines_and_no_answer(
    run: Run, tmp_path: Path, small_settings: Callable[..., Settings], caplog: Any
) -> None:
    folder = tmp_path / "audit"
    log = AuditLog(str(folder), with_text=True)
    router = _router(run, tmp_path, small_settings(), log)

    def ask(number: int) -> None:
        assert asyncio.run(router.answer(QueryRequest(query=f"pump {number}"))).results

    ask(0)
    _wait_until(lambda: any(path.stat().st_size for path in folder.iterdir()))
    shutil.rmtree(folder)
    for number in range(1, 4):
        ask(number)
    _wait_until(lambda: log.num_lost == 3)
    folder.mkdir()
    ask(4)
    log.close()
    assert [row["query"] for row in _audited(folder)] == ["pump 4"]
    told = [record.getMessage() for record in caplog.records if record.name == "scp_ray.audit"]
    assert 1 <= len(told) <= 2
    assert "answers are missing in the audit log" in told[0]


def _wait_until(is_true: Callable[[], bool]) -> None:
    ends = time.monotonic() + 20
    while not is_true():
        assert time.monotonic() < ends
        time.sleep(0.01)


FULL_DISK = """
import resource, sys, time
from pathlib import Path
from scp_ray.records import ContextRule, QueryParams, Selection
from scp_ray.retrieval.two_pass import QueryOutcome
from scp_ray.serve.audit_log import AuditLog
from scp_ray.serve.models import DegradedModel, QueryRequest
from scp_ray.serve.query_plan import QueryPlan
from scp_ray.serve.reply import Findings

plan = QueryPlan(QueryParams(5, 2, 0.02, 0.5, 20, 0.05, 0.2), 0, ContextRule.MERGE, 20, 0)
outcome = QueryOutcome([], None, False, Selection((), exhausted=True))
log = AuditLog(sys.argv[1], with_text=True)

def ask(numbers):
    slowest = 0.0
    for number in numbers:
        started = time.perf_counter()
        findings = Findings(plan, None, outcome, [], None, frozenset({0}), [], {})
        log.record(QueryRequest(query=f"{number:06d}" + "x" * 1000), 1, findings)
        slowest = max(slowest, time.perf_counter() - started)
        time.sleep(0.001)
    return slowest

resource.setrlimit(resource.RLIMIT_FSIZE, (50_500, resource.RLIM_INFINITY))
slowest = ask(range(200))
while not log.num_lost:
    time.sleep(0.01)
time.sleep(0.2)
lost = log.num_lost
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
ask(range(200, 210))
log.close()
print(lost, log.num_lost, slowest)
"""


def test_full_disk_loses_whole_lines_and_is_written_again_when_there_is_room(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
        cwd=ROOT,
    )
    lost, lost_at_end, slowest = (float(word) for word in done.stdout.split())
    rows = _audited(tmp_path)
    numbers = [int(row["query"][:6]) for row in rows]
    assert lost == lost_at_end > 0
    assert len(numbers) == 210 - lost
    assert numbers == sorted(set(numbers))
    assert numbers[-10:] == list(range(200, 210))
    assert slowest < 0.5
    assert "File too large" in done.stderr
    assert done.stderr.count("answers are missing") <= 2
