"""Audit evidence: ``ray job submit -- python jobs/audit_evidence.py text|ocr|sample ...``."""

import sys

from scp_ray.cli import main

if __name__ == "__main__":
    sys.exit(main(["audit", *sys.argv[1:]]))
