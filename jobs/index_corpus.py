"""Build or re-index: ``ray job submit -- python jobs/index_corpus.py CORPUS INDEX``.

CORPUS and INDEX are addresses that every node reaches: ``s3://bucket/prefix`` or a shared folder.
"""

import sys

from scp_ray.cli import main

if __name__ == "__main__":
    sys.exit(main(["index", *sys.argv[1:]]))
