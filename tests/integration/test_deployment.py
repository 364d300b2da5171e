"""The manifests for KubeRay, the container files, and the script that follows a RayJob."""

import importlib.util
import json
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from scp_ray.cli import build_parser
from scp_ray.config import load_settings, settings_from_tree
from scp_ray.serve.app import ServeArgs, build_app

ROOT = Path(__file__).parents[2]
KUBERAY, DOCKER = ROOT / "deploy" / "kuberay", ROOT / "deploy" / "docker"
IMAGE_FOLDER = "/opt/scp-ray"
JOBS = {"index_corpus.py": "index", "serve_index.py": "serve", "evaluate_retrieval.py": "evaluate"}

# The fields of KubeRay's v1 types that are used here; another name is a mistake.
RAY_JOB = {
    "entrypoint", "backoffLimit", "activeDeadlineSeconds", "shutdownAfterJobFinishes",
    "ttlSecondsAfterFinished", "rayClusterSpec",
}  # fmt: skip
RAY_CLUSTER = {
    "rayVersion", "authOptions", "enableInTreeAutoscaling", "headGroupSpec", "workerGroupSpecs",
}  # fmt: skip
WORKER_GROUP = {
    "groupName", "replicas", "minReplicas", "maxReplicas", "rayStartParams", "template",
}  # fmt: skip


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((KUBERAY / name).read_text()))


def ray_jobs() -> dict[str, dict[str, Any]]:
    return {
        "rayjob": documents("rayjob.yaml")[0]["spec"],
        "raycronjob": documents("raycronjob.yaml")[0]["spec"]["jobTemplate"],
    }


def ray_clusters() -> dict[str, dict[str, Any]]:
    clusters = {name: spec["rayClusterSpec"] for name, spec in ray_jobs().items()}
    return clusters | {"rayservice": documents("rayservice.yaml")[0]["spec"]["rayClusterConfig"]}


def groups(cluster: dict[str, Any]) -> list[dict[str, Any]]:
    return [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]


def containers(cluster: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for group in groups(cluster) for one in group["template"]["spec"]["containers"]]


def shown_commands() -> list[list[str]]:
    """Return the words of every ``scp-ray`` and job command in the guide's code blocks."""
    guide = (ROOT / "docs" / "operations.md").read_text()
    blocks = re.findall(
        r"^```(?:sh)?\n(.*?)^```",
        re.sub(r"^```(?!sh\n)\w+\n.*?^```\n", "", guide, flags=re.MULTILINE | re.DOTALL),
        flags=re.MULTILINE | re.DOTALL,
    )
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    commands = []
    for line in lines:
        found = re.search(r"(?:scp-ray|/jobs/(\w+\.py)) (?=[a-zA-Z])(.*?)(?: >>.*)?$", line)
        if found and "kubectl" not in line:
            words = shlex.split(found.group(2), comments=True)
            commands.append([JOBS[found.group(1)], *words] if found.group(1) else words)
    return commands


def instructions(name: str) -> list[tuple[str, str]]:
    text = re.sub(r"^#.*\n", "", (DOCKER / name).read_text(), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines if line.strip()]


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("rayjob.yaml", ["ray.io/v1/RayJob"]),
        ("raycronjob.yaml", ["ray.io/v1/RayCronJob"]),
        ("rayservice.yaml", ["ray.io/v1/RayService"]),
        (
            "cronjob.yaml",
            [
                "v1/ServiceAccount",
                "rbac.authorization.k8s.io/v1/Role",
                "rbac.authorization.k8s.io/v1/RoleBinding",
                "batch/v1/CronJob",
            ],
        ),
    ],
)
def test_kinds(name: str, kinds: list[str]) -> None:
    assert [f"{one['apiVersion']}/{one['kind']}" for one in documents(name)] == kinds


@pytest.mark.parametrize("name", ["rayjob", "raycronjob"])
def test_ray_job_runs_a_command_of_this_version(name: str) -> None:
    spec = ray_jobs()[name]
    assert set(spec) <= RAY_JOB
    python, script, *arguments = shlex.split(spec["entrypoint"])
    assert python == "python"
    path = Path(script).relative_to(IMAGE_FOLDER)
    assert (ROOT / path).is_file()
    args = build_parser().parse_args([JOBS[path.name], *arguments])
    load_settings(args.config, args.assignments)


