"""What a run finds out before it does any work on documents."""

from dataclasses import dataclass, replace

from scp_ray.annotators.factory import annotator_revision
from scp_ray.chop.prefix import PREFIX_REVISION
from scp_ray.config import Settings, fingerprint
from scp_ray.corpus.formats import PARSER_REVISION
from scp_ray.corpus.inventory import list_inputs
from scp_ray.errors import QuarantineReason
from scp_ray.pipeline.describe_stage import describe_encoder
from scp_ray.pipeline.executor import Executor
from scp_ray.pipeline.parent_documents import published_documents
from scp_ray.pipeline.plan import CorpusPlan, PublishedDocument, Quarantined, plan_corpus
from scp_ray.pipeline.processing import take_inventory
from scp_ray.pipeline.report import Progress
from scp_ray.protocols import StoredObject
from scp_ray.storage.manifest import EncoderEntry
from scp_ray.storage.opening import open_existing, open_store
from scp_ray.storage.publish import IndexState, read_state


@dataclass(frozen=True, slots=True)
class IndexRequest:
    """What a run is asked for.

    Attributes:
        corpus: Address of the corpus.
        index: Address of the index.
        settings: Resolved settings.
        allow_removals: Publish even when most documents vanished from the corpus.
    """

    corpus: str
    index: str
    settings: Settings
    allow_removals: bool = False


@dataclass(frozen=True, slots=True)
class Preparation:
    """What a run knows before it does any work on documents.

    Attributes:
        state: The index as it was found.
        encoder: The encoder.
        fingerprint: Settings and revisions that shape the rows.
        published: Documents of the current generation.
        plan: The corpus against them.
    """

    state: IndexState
    encoder: EncoderEntry
    fingerprint: str
    published: dict[str, PublishedDocument]
    plan: CorpusPlan

    def previous_version(self, doc_id: str) -> PublishedDocument | None:
        """Return what the index keeps of a document that fails.

        None where there is nothing, or where its vectors are of another encoder.
        """
        manifest = self.state.manifest
        if manifest is None or manifest.encoder.revision != self.encoder.revision:
            return None
        return self.published.get(doc_id)


def prepare(request: IndexRequest, executor: Executor, progress: Progress) -> Preparation:
    """Look at encoder, index and corpus, and plan; changes nothing.

    Raises:
        ConfigError: If the settings do not fit the encoder, or the corpus is not there.
        DuplicateDocumentError: If two inputs claim one doc_id.
        IndexFormatError: If the index cannot be read by this version.
    """
    corpus = open_existing(request.corpus)
    settings = request.settings
    annotator = annotator_revision(settings)  # first, since it may refuse the settings
    index = open_store(request.index)
    state = read_state(index)
    progress(f"loading the encoder {settings.embedding.model}")
    encoder = describe_encoder(executor, settings)
    files, skipped = list_inputs(corpus)
    files, unnameable = _without_unnameable(files)
    progress(f"taking stock of {len(files)} files")
    inventory = take_inventory(executor, corpus.url, files, settings)
    shaping = (PARSER_REVISION, annotator, PREFIX_REVISION, encoder.revision)
    identity = fingerprint(settings, *shaping)
    published = published_documents(index, state.manifest)
    plan = plan_corpus(inventory, published, identity, settings.index.num_shards, corpus.url)
    plan = replace(
        plan,
        quarantined=[*plan.quarantined, *unnameable],
        skipped=[_printable(key) for key in skipped],
    )
    return Preparation(state, encoder, identity, published, plan)


def _without_unnameable(
    files: list[StoredObject],
) -> tuple[list[StoredObject], list[Quarantined]]:
    """Set aside files whose name is not Unicode: no table or report could hold it."""
    nameable: list[StoredObject] = []
    unnameable: list[Quarantined] = []
    for file in files:
        name = _printable(file.key)
        if name == file.key:
            nameable.append(file)
        else:
            detail = "its name is not valid UTF-8; rename it"
            unnameable.append(Quarantined(name, QuarantineReason.UNREADABLE, detail))
    return nameable, unnameable


def _printable(key: str) -> str:
    return key.encode("utf-8", "backslashreplace").decode()
