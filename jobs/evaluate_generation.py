"""Measure answers: ``ray job submit -- python jobs/evaluate_generation.py INDEX QUERIES ...``.

It runs where the job runs; a language model of ``chop.annotator: vllm`` starts there.
"""

import sys

from scp_ray.cli import run_job
from scp_ray.commands import evaluate_generation

if __name__ == "__main__":
    sys.exit(run_job(evaluate_generation, "evaluate_generation.py", sys.argv[1:]))