def test_guide_shows_commands_of_this_version() -> None:
    commands = shown_commands()
    assert {words[0] for words in commands} == {
        "doctor", "gc", "generations", "index", "plan", "rollback", "verify",
    }  # fmt: skip
    for words in commands:
        args = build_parser().parse_args(words)
        load_settings(args.config, args.assignments)


def test_guide_names_files_that_exist() -> None:
    guide = (ROOT / "docs" / "operations.md").read_text()
    named = re.findall(r"`((?:deploy|benchmarks)/[\w./-]+|[\w-]+\.yaml)`", guide)
    assert len(named) > 5
    for name in named:
        assert any((folder / name).exists() for folder in (ROOT, KUBERAY)), name


def test_figures_of_the_guide_are_near_the_measured_ones() -> None:
    guide = (ROOT / "docs" / "operations.md").read_text()

    def figures(name: str) -> dict[str, Any]:
        return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())["figures"]

    build, index = figures("bench_build"), figures("bench_index")
    largest = figures("bench_long_document")["largest"]
    number = r"([\d,.]*\d)"
    for shown, measured in {
        f"{number} bytes a chunk": build["bytes_per_chunk"],
        f"{number} s for 100,000 chunks": build["build_s"]["median"],
        f"{number} chunks/s on 2 cores": index["bare_chunks_per_s"]["median"],
        rf"start-up of a run \| {number} s": index["startup_s"]["median"],
        f"{number} MiB at the peak": largest["peak_mib"],
        f"{number} ms over 100,000 chunks": figures("bench_query")["large"]["fused_ms"]["p50"],
    }.items():
        (found,) = re.findall(shown, guide)
        assert float(found.replace(",", "")) == pytest.approx(measured, rel=0.2), shown


@pytest.mark.parametrize("name", ["rayjob", "raycronjob"])
def test_ray_job_is_tried_once_and_its_cluster_goes(name: str) -> None:
    spec = ray_jobs()[name]
    assert spec["backoffLimit"] == 0
    assert spec["shutdownAfterJobFinishes"]
    assert spec["activeDeadlineSeconds"] > 0


def test_both_schedules_start_the_same_job() -> None:
    assert ray_jobs()["rayjob"] == ray_jobs()["raycronjob"]


@pytest.mark.parametrize("name", ["rayjob", "raycronjob", "rayservice"])
def test_cluster_asks_for_a_token_and_keeps_work_off_its_head(name: str) -> None:
    cluster = ray_clusters()[name]
    assert set(cluster) <= RAY_CLUSTER
    assert cluster["rayVersion"] == version("ray")
    assert cluster["authOptions"] == {"mode": "token"}
    assert cluster["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
    for group in cluster["workerGroupSpecs"]:
        assert set(group) <= WORKER_GROUP
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]


@pytest.mark.parametrize("name", ["rayjob", "raycronjob", "rayservice"])
def test_container_has_limits_an_image_and_the_volumes_that_it_mounts(name: str) -> None:
    cluster = ray_clusters()[name]
    for container in containers(cluster):
        wants_gpu = "nvidia.com/gpu" in container["resources"]["limits"]
        assert container["image"] == f"REGISTRY/scp-ray:{'gpu' if wants_gpu else 'cpu'}"
        assert container["resources"]["limits"] == container["resources"]["requests"]
    for group in groups(cluster):
        pod = group["template"]["spec"]
        mounted = {m["name"] for c in pod["containers"] for m in c.get("volumeMounts", [])}
        assert mounted == {volume["name"] for volume in pod.get("volumes", [])}


