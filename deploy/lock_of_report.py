"""Print the exact versions that pip's installation report names, one a line."""

import json
import sys
from pathlib import Path


def main() -> None:
    """Read the report that the argument names."""
    report = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    packages = [package["metadata"] for package in report["install"]]
    lines = [
        f"{package['name']}=={package['version'].partition('+')[0]}\n"
        for package in packages
        if package["name"] != "scp-ray"
    ]
    sys.stdout.write("# Exact versions for workers with NVIDIA GPUs; see `make lock-gpu`.\n")
    sys.stdout.writelines(sorted(lines, key=str.lower))


if __name__ == "__main__":
    main()
