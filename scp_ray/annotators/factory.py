"""Chooses the annotator that the settings name."""

import hashlib
from collections.abc import Callable
from functools import partial

from scp_ray.annotators.direct import DirectAnnotator
from scp_ray.annotators.heuristic import HEURISTIC_REVISION, HeuristicAnnotator
from scp_ray.annotators.llm import LlmAnnotator
from scp_ray.annotators.none import NONE_REVISION, annotate_empty
from scp_ray.annotators.openai_server import OpenAiGenerator
from scp_ray.annotators.vllm_engine import VllmGenerator
from scp_ray.chop.prompting import prompt_revision
from scp_ray.config import Settings, openai_api_key
from scp_ray.errors import ConfigError
from scp_ray.protocols import AnnotationCache, Annotator, TextGenerator
from scp_ray.sections import AnnotatorName


def annotator_revision(settings: Settings) -> str:
    """Name what writes the annotations; changes whenever the same text could get another one.

    Raises:
        ConfigError: If the annotator needs a language model and none is named.
    """
    name = settings.chop.annotator
    if name is AnnotatorName.NONE:
        return NONE_REVISION
    if name is AnnotatorName.HEURISTIC:
        return HEURISTIC_REVISION
    # The heuristic annotator writes what the model gives no usable answer for.
    return f"{prompt_revision()} {HEURISTIC_REVISION} {served_model(settings)}"


def served_model(settings: Settings) -> str:
    """Name the language model of the settings; changes whenever it could answer otherwise.

    Raises:
        ConfigError: If none is named, or a server has no address.
    """
    name, llm = settings.chop.annotator, settings.llm
    if llm.model is None:
        message = f"chop.annotator {name} needs a language model; name it with llm.model"
        raise ConfigError(message)
    if name is AnnotatorName.OPENAI and settings.openai.base_url is None:
        message = "chop.annotator openai needs the address of its server; see openai.base_url"
        raise ConfigError(message)
    served = [name, llm.model, llm.revision or ""]
    if name is AnnotatorName.VLLM:
        served += [settings.vllm.dtype, settings.vllm.quantization or ""]
    return " ".join(served)


def annotation_fingerprint(settings: Settings) -> str:
    """Name the part of the annotation cache that this annotator's answers belong to."""
    return hashlib.sha256(annotator_revision(settings).encode()).hexdigest()


def make_annotator(
    settings: Settings, open_cache: Callable[[str], AnnotationCache], num_actors: int = 1
) -> Annotator:
    """Return the annotator of the settings; starts the engine of ``vllm``.

    Args:
        settings: The run's settings.
        open_cache: Opens the annotation cache of a fingerprint; called where a model is asked.
        num_actors: Annotators of the run, which share its limits evenly.

    Raises:
        ConfigError: If the settings do not fit.
        GenerationError: If the engine does not start.
    """
    name, fallback = settings.chop.annotator, settings.chop.document_fallback
    if name is AnnotatorName.NONE:
        return DirectAnnotator(annotate_empty)
    if name is AnnotatorName.HEURISTIC:
        return DirectAnnotator(HeuristicAnnotator(document_fallback=fallback).annotate)
    max_calls = settings.llm.max_calls
    return LlmAnnotator(
        partial(make_generator, settings, num_actors),
        open_cache(annotation_fingerprint(settings)),
        lookahead=settings.llm.lookahead,
        document_fallback=fallback,
        max_calls=None if max_calls is None else max_calls // num_actors,
    )


def make_generator(settings: Settings, num_actors: int = 1) -> TextGenerator:
    """Return the language model of the annotator that the settings name; starts an engine.

    Called on the event loop of the calls that follow.

    Args:
        settings: Name ``vllm`` or ``openai`` as annotator.
        num_actors: Generators that share a server's limits evenly.

    Raises:
        ConfigError: If the model cannot be had as the settings say.
        GenerationError: If an engine does not start.
    """
    if settings.chop.annotator is AnnotatorName.VLLM:
        return VllmGenerator(settings.llm, settings.vllm)
    key = openai_api_key(settings.openai.api_key_file)
    return OpenAiGenerator(settings.llm, settings.openai, key, num_actors)