def test_service_is_an_application_of_this_version() -> None:
    config = yaml.safe_load(documents("rayservice.yaml")[0]["spec"]["serveConfigV2"])
    own = yaml.safe_load((ROOT / "serve_config.yaml").read_text())
    (application,), (own_application,) = config["applications"], own["applications"]
    assert set(config) == set(own)
    for key in ("name", "route_prefix", "import_path"):
        assert application[key] == own_application[key]
    assert application["import_path"] == f"{build_app.__module__}:{build_app.__name__}"
    assert config["http_options"] == own["http_options"] | {"host": "0.0.0.0"}  # noqa: S104
    settings = settings_from_tree(ServeArgs(**application["args"]).settings)
    assert settings.serve.num_groups == 2


def test_one_run_at_a_time_and_none_late() -> None:
    cron = documents("cronjob.yaml")[3]["spec"]
    assert cron["concurrencyPolicy"] == "Forbid"
    assert cron["startingDeadlineSeconds"] > 0
    job = cron["jobTemplate"]["spec"]
    assert job["backoffLimit"] == 0
    assert job["activeDeadlineSeconds"] > ray_jobs()["rayjob"]["activeDeadlineSeconds"]
    assert job["template"]["spec"]["restartPolicy"] == "Never"  # podFailurePolicy wants it


