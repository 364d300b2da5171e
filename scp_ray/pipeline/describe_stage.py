"""Looks at the encoder where it will run, before any work is planned."""

from collections.abc import Iterator
from functools import partial

import pyarrow as pa

from scp_ray import schema
from scp_ray.config import Settings
from scp_ray.corpus.chunker import check_budgets
from scp_ray.embedding.factory import load_encoder
from scp_ray.pipeline.executor import Executor, StageSpec
from scp_ray.pipeline.pools import INVENTORY_TASK
from scp_ray.storage.manifest import EncoderEntry


class DescribeStage:
    """Loads the encoder, checks that the chunks will fit it, and says what it is."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def __call__(self, _batch: pa.Table) -> Iterator[pa.Table]:
        """Take anything and yield one row of ``DESCRIPTION``."""
        config = self._settings.embedding
        encoder = load_encoder(config.model_copy(update={"device": "cpu"}))
        check_budgets(self._settings.chunking, encoder.max_tokens)
        entry = EncoderEntry(
            model=config.model,
            dtype=config.dtype,
            revision=encoder.revision,
            dim=encoder.dim,
            max_tokens=encoder.max_tokens,
        )
        row = {schema.ENTRY_JSON: entry.model_dump_json()}
        yield pa.Table.from_pylist([row], schema=schema.DESCRIPTION)


def describe_encoder(executor: Executor, settings: Settings) -> EncoderEntry:
    """Return the encoder of a run.

    Raises:
        ConfigError: If chunk and prefix budgets exceed what the encoder takes.
        EncoderError: If it cannot be loaded.
    """
    one_row = pa.Table.from_pylist([{schema.ENTRY_JSON: ""}], schema=schema.DESCRIPTION)
    stage = StageSpec(INVENTORY_TASK, partial(DescribeStage, settings), batch_rows=1)
    (table,) = executor.run(one_row, [stage])
    return EncoderEntry.model_validate_json(table[schema.ENTRY_JSON][0].as_py())
