"""Our lexical index and bm25s over the same terms: build, search and size, by turns."""

import gc
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import bm25s
import numpy as np

from benchmarks.figures import rounded, say, spread
from benchmarks.query_rounds import percentiles
from scp_ray.index.lexical import LexicalIndex, read_postings, write_postings
from scp_ray.index.postings import Postings, invert
from scp_ray.index.term_statistics import TermStatistics, sum_term_statistics
from scp_ray.records import Stemmer
from scp_ray.retrieval.bm25 import LexicalQuery
from scp_ray.retrieval.candidates import CandidateList, wordy_candidates
from scp_ray.retrieval.terms import terms_of
from scp_ray.sections import LexicalConfig

NUM_WANTED = 10
_SAME_SCORES = 1e-5
