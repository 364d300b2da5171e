"""A small corpus, runs over it, and what is compared between runs."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from scp_ray.config import Settings, load_settings
from scp_ray.pipeline.executor import Executor, InProcessExecutor
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.report import RunReport
from scp_ray.pipeline.run import index_corpus
from scp_ray.storage.local import LocalObjectStore
from scp_ray.storage.manifest import Manifest
from scp_ray.storage.publish import load_current

WORDS = [
    "filter",
    "pump",
    "valve",
    "drain",
    "lamp",
    "cable",
    "motor",
    "panel",
    "sensor",
    "blade",
    "hinge",
    "socket",
    "fuse",
    "timer",
    "handle",
    "press",
    "turn",
    "hold",
    "wait",
    "clean",
    "check",
    "remove",
    "insert",
    "close",
    "open",
    "replace",
    "tighten",
    "rinse",
    "dry",
    "reset",
]


def _write_manual(folder: Path, number: int, sentences: int = 60) -> Path:
    rng = random.Random(number)
    lines = [f"# Orbis K-{100 + number} Kettle - User Manual", ""]
    for section in range(4):
        lines += [f"## {rng.choice(WORDS).title()} {section}", ""]
        for _ in range(sentences // 4):
            lines.append(" ".join(rng.choices(WORDS, k=12)).capitalize() + ".")
        lines.append("")
    path = folder / f"manual_{number:03d}.md"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def write_manual() -> Callable[..., Path]:
    """Write one manual, ``(folder, number, sentences=60)``; the same number gives the same text."""
    return _write_manual


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Twelve manuals."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for number in range(12):
        _write_manual(folder, number)
    return folder


def _settings(*assignments: str) -> Settings:
    defaults = ["embedding.model=hash://32", "index.num_shards=3", "chunking.chunk_size_tokens=60"]
    defaults += ["chunking.overlap_tokens=15", "index.build_threads=1"]
    return load_settings(None, [*defaults, *assignments], {})


@pytest.fixture(scope="session")
def small_settings() -> Callable[..., Settings]:
    """Settings with the test encoder, small chunks and three shards, and more assignments."""
    return _settings


Run = Callable[..., RunReport]


@pytest.fixture
def run(corpus: Path, tmp_path: Path) -> Run:
    """Index the corpus into ``<tmp_path>/index``."""

    def run_once(
        *assignments: str,
        index: str = "index",
        executor: Executor | None = None,
        allow_removals: bool = False,
    ) -> RunReport:
        settings = _settings(*assignments)
        request = IndexRequest(str(corpus), str(tmp_path / index), settings, allow_removals)
        return index_corpus(request, executor or InProcessExecutor(), lambda _line: None)

    return run_once


@pytest.fixture
def manifest(tmp_path: Path) -> Callable[..., Manifest]:
    """Read the current manifest of ``<tmp_path>/<index>``."""
    return lambda index="index": load_current(LocalObjectStore(tmp_path / index))


@pytest.fixture(scope="session")
def tiny_llm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a language model of 103,000 random weights, for engines that want a real one.

    Its tokens are bytes and a few words; it has no chat template and says nothing of sense.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("tiny_llm")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(WORDS, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    shape = LlamaConfig(
        vocab_size=320,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=16_384,
        bos_token_id=0,
        eos_token_id=1,
        tie_word_embeddings=True,
    )
    LlamaForCausalLM(shape).to(torch.bfloat16).save_pretrained(folder)
    return folder
