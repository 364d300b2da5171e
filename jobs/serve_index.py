"""Serve an index: ``ray job submit -- python jobs/serve_index.py INDEX``."""

import sys

from scp_ray.cli import main

if __name__ == "__main__":
    sys.exit(main(["serve", *sys.argv[1:]]))
