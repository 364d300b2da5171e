"""The run report: what a run did, for people and for the scheduler that started it."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from scp_ray.pipeline.plan import CorpusPlan, DocumentState, Quarantined
from scp_ray.protocols import ObjectStore
from scp_ray.storage.keys import report_key

Progress: TypeAlias = Callable[[str], None]


class RunStatus(StrEnum):
    """How a run ended."""

    DONE = "done"
    PARTIAL = "partial"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass
class RunReport:
    """What one run did; written to ``runs/<run id>/report.json``.

    Attributes:
        run_id: The run.
        corpus: Address of the corpus.
        index: Address of the index.
        status: How it ended.
        error: The sentence that ended it, or None.
        generation: The generation that is current after it, or None.
        published: Whether it published that generation itself.
        settings_hash: SHA-256 of its settings.
        documents: Documents by state, and how many the generation holds.
        chunks: Chunks embedded, staged by an earlier run, reused, and published.
        annotation: What annotation took (see ``AnnotationUsage``), spans of the documents done,
            and prefixes that had to be shortened.
        annotation_rates: ``continuity``, the share of neighbouring chunks that share a span, and
            ``prefix_cache``, the share of the prompt tokens that engines had in their prefix
            cache; only where there were any.
        active_documents: Documents in each engine over time (see ``ActiveDocuments``).
        shards: Shards built, and referenced as they were.
        tokens_embedded: Tokens of the chunks embedded.
        quarantined: Documents that were set aside.
        skipped_files: Files of kinds that are not read.
        seconds: Wall time of each phase of the run.
        worker_seconds: Time of each stage, summed over the workers.
    """

    run_id: str
    corpus: str
    index: str
    status: RunStatus = RunStatus.FAILED
    error: str | None = None
    generation: int | None = None
    published: bool = False
    settings_hash: str = ""
    documents: dict[str, int] = field(default_factory=dict)
    chunks: dict[str, int] = field(default_factory=dict)
    annotation: dict[str, int] = field(default_factory=dict)
    annotation_rates: dict[str, float] = field(default_factory=dict)
    active_documents: dict[str, Any] = field(default_factory=dict)
    shards: dict[str, int] = field(default_factory=dict)
    tokens_embedded: int = 0
    quarantined: list[Quarantined] = field(default_factory=list)
    skipped_files: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    worker_seconds: dict[str, float] = field(default_factory=dict)

    def count_plan(self, plan: CorpusPlan) -> None:
        """Take over the counts of a plan."""
        self.documents = {str(state): plan.count(state) for state in DocumentState}
        self.quarantined = list(plan.quarantined)
        self.skipped_files = plan.skipped

    def to_json(self) -> str:
        """Return the report as it is stored."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False)

    def save(self, store: ObjectStore) -> None:
        """Write the report under its run."""
        store.write(report_key(self.run_id), (self.to_json() + "\n").encode())
