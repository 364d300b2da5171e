"""Fixtures that every test may use."""

import string
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "project", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("project")


@pytest.fixture(autouse=True)
def _no_model_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests never ask a model hub, and no settings leak in from the developer's shell."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="session")
def _ray_ends_with_the_session() -> Iterator[None]:
    yield
    import ray

    ray.shutdown()


@pytest.fixture
def ray_cluster(_ray_ends_with_the_session: None) -> None:
    """A Ray cluster of two CPUs in this machine; started again where a test has ended it."""
    import ray

    from scp_ray.pipeline.ray_executor import connect

    if not ray.is_initialized():
        quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
        ray.init("local", num_cpus=2, **quiet)
    connect()


@pytest.fixture
def corpus_folder(tmp_path: Path) -> Path:
    """An empty folder for a corpus."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def save_tiny_cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that saves a cross-encoder of random weights and returns its folder.

    It takes 64 tokens and knows "the", "pump" and "valve", and other words by their letters.
    """

    def save(num_labels: int = 1, prompt: str | None = None) -> Path:
        import torch
        from sentence_transformers import CrossEncoder
        from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

        letters = string.ascii_lowercase + string.digits + ":."
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        known = [*special, *letters, *(f"##{letter}" for letter in letters)]
        vocabulary = {token: row for row, token in enumerate([*known, "the", "pump", "valve"])}
        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            max_position_embeddings=64,
            num_labels=num_labels,
            initializer_range=0.5,  # scores of other texts are clearly other ones
        )
        folder = tmp_path_factory.mktemp("cross-encoder")
        BertForSequenceClassification(config).save_pretrained(folder)
        BertTokenizer(vocab=vocabulary).save_pretrained(folder)
        if prompt is not None:
            model = CrossEncoder(
                str(folder), device="cpu", prompts={"ask": prompt}, default_prompt_name="ask"
            )
            model.save(str(folder), create_model_card=False)
        return folder

    return save


@pytest.fixture(scope="session")
def tiny_cross_encoder(save_tiny_cross_encoder: Callable[..., Path]) -> Path:
    """The folder of a cross-encoder of random weights, as ``rerank.model`` takes it."""
    return save_tiny_cross_encoder()
