"""Fixtures that every test may use."""

import json
import socket
import string
import subprocess
import sysconfig
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
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


@dataclass(frozen=True)
class S3Server:
    """A SeaweedFS server on loopback with one bucket."""

    endpoint: str
    bucket: str = "scp-ray-tests"
    access_key: str = "test-access-key"
    secret_key: str = "test-secret-key"  # noqa: S105 - of a server that lives as long as the tests

    @property
    def environment(self) -> dict[str, str]:
        """What the AWS SDK has to find in the environment, and nothing of the developer's."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": "us-east-1",
            "AWS_CONFIG_FILE": "/nonexistent",
            "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
            "AWS_EC2_METADATA_DISABLED": "true",
            "NO_PROXY": "127.0.0.1",
        }


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in sockets:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in sockets]


def _seaweedfs(folder: Path, server: S3Server, ports: list[int]) -> list[str]:
    identity = {
        "name": "tests",
        "credentials": [{"accessKey": server.access_key, "secretKey": server.secret_key}],
        "actions": ["Admin", "Read", "Write", "List"],
    }
    config = folder / "s3.json"
    config.write_text(json.dumps({"identities": [identity]}))
    names = ["s3.port", "s3.port.grpc", "master.port", "master.port.grpc"]
    names += ["volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc"]
    return [
        str(Path(sysconfig.get_path("scripts"), "weed")),
        *("server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-dir={folder}", "-filer", "-s3"),
        *(f"-{name}={port}" for name, port in zip(names, ports, strict=True)),
        *(
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
            "-s3.autoCreateBucket=false",
            f"-s3.config={config}",
        ),
        *("-volume.max=20", "-master.volumeSizeLimitMB=64", "-volume.preStopSeconds=0"),
    ]


def _wait_until_it_stores(server: S3Server, process: subprocess.Popen[bytes], log: Path) -> None:
    from boto3.session import Session
    from botocore.exceptions import BotoCoreError, ClientError

    session = Session(server.access_key, server.secret_key, region_name="us-east-1")
    client = session.client("s3", endpoint_url=server.endpoint)
    ends = time.monotonic() + 90
    while True:
        try:
            client.create_bucket(Bucket=server.bucket)
            client.put_object(Bucket=server.bucket, Key="ready", Body=b"ready")
            client.delete_object(Bucket=server.bucket, Key="ready")
        except (BotoCoreError, ClientError) as error:
            if process.poll() is not None or time.monotonic() > ends:
                pytest.fail(f"no S3 server: {error}\n{log.read_text()[-2000:]}")
            time.sleep(0.2)
        else:
            client.close()
            return


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A real S3 server, for as long as the tests run."""
    folder = tmp_path_factory.mktemp("seaweedfs")
    ports = _free_ports(8)
    server = S3Server(f"http://127.0.0.1:{ports[0]}")
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            _seaweedfs(folder, server, ports), stdout=output, stderr=subprocess.STDOUT, cwd=folder
        )
        try:
            _wait_until_it_stores(server, process, log)
            yield server
        finally:
            process.terminate()
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture
def s3_environment(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The server, which the AWS SDK finds in the environment, also that of subprocesses."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_S3", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return s3_server


@pytest.fixture
def s3_address(s3_environment: S3Server) -> str:
    """An address ``s3://bucket/prefix`` below which nothing is stored yet."""
    return f"s3://{s3_environment.bucket}/{uuid.uuid4().hex}"