def test_schedule_may_do_what_its_script_does_and_no_more() -> None:
    account, role, binding, cron = documents("cronjob.yaml")
    assert role["rules"] == [
        {"apiGroups": ["ray.io"], "resources": ["rayjobs"], "verbs": ["create", "get"]}
    ]
    pod = cron["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    names = {account["metadata"]["name"], pod["serviceAccountName"]}
    assert names == {subject["name"] for subject in binding["subjects"]}
    assert binding["roleRef"]["name"] == role["metadata"]["name"]


@pytest.fixture
def follow() -> ModuleType:
    spec = importlib.util.spec_from_file_location("follow_rayjob", KUBERAY / "follow_rayjob.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Kubernetes(ThreadingHTTPServer):
    """Stands for the Kubernetes API: it keeps RayJobs and answers with scripted statuses."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.created: list[dict[str, Any]] = []
        self.statuses: list[dict[str, Any] | int] = []  # an int is the code of an error
        self.tokens: set[str | None] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Answers(BaseHTTPRequestHandler):
    server: Kubernetes

    def do_POST(self) -> None:
        manifest = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = manifest["metadata"]["name"]
        if any(one["metadata"]["name"] == name for one in self.server.created):
            self._answer(409, {"reason": "AlreadyExists"})
        else:
            self.server.created.append(manifest)
            self._answer(201, manifest)

    def do_GET(self) -> None:
        self.server.tokens.add(self.headers["Authorization"])
        status = self.server.statuses.pop(0)
        if isinstance(status, int):
            self._answer(status, {"reason": "scripted"})
        else:
            self._answer(200, {"status": status})

    def _answer(self, code: int, body: dict[str, Any]) -> None:
        self.send_response(code)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def kubernetes() -> Iterator[Kubernetes]:
    server = Kubernetes()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def arguments(kubernetes: Kubernetes, tmp_path: Path) -> list[str]:
    (tmp_path / "namespace").write_text("search")
    (tmp_path / "token").write_text("of-the-pod\n")
    names = ["--name", "scp-ray-index-29", "--uid", "1234", "--api", kubernetes.url]
    return [
        str(KUBERAY / "rayjob.yaml"), *names, "--account", str(tmp_path), "--poll-s", "0.001",
    ]  # fmt: skip


RUNNING: dict[str, Any] = {"jobDeploymentStatus": "Running", "jobStatus": "RUNNING"}
SUCCEEDED: dict[str, Any] = {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}


def failed(message: str) -> dict[str, Any]:
    return {"jobDeploymentStatus": "Failed", "jobStatus": "FAILED", "message": message}


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (SUCCEEDED, 0),
        (failed("Job entrypoint command failed with exit code 3, last available logs: ..."), 3),
        (failed("Job entrypoint command failed with exit code 4, last available logs: ..."), 4),
        (failed("the RayJob was active longer than its deadline"), 1),
        ({"jobDeploymentStatus": "ValidationFailed"}, 1),
    ],
)
def test_follower_ends_as_the_run_did(
    follow: ModuleType,
    kubernetes: Kubernetes,
    arguments: list[str],
    end: dict[str, Any],
    code: int,
) -> None:
    kubernetes.statuses = [{}, RUNNING, 503, RUNNING, end]
    assert follow.main(arguments) == code
    assert kubernetes.tokens == {"Bearer of-the-pod"}
    (manifest,) = kubernetes.created
    assert manifest["spec"] == ray_jobs()["rayjob"]
    assert manifest["metadata"]["name"] == "scp-ray-index-29"
    (owner,) = manifest["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("Job", "1234")


def test_follower_that_is_started_again_follows_the_same_run(
    follow: ModuleType, kubernetes: Kubernetes, arguments: list[str]
) -> None:
    kubernetes.statuses = [SUCCEEDED, RUNNING, SUCCEEDED]
    assert [follow.main(arguments), follow.main(arguments)] == [0, 0]
    assert len(kubernetes.created) == 1


def test_follower_of_a_deleted_run_fails(
    follow: ModuleType,
    kubernetes: Kubernetes,
    arguments: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    kubernetes.statuses = [RUNNING, 404]
    assert follow.main(arguments) == 1
    assert "was deleted" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "lock"),
    [("Dockerfile", "requirements.lock"), ("Dockerfile.gpu", "requirements-gpu.lock")],
)
def test_image_copies_what_exists_and_is_not_ignored(name: str, lock: str) -> None:
    ignored = (DOCKER / f"{name}.dockerignore").read_text().splitlines()
    sources = [
        source
        for instruction, rest in instructions(name)
        if instruction == "COPY"
        for source in rest.split()[:-1]
    ]
    assert {lock, "scp_ray", "jobs"} <= set(sources)
    for source in sources:
        assert (ROOT / source).exists(), source
        assert f"!{Path(source).parts[0]}" in ignored


def test_workers_of_both_kinds_have_what_a_cluster_must_share() -> None:
    def pins(lock: str) -> dict[str, str]:
        lines = (ROOT / lock).read_text().splitlines()
        return dict(line.split("==") for line in lines if not line.startswith("#"))

    cpu, gpu = pins("requirements.lock"), pins("requirements-gpu.lock")
    for name in ("ray", "pyarrow", "numpy", "faiss-cpu", "sentence-transformers", "tokenizers"):
        assert cpu[name] == gpu[name]
    assert {"vllm", "torch"} <= gpu.keys()


@pytest.mark.parametrize("name", ["Dockerfile", "Dockerfile.gpu"])
def test_image_is_of_the_projects_python_and_runs_as_no_root(name: str) -> None:
    steps = instructions(name)
    assert [rest for step, rest in steps if step == "FROM"] == ["python:3.11-slim"]
    assert [rest for step, rest in steps if step == "WORKDIR"] == [IMAGE_FOLDER]
    assert [rest for step, rest in steps if step == "USER"] == ["ray"]
    assert "wget" in str(steps)  # KubeRay probes with it
    assert "rsync" in str(steps)  # the launcher copies with it
    assert "HOME=/home/ray" in str(steps)


@pytest.mark.parametrize("name", ["Dockerfile", "Dockerfile.gpu"])
def test_what_the_schedule_runs_is_in_the_image(name: str) -> None:
    pod = documents("cronjob.yaml")[3]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    script = Path(pod["containers"][0]["command"][1]).relative_to(IMAGE_FOLDER)
    copies = [rest.split() for step, rest in instructions(name) if step == "COPY"]
    assert any(
        Path(words[-1]) == script.parent and Path(source).name == script.name
        for words in copies
        for source in words[:-1]
    )


def test_what_the_images_copy_is_enough_to_build_the_package(tmp_path: Path) -> None:
    folder = tmp_path / "image"
    folder.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "scp_ray"):
        (folder / name).symlink_to(ROOT / name)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"),
            *("--no-build-isolation", "--wheel-dir", str(tmp_path), str(folder)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [path.name.split("-")[0] for path in tmp_path.glob("*.whl")] == ["scp_ray"]
