"""What an ablation is asked to measure: query sets, the base, and studies that vary it.

A factor is a field of ``VariantSetting``, by which ``scp_ray.pipeline.ablation_stages`` and
``variant`` make chunks, or of ``CellSetting``, by which ``scoring``, ``position_term`` and
``measure`` rank and select them: to add one, add a field here and use it there.
``docs/ablations.md`` describes the file.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticSerializationError

from scp_ray.config import Settings
from scp_ray.errors import ConfigError
from scp_ray.evaluation.baselines.chunkers import TOPIC_THRESHOLD, ChunkMethod
from scp_ray.evaluation.baselines.selectors import Selector
from scp_ray.records import PriorScope, Stemmer
from scp_ray.sections import Fraction, LexicalConfig, PositiveInt
from scp_ray.yaml_file import read_yaml

DATA_PREFIX: Final = "{data}/"
"""What a path of a set begins with that lies in the folder of ``--data``."""

MOST_CELLS: Final = 5000
"""More cells than that are refused: a cross of many factors is a slip."""


class AnnotatorKind(StrEnum):
    """Where the signatures of a cell come from."""

    NONE = "none"
    HEURISTIC = "heuristic"
    TRUE_NAME = "true_name"
    VLLM = "vllm"
    OPENAI = "openai"

    @property
    def needs_llm(self) -> bool:
        """Whether a language model writes them."""
        return self in {AnnotatorKind.VLLM, AnnotatorKind.OPENAI}


class PrefixPart(StrEnum):
    """A field of a signature that the prefix may show."""

    MODEL = "model"
    CATEGORY = "category"
    NOUNS = "nouns"


class Fusion(StrEnum):
    """How vectors and words become one score."""

    LINEAR = "linear"
    RRF = "rrf"


class PriorKind(StrEnum):
    """What the first pass says of positions."""

    GLOBAL = "global"
    DOCUMENT = "document"
    PEAKS = "peaks"


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class VariantSetting(_Strict):
    """How the chunks of a corpus are made, and what is embedded of them.

    Attributes:
        chunker: How the text is cut.
        chunk_size_tokens: Most tokens of a chunk.
        overlap_tokens: Tokens that neighbours share; ``cosine`` has none.
        prefix_budget_tokens: Most tokens of the prefix.
        cosine_threshold: Least cosine of neighbouring sentences in one chunk of ``cosine``.
        annotator: Where the signatures come from.
        continuity: Whether a chunk may go on with the signature of the one before; off, every
            chunk has what it says itself.
        prefix_parts: Fields of the signature that are written in front of the chunk.
        document_fallback: Whether a missing field is taken from the document's first signature.
    """

    chunker: Annotated[ChunkMethod, Field(strict=False)] = ChunkMethod.TOKENS
    chunk_size_tokens: Annotated[int, Field(ge=8, le=1_000_000)]
    overlap_tokens: Annotated[int, Field(ge=0)]
    prefix_budget_tokens: Annotated[int, Field(ge=0)]
    cosine_threshold: Annotated[float, Field(ge=-1.0, le=1.0)] = TOPIC_THRESHOLD
    annotator: Annotated[AnnotatorKind, Field(strict=False)]
    continuity: bool = True
    prefix_parts: Annotated[
        tuple[Annotated[PrefixPart, Field(strict=False)], ...], Field(strict=False)
    ] = tuple(PrefixPart)
    document_fallback: bool

    @model_validator(mode="after")
    def _overlap_is_shorter(self) -> Self:
        if self.overlap_tokens >= self.chunk_size_tokens:
            message = (
                f"overlap_tokens ({self.overlap_tokens}) must be less than "
                f"chunk_size_tokens ({self.chunk_size_tokens})"
            )
            raise ValueError(message)
        if len(set(self.prefix_parts)) != len(self.prefix_parts):
            message = "prefix_parts names a part twice"
            raise ValueError(message)
        return self


class CellSetting(VariantSetting):
    """Everything that one cell of the grid is measured with.

    Attributes:
        position_weight: Weight w of the position term.
        lexical_weight: Weight l of the words against the vectors.
        fusion: ``linear``, or ``rrf``: reciprocal ranks, by the same weight.
        k1: BM25: how fast repeats of a term saturate.
        b: BM25: how much a chunk's length counts.
        pair_weight: BM25: weight of pairs of neighbouring words beside words.
        stemmer: What becomes of the endings of words.
        smoothing: Share of the mean score of its neighbours that a chunk's score gains; 0 = off.
        prior: ``global``: one peak over all documents, ``document``: one for each document of the
            first pass and from its own hits, ``peaks``: a density with as many peaks as there are.
        prior_gate: Least concentration at which a prior with one peak counts.
        prior_temperature: Softmax temperature over the scores of the first pass.
        first_pass_candidates: Hits of the first pass that form the prior.
        selector: Which chunks of the ranking are results.
        min_index_gap: Of ``gap``: least distance of two results of a document.
        mmr_lambda: Of ``mmr``: share of the score against being unlike what was taken.
        max_per_document: Of ``max_per_document``: most results of a document.
        top_k: Results that the metrics of the ranking see.
        budget_tokens: Tokens of a context; 0 = the text of the first ``top_k`` results, whole.
        context_candidates: Results that a context with a budget is tried with.
    """

    position_weight: Fraction
    lexical_weight: Fraction
    fusion: Annotated[Fusion, Field(strict=False)] = Fusion.LINEAR
    k1: Annotated[float, Field(gt=0.0, le=10.0)]
    b: Fraction
    pair_weight: Fraction
    stemmer: Annotated[Stemmer, Field(strict=False)]
    smoothing: Fraction = 0.0
    prior: Annotated[PriorKind, Field(strict=False)] = PriorKind.GLOBAL
    prior_gate: Fraction
    prior_temperature: Annotated[float, Field(gt=0.0)]
    first_pass_candidates: Annotated[int, Field(ge=1, le=1000)]
    selector: Annotated[Selector, Field(strict=False)] = Selector.GAP
    min_index_gap: Annotated[int, Field(ge=1, le=1_000_000_000)]
    mmr_lambda: Fraction = 0.7
    max_per_document: PositiveInt = 2
    top_k: Annotated[int, Field(ge=1, le=200)] = 10
    budget_tokens: Annotated[int, Field(ge=0, le=100_000)] = 1000
    context_candidates: Annotated[int, Field(ge=1, le=200)]

    @property
    def lexical(self) -> LexicalConfig:
        """The part of it that weighs words."""
        return LexicalConfig(k1=self.k1, b=self.b, pair_weight=self.pair_weight)

    @property
    def variant(self) -> VariantSetting:
        """The part of it that shapes the chunks."""
        names = VariantSetting.model_fields
        return VariantSetting.model_construct(**{name: getattr(self, name) for name in names})


class SetConfig(_Strict):
    """One corpus with its questions.

    Attributes:
        corpus: Folder or ``s3://`` address of the documents.
        queries: Query file, on this machine.
        true_names: JSON file, on this machine, for the annotator ``true_name``: the name of each
            document by its doc_id, or a list of ``{char_start, char_end, name}``.
    """

    corpus: str
    queries: str
    true_names: str | None = None


class StudyConfig(_Strict):
    """One question to the data: either ``vary`` or ``cells``.

    Attributes:
        name: Its heading.
        vary: Values of each factor; every combination of them is measured, the rest is the base.
        cells: Factors that differ from the base, by the name of the cell.
        sets: The sets that it is measured on; None = all.
    """

    name: Annotated[str, Field(min_length=1)]
    vary: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(default_factory=dict)
    cells: dict[str, dict[str, Any]] = Field(default_factory=dict)
    sets: Annotated[list[str], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if bool(self.vary) == bool(self.cells):
            message = f"study {self.name!r} needs either vary or cells"
            raise ValueError(message)
        return self


class AblationConfig(_Strict):
    """A whole ablation.

    Attributes:
        sets: Corpora with questions, by name.
        base: Factors that differ from the product's settings.
        studies: What is varied around the base.
        title: Of the report.
    """

    title: str = "Ablation"
    sets: Annotated[dict[str, SetConfig], Field(min_length=1)]
    base: dict[str, Any] = Field(default_factory=dict)
    studies: Annotated[list[StudyConfig], Field(min_length=1)]


def product_setting(settings: Settings) -> dict[str, Any]:
    """Return the factors that the product has as settings, with their values.

    Raises:
        ConfigError: If the settings ask for what no cell can do.
    """
    _refuse_unmeasured(settings)
    chunking, chop, retrieval = settings.chunking, settings.chop, settings.retrieval
    values = {**chunking.model_dump(), **retrieval.model_dump(), **settings.lexical.model_dump()}
    del values["top_k"]  # the metrics want more results than a user does
    if settings.context.max_tokens:  # 0 is no context, which a cell always has
        values["budget_tokens"] = settings.context.max_tokens
    return {
        **{name: value for name, value in values.items() if name in CellSetting.model_fields},
        "annotator": chop.annotator.value,
        "document_fallback": chop.document_fallback,
        "stemmer": settings.index.stemmer.value,
        "context_candidates": settings.context.candidates,
    }


def _refuse_unmeasured(settings: Settings) -> None:
    if settings.rerank.model is not None:
        message = f"rerank.model is {settings.rerank.model!r}: an ablation has no cross-encoder"
        raise ConfigError(message)
    if settings.retrieval.prior_scope is PriorScope.SHARD:
        message = "retrieval.prior_scope is 'shard': an ablation has no shards; say global"
        raise ConfigError(message)


# Characters of a wrong value that a message shows: anchors of YAML can make it endless.
_MOST_SHOWN: Final = 200


def load_ablation(file: Path, data: Path | None = None) -> AblationConfig:
    """Read the file of an ablation.

    Args:
        file: YAML. Paths in it are relative to its folder.
        data: What ``{data}/`` at the start of a path stands for.

    Raises:
        ConfigError: If the file cannot be read or is not in the format; the key is named.
    """
    tree = read_yaml(file, str(file))
    try:
        config = AblationConfig.model_validate(tree)
        config.model_dump_json()  # what half of a surrogate pair keeps from being written
    except PydanticSerializationError as error:
        message = f"{file} has half of a surrogate pair: {error}"
        raise ConfigError(message) from error
    except ValidationError as error:
        message = f"{file}: {explain(error)}"
        raise ConfigError(message) from error
    named = {name for study in config.studies for name in study.sets or ()}
    if unknown := sorted(named - config.sets.keys()):
        message = f"{file}: studies.sets names {unknown[0]!r}, which is not one of sets"
        raise ConfigError(message)
    names = [study.name for study in config.studies]
    if repeated := [name for name in names if names.count(name) > 1]:
        message = f"{file}: two studies have the name {repeated[0]!r}"
        raise ConfigError(message)
    sets = {name: _resolved(name, one, file.parent, data) for name, one in config.sets.items()}
    return config.model_copy(update={"sets": sets})


def checked_setting(values: Mapping[str, Any], where: str) -> CellSetting:
    """Return the setting of a cell.

    Args:
        values: Every factor without a default of its own, and others.
        where: Whose they are, for messages.

    Raises:
        ConfigError: If a factor is unknown or a value out of range; it is named.
    """
    try:
        return CellSetting.model_validate(dict(values))
    except ValidationError as error:
        message = f"{where}: {explain(error)}"
        raise ConfigError(message) from error


def explain(error: ValidationError) -> str:
    """Say what is wrong with which key."""
    return "; ".join(_problem(problem) for problem in error.errors())


def _problem(problem: Mapping[str, Any]) -> str:
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"unknown key {key!r}"
    text = str(problem["msg"]).removeprefix("Value error, ")
    if problem["type"] == "missing":
        return f"{key}: {text}"
    return f"{key}: {text}, got {_shortened(repr(problem['input']))}" if key else text


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def _resolved(name: str, one: SetConfig, folder: Path, data: Path | None) -> SetConfig:
    paths = {
        key: _path(value, f"sets.{name}.{key}", folder, data)
        for key, value in one.model_dump(exclude_none=True).items()
    }
    return SetConfig.model_validate(paths)


def _path(value: str, where: str, folder: Path, data: Path | None) -> str:
    if "://" in value:
        if where.endswith(".corpus"):
            return value
        message = f"{where} is {value!r}: only a corpus may have an address; give a file"
        raise ConfigError(message)
    if not value.startswith(DATA_PREFIX):
        try:
            return str(folder / Path(value).expanduser())
        except RuntimeError as error:
            message = f"{where} is {value!r}: {error}"
            raise ConfigError(message) from error
    if data is None:
        message = f"{where} is {value!r}: say with --data where {DATA_PREFIX} is"
        raise ConfigError(message)
    return str(data / value.removeprefix(DATA_PREFIX))
