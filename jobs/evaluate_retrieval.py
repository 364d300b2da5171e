"""Measure it: ``ray job submit -- python jobs/evaluate_retrieval.py INDEX QUERIES``."""

import sys

from scp_ray.cli import main

if __name__ == "__main__":
    sys.exit(main(["evaluate", *sys.argv[1:]]))
