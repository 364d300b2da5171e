"""The groups of settings, one frozen pydantic model each; ``config`` puts them into one tree."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from scp_ray.records import ContextRule, PriorScope, Stemmer

Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
PositiveInt = Annotated[int, Field(ge=1)]


class AnnotatorName(StrEnum):
    """Which annotator writes the CNMs."""

    NONE = "none"
    HEURISTIC = "heuristic"
    VLLM = "vllm"
    OPENAI = "openai"

    @property
    def needs_llm(self) -> bool:
        """Whether a language model writes the signatures."""
        return self in {AnnotatorName.VLLM, AnnotatorName.OPENAI}


class Dtype(StrEnum):
    """Number format of the encoder's weights and activations; vectors are float32 always."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"


class SearchMode(StrEnum):
    """How a shard finds its nearest vectors."""

    HNSW = "hnsw"
    EXACT = "exact"


class Section(BaseModel):
    """A group of settings: frozen, no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class CorpusConfig(Section):
    """Reading and parsing.

    Attributes:
        max_document_bytes: Larger inputs, and larger texts, are quarantined as oversized.
    """

    max_document_bytes: PositiveInt = 512 * 1024 * 1024


class ChunkingConfig(Section):
    """Token windows, in tokens of the encoder.

    Attributes:
        chunk_size_tokens: Tokens of a window.
        overlap_tokens: Tokens that two neighbouring windows share.
        prefix_budget_tokens: Most tokens that the CNM prefix may add to a chunk.
    """

    chunk_size_tokens: Annotated[int, Field(ge=8)] = 200
    overlap_tokens: Annotated[int, Field(ge=0)] = 50
    prefix_budget_tokens: Annotated[int, Field(ge=0)] = 40

    @model_validator(mode="after")
    def _overlap_is_shorter(self) -> Self:
        if self.overlap_tokens >= self.chunk_size_tokens:
            message = (
                f"chunking.overlap_tokens ({self.overlap_tokens}) must be less than "
                f"chunking.chunk_size_tokens ({self.chunk_size_tokens})"
            )
            raise ValueError(message)
        return self


class ChopConfig(Section):
    """CHOP annotation.

    Attributes:
        annotator: ``heuristic`` (deterministic, no model), ``none`` (no prefix), ``vllm`` (a
            language model in this cluster) or ``openai`` (one behind an OpenAI-compatible API).
        document_fallback: Whether a field that a span leaves missing is taken from the
            document's own signature, the one of its first span.
    """

    annotator: AnnotatorName = AnnotatorName.HEURISTIC
    document_fallback: bool = True


class LlmConfig(Section):
    """The language model of the annotators ``vllm`` and ``openai``.

    Attributes:
        model: Its name, or the folder of a model for ``vllm``.
        revision: Its revision; change it when another model goes by the same name.
        lookahead: Continuity decisions of a document that wait at once; one asks about each title
            of its chunk, in turn, or about the pair.
        piece_chunks: A document of more chunks is cut into pieces of that many, which all engines
            share.
        max_calls: Most calls of a run, shared evenly between its annotators; None = any number. An
            annotator that is started again after a fault has its whole share again.
        timeout_s: Most seconds that one request may take, with its repetitions, once it has its
            turn.
    """

    model: str | None = None
    revision: str | None = None
    lookahead: Annotated[int, Field(ge=1, le=1024)] = 16
    piece_chunks: Annotated[int, Field(ge=16)] = 256
    max_calls: Annotated[int, Field(ge=0)] | None = None
    timeout_s: Annotated[float, Field(gt=0.0)] = 120.0


class VllmConfig(Section):
    """The engine of the annotator ``vllm``, one in each annotator actor.

    Attributes:
        gpus_per_actor: GPUs of an engine; None = ``tensor_parallel_size`` where the cluster has
            GPUs, else 0 for the CPU build of vLLM.
        tensor_parallel_size: GPUs that one model is spread over.
        dtype: Number format of the weights, as vLLM names it.
        max_model_len: Most tokens of a prompt and its answer.
        max_num_seqs: Most requests that the engine works on at once.
        gpu_memory_utilization: Share of a GPU's memory that the engine takes.
        quantization: Method of a quantized model, as vLLM names it.
        enforce_eager: Whether to do without compiled graphs: starts sooner, runs slower.
        batch_invariant: Whether an answer does not depend on the other requests of its batch.
    """

    gpus_per_actor: Annotated[float, Field(ge=0.0)] | None = None
    tensor_parallel_size: PositiveInt = 1
    dtype: str = "bfloat16"
    max_model_len: Annotated[int, Field(ge=512)] = 8192
    max_num_seqs: PositiveInt = 256
    gpu_memory_utilization: Annotated[float, Field(gt=0.0, le=1.0)] = 0.9
    quantization: str | None = None
    enforce_eager: bool = False
    batch_invariant: bool = False


class OpenAiConfig(Section):
    """The server of the annotator ``openai``.

    Attributes:
        base_url: Where its API begins, such as ``http://host:8000/v1``; no user and password, for
            it is named in messages and manifests.
        api_key_file: File that holds the key; None = the environment's ``OPENAI_API_KEY``.
        concurrency: Requests that wait at once, over all actors.
        requests_per_minute: Most requests, over all actors and with repetitions, evenly spaced;
            0 = any number.
        max_retries: Repetitions of a request that met 429, 5xx or a broken connection.
        structured_choice: Whether the server takes vLLM's ``structured_outputs``.
    """

    base_url: Annotated[str, Field(pattern=r"^https?://[^\s/@]+(/\S*)?$")] | None = None
    api_key_file: str | None = None
    concurrency: PositiveInt = 64
    requests_per_minute: Annotated[int, Field(ge=0)] = 0
    max_retries: Annotated[int, Field(ge=0, le=20)] = 5
    structured_choice: bool = False


class EmbeddingConfig(Section):
    """The encoder.

    Attributes:
        model: A sentence-transformers name or folder.
        dtype: ``float32`` or ``bfloat16``.
        batch_size: Texts of one forward pass.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        gpus_per_actor: GPUs, or the share of one, that an embedding actor takes; None = 1 where
            the cluster has GPUs, else 0.
        num_threads: CPU threads of one encoder; 0 = the node's CPUs over its embedding actors.
    """

    model: str = "all-MiniLM-L6-v2"
    dtype: Dtype = Dtype.FLOAT32
    batch_size: PositiveInt = 32
    device: Annotated[str, Field(pattern=r"^(auto|cpu|cuda(:\d+)?)$")] = "auto"
    gpus_per_actor: Annotated[float, Field(ge=0.0)] | None = None
    num_threads: Annotated[int, Field(ge=0)] = 0


class IndexConfig(Section):
    """Shards and their HNSW graphs.

    Attributes:
        num_shards: Shards of a generation.
        m: Links of a node of the graph.
        ef_construction: Candidates while building.
        ef_search: Least number of candidates while searching; more when more is asked.
        positional_code_weight: Weight a of the positional code in the stored vectors.
        stemmer: ``none``, or ``light`` to count English plurals as their singulars.
        search: ``hnsw``, or ``exact`` for a full scan of each query.
        build_threads: Threads of one shard build; 1 gives the same bytes every time.
        min_recall: Build audit: least recall@10 against exact search.
        audit_queries: Build audit: vectors of the shard that are searched for.
    """

    num_shards: Annotated[int, Field(ge=1, le=100_000)] = 4
    m: Annotated[int, Field(ge=4, le=128)] = 32
    ef_construction: Annotated[int, Field(ge=8, le=4096)] = 200
    ef_search: Annotated[int, Field(ge=8, le=65_536)] = 256
    positional_code_weight: Annotated[float, Field(gt=0.0, le=10.0)] = 0.2
    stemmer: Stemmer = Stemmer.LIGHT
    search: SearchMode = SearchMode.HNSW
    build_threads: PositiveInt = 1
    min_recall: Fraction = 0.95
    audit_queries: PositiveInt = 200


class LexicalConfig(Section):
    """BM25, as a question is scored.

    Attributes:
        k1: How fast repeats of a term saturate.
        b: How much a chunk's length counts.
        pair_weight: Weight of pairs of neighbouring words beside words; 0 = words alone.
    """

    k1: Annotated[float, Field(gt=0.0, le=10.0)] = 0.9
    b: Fraction = 0.75
    pair_weight: Fraction = 1.0


class RetrievalConfig(Section):
    """Defaults of a query.

    Attributes:
        top_k: Results.
        min_index_gap: Least chunk_index distance of two results of a document; 1 = off, which finds
            more of the evidence (``docs/ablations.md``).
        position_weight: Weight w of the position term; 0 leaves position out.
        lexical_weight: Weight l of the words against the vectors, for a question whose terms are
            all known, and less by the share that is not; 0 = vectors alone.
        first_pass_candidates: First-pass hits that form the prior.
        prior_temperature: Softmax temperature over their scores.
        prior_gate: Least concentration at which position counts.
        prior_scope: ``global``, or ``shard`` to save a round trip.
    """

    top_k: Annotated[int, Field(ge=1, le=1000)] = 5
    min_index_gap: PositiveInt = 1
    position_weight: Fraction = 0.02
    lexical_weight: Fraction = 0.7
    first_pass_candidates: Annotated[int, Field(ge=1, le=1000)] = 20
    prior_temperature: Annotated[float, Field(gt=0.0)] = 0.05
    prior_gate: Fraction = 0.2
    prior_scope: PriorScope = PriorScope.GLOBAL


class ContextConfig(Section):
    """The assembled context beside the results.

    Attributes:
        max_tokens: Token budget of the passages; 0 = no context.
        rule: ``merge`` takes neighbours in and merges their text, ``gap`` takes the results.
        candidates: Chunks of the ranking, or results, that are tried.
        tokenizer: Name or folder of the tokenizer that counts; None = the encoder's.
    """

    max_tokens: Annotated[int, Field(ge=0, le=100_000)] = 0
    rule: ContextRule = ContextRule.MERGE
    candidates: Annotated[int, Field(ge=1, le=200)] = 20
    tokenizer: str | None = None


class RerankConfig(Section):
    """A cross-encoder that reads question and chunk together.

    Attributes:
        model: A sentence-transformers cross-encoder, by name or folder; None = no rerank.
        candidates: Chunks of the ranking that it reads.
    """

    model: str | None = None
    candidates: Annotated[int, Field(ge=1, le=1000)] = 20


class PublishConfig(Section):
    """Guards of an index that is written.

    Attributes:
        max_removed_fraction: Largest share of the documents that may vanish between two
            generations without ``--allow-removals``.
        lease_s: Seconds without a sign of life after which another run counts as dead.
        reader_grace_s: Seconds for which ``gc`` keeps the files of a generation after it was
            retired, for readers that have them open.
    """

    max_removed_fraction: Fraction = 0.2
    lease_s: Annotated[float, Field(gt=0.0, le=86_400.0)] = 30.0
    reader_grace_s: Annotated[float, Field(ge=0.0)] = 3600.0


class NodeConfig(Section):
    """Nodes of one kind.

    Attributes:
        num_cpus: Logical CPUs of each.
        num_gpus: GPUs of each.
        count: How many there can be.
    """

    num_cpus: Annotated[float, Field(gt=0.0)]
    num_gpus: Annotated[float, Field(ge=0.0)] = 0.0
    count: PositiveInt = 1


class ClusterConfig(Section):
    """How the pipeline uses a Ray cluster; 0 = from what the cluster and the corpus are.

    Attributes:
        nodes: Nodes that an autoscaler can give; the pools are sized for them, and it starts them
            when work waits. Empty = the nodes that are up when the run begins.
        parse_tasks: Most parsing and chunking tasks at once.
        annotate_actors: Annotator actors.
        embed_actors: Embedding actors.
        build_tasks: Most shard builds at once.
        documents_per_batch: Documents in one call of an actor; 0 = from their mean size.
        max_restarts: Restarts of an actor, and tries of a task, before the run fails.
    """

    nodes: tuple[NodeConfig, ...] = ()
    parse_tasks: Annotated[int, Field(ge=0)] = 0
    annotate_actors: Annotated[int, Field(ge=0)] = 0
    embed_actors: Annotated[int, Field(ge=0)] = 0
    build_tasks: Annotated[int, Field(ge=0)] = 0
    documents_per_batch: Annotated[int, Field(ge=0)] = 0
    max_restarts: Annotated[int, Field(ge=0)] = 3


class HttpServer(StrEnum):
    """Who takes the requests of clients."""

    AUTO = "auto"
    FRONT = "front"
    PROXY = "proxy"


class ServeConfig(Section):
    """The query service.

    Attributes:
        http_server: ``front``: each front listens itself, on the node where it runs; ``proxy``:
            Ray Serve's proxy on every node, which finds the fronts and costs milliseconds;
            ``auto``: the first where ``scp-ray serve`` has a cluster of one node.
        host: Address to listen on; one that is not loopback needs ``tokens_file``.
        port: TCP port.
        num_groups: Deployments that the shards are spread over, at most one per shard; 1 = every
            front holds all shards itself; 0 = from their sizes and ``memory_per_replica_mb``.
        memory_per_replica_mb: Index files that one replica is to hold, in MB.
        replicas_per_group: Replicas of each group.
        num_fronts: Replicas of the HTTP front.
        num_encoders: Replicas of the query encoder; 0 = every front encodes itself.
        cpus_per_replica: CPUs of each replica: what Ray reserves, and threads of its searches.
        deadline_ms: Most time of a query.
        hedge: Whether a call that takes longer than 95 % of its group's calls is made to another
            replica too, where the group has one.
        max_query_characters: Longer questions are refused.
        max_body_bytes: Larger requests are refused.
        max_batch: Most questions of one batch request.
        max_top_k: Most results of a question.
        max_in_flight: Questions that a front answers at once; more get status 429.
        body_timeout_s: Seconds in which a request has to be there.
        poll_s: Seconds between two looks for a new generation.
        tokens_file: File of tokens, a line ``name scope sha256`` each; None = no token is asked.
        audit_log: Folder that a line of JSON is written to for each answer; None = none.
        audit_log_text: Whether these lines hold questions as text, and not as SHA-256.
        otlp_endpoint: Where OpenTelemetry spans go, such as ``http://host:4318``; None = nowhere.
    """

    http_server: HttpServer = HttpServer.AUTO
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=1, le=65_535)] = 8000
    num_groups: Annotated[int, Field(ge=0, le=10_000)] = 0
    memory_per_replica_mb: PositiveInt = 4096
    replicas_per_group: PositiveInt = 1
    num_fronts: PositiveInt = 1
    num_encoders: Annotated[int, Field(ge=0)] = 0
    cpus_per_replica: Annotated[float, Field(gt=0.0)] = 1.0
    deadline_ms: PositiveInt = 2000
    hedge: bool = True
    max_query_characters: PositiveInt = 10_000
    max_body_bytes: PositiveInt = 2 * 1024 * 1024
    max_batch: Annotated[int, Field(ge=1, le=1000)] = 100
    max_top_k: Annotated[int, Field(ge=1, le=1000)] = 1000
    max_in_flight: PositiveInt = 256
    body_timeout_s: Annotated[float, Field(gt=0.0)] = 10.0
    poll_s: Annotated[float, Field(gt=0.0)] = 10.0
    tokens_file: str | None = None
    audit_log: str | None = None
    audit_log_text: bool = False
    otlp_endpoint: Annotated[str, Field(pattern=r"^https?://[^\s/@]+(/\S*)?$")] | None = None
