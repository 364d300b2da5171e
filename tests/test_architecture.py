"""The house rules that no linter holds."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "scp_ray"
MODULES = sorted(PACKAGE.rglob("*.py"))
BANNED_NAMES = {"utils", "helpers", "common", "misc", "base", "core", "types"}
MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 60
ALLOWED_AT_THE_ROOT = {
    "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md",
    "benchmarks", "cluster.yaml", "deploy", "docs", "examples", "jobs", "pyproject.toml",
    "requirements-gpu.lock", "requirements.lock", "scp_ray", "serve_config.yaml", "tests",
}  # fmt: skip


def _identify(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", MODULES, ids=_identify)
def test_module_is_short_and_well_named(path: Path) -> None:
    assert path.stem not in BANNED_NAMES
    source = path.read_text()
    assert len(source.splitlines()) <= MAX_MODULE_LINES
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            assert node.end_lineno - node.lineno < MAX_FUNCTION_LINES, node.name


@pytest.mark.parametrize("path", MODULES, ids=_identify)
def test_module_explains_itself(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text()))
    assert docstring
    assert len(docstring) > 20


def test_every_unit_test_mirrors_a_module() -> None:
    for test in (ROOT / "tests" / "unit").rglob("test_*.py"):
        relative = test.relative_to(ROOT / "tests" / "unit")
        name = relative.name.removeprefix("test_")
        candidates = [PACKAGE / relative.parent / name, ROOT / relative.parent / name]
        assert any(path.exists() for path in candidates), f"{relative} tests no module"


def test_root_has_only_what_belongs_there() -> None:
    listed = subprocess.run(
        ["git", "ls-files"],  # noqa: S607
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    top = {name.split("/")[0] for name in listed}
    assert {name for name in top if not name.startswith(".")} <= ALLOWED_AT_THE_ROOT


def test_method_and_settings_import_nothing_heavy() -> None:
    code = (
        "import sys, pkgutil, importlib, scp_ray.chop, scp_ray.retrieval, scp_ray.config\n"
        "for package in (scp_ray.chop, scp_ray.retrieval):\n"
        "    for module in pkgutil.iter_modules(package.__path__, package.__name__ + '.'):\n"
        "        importlib.import_module(module.name)\n"
        "heavy = {'ray', 'torch', 'faiss', 'sentence_transformers', 'fastapi'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_documents_name_only_files_that_exist() -> None:
    table = (ROOT / "ARCHITECTURE.md").read_text()
    for name in re.findall(r"`((?:scp_ray|jobs|tests|docs|benchmarks|examples)/[^`*<>]*)`", table):
        assert (ROOT / name).exists(), name
