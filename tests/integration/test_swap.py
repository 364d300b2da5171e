"""New generations under a service that clients are asking: nobody notices."""

import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from benchmarks.bench_swap import questions
from benchmarks.serve_memory import replica_pids
from benchmarks.serve_service import service
from benchmarks.swapping import Editions, swap_under_load
from scp_ray.config import load_settings
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.run import index_corpus
from scp_ray.storage.local import LocalObjectStore
from scp_ray.storage.publish import load_current

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

NUM_DOCUMENTS = 30
DAMAGED = [False, False, True, False, False, True, False, False, False, False]


@pytest.mark.parametrize("topology", [["num_groups=1"], ["num_groups=2", "num_encoders=1"]])
def test_no_request_fails_while_generations_come_and_go(
    tmp_path: Path, topology: list[str], record_property: Callable[[str, object], None]
) -> None:
    serving = ["poll_s=3600", "cpus_per_replica=0.2", *topology]
    settings = load_settings(
        None, ["embedding.model=hash://32", *(f"serve.{one}" for one in serving)], {}
    )
    editions = Editions(tmp_path, NUM_DOCUMENTS, settings)
    editions.publish()
    with service(editions.index, settings) as served:
        outcome = swap_under_load(
            f"http://127.0.0.1:{served.port}",
            editions,
            num_clients=32,
            seconds=20,
            damaged=DAMAGED,
            questions=questions(NUM_DOCUMENTS),
        )
        mapped = mapped_shards(served.pid, editions.index)
    record_property("requests", len(outcome.asked))
    assert outcome.faults == []
    assert {one.generation for one in outcome.asked} >= {1, editions.newest}
    assert [swap.is_damaged for swap in outcome.swaps] == DAMAGED
    assert len(outcome.asked) > 500
    newest = load_current(LocalObjectStore(editions.index))
    assert mapped == {editions.index / entry.folder for entry in newest.shards if entry.folder}


def test_a_deleted_document_is_in_no_reply_after_the_swap(tmp_path: Path) -> None:
    settings = load_settings(
        None, ["embedding.model=hash://32", "serve.poll_s=0.2", "serve.cpus_per_replica=0.2"], {}
    )
    editions = Editions(tmp_path, 8, settings)
    editions.publish()
    (gone, *_) = sorted(path.name for path in editions.corpus.iterdir())
    with (
        service(editions.index, settings) as served,
        httpx.Client(base_url=f"http://127.0.0.1:{served.port}", timeout=30) as client,
    ):
        body = {"query": f"{gone} Orbis", "top_k": 1000, "min_index_gap": 1, "exact": True}
        assert gone in _documents(client, body)
        (editions.corpus / gone).unlink()
        request = IndexRequest(str(editions.corpus), str(editions.index), settings)
        index_corpus(request, InProcessExecutor(), lambda _line: None)
        ends = time.monotonic() + 60
        while client.get("/v1/index").json()["generation"] == 1 and time.monotonic() < ends:
            assert gone in _documents(client, body) or _generation(client) == 2
            time.sleep(0.1)
        assert _generation(client) == 2
        for more in ({}, {"filter": {"doc_id": gone}}, {"max_context_tokens": 2000}):
            assert gone not in _documents(client, {**body, **more})


def _documents(client: httpx.Client, body: dict[str, object]) -> set[str]:
    reply = client.post("/v1/query", json=body).raise_for_status().json()
    passages = (reply["context"] or {"passages": []})["passages"]
    return {hit["doc_id"] for hit in [*reply["results"], *passages]}


def _generation(client: httpx.Client) -> int:
    return int(client.get("/v1/index").json()["generation"])


def mapped_shards(service: int, index: Path) -> set[Path]:
    """Folders of shards that processes of the service have files of in their memory."""
    return {
        path.resolve().parent
        for pids in replica_pids(service).values()
        for pid in pids
        for path in Path(f"/proc/{pid}/map_files").iterdir()
        if path.resolve().is_relative_to(index / "shards")
    }
