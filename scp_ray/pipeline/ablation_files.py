"""The files that an ablation leaves: figures, questions, page and Markdown."""

import json
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from scp_ray.evaluation.ablation.results import StudyResults
from scp_ray.evaluation.pages.content import Report
from scp_ray.evaluation.pages.markdown import render_markdown
from scp_ray.evaluation.pages.page import render_page
from scp_ray.storage.opening import open_store

FIGURES_FILE: Final = "ablation.json"
PAGE_FILE: Final = "ablation.html"
MARKDOWN_FILE: Final = "ablation.md"
QUESTIONS_FILE: Final = "cells.parquet"


def write_results(out: str, results: StudyResults, report: Report) -> dict[str, Any]:
    """Write the results to an address; the same cells give the same bytes of JSON.

    Returns:
        What ``ablation.json`` holds.
    """
    store = open_store(out)
    tree = results.to_tree()
    text = json.dumps(tree, ensure_ascii=False, indent=1) + "\n"
    store.write(FIGURES_FILE, text.encode())
    store.write(PAGE_FILE, render_page(report).encode())
    store.write(MARKDOWN_FILE, render_markdown(report).encode())
    sink = pa.BufferOutputStream()
    pq.write_table(results.to_table(), sink, compression="zstd")
    store.write(QUESTIONS_FILE, sink.getvalue().to_pybytes())
    return tree
