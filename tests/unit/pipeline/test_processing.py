"""How many documents an actor gets at once."""

import pytest

from scp_ray.config import Settings
from scp_ray.pipeline.plan import Locator
from scp_ray.pipeline.processing import batch_documents

MB = 1_000_000


def batch(*sizes: int) -> int:
    locators = [Locator(f"doc-{n}", "", -1, size, "") for n, size in enumerate(sizes)]
    return batch_documents(locators, Settings())


def test_documents_of_one_size_are_some_400_kb_together() -> None:
    assert batch(*[70_000] * 1000) == 5
    assert batch(*[400] * 100_000) == 1000


def test_there_are_calls_to_share_in_a_small_corpus() -> None:
    assert batch(*[1000] * 20) == 5
    assert batch() == batch(5) == 1


def test_a_long_document_among_short_ones_leaves_their_batches_large() -> None:
    assert batch(35 * MB, *[35_000] * 999) == 5
    assert batch(300 * MB, *[1000] * 10_000) > 10


@pytest.mark.parametrize("others", [0, 100_000])
def test_long_documents_side_by_side_fit_into_memory_together(others: int) -> None:
    assert 1 <= batch(*[20 * MB] * 40, *[500] * others) * 20 <= 64


def test_the_setting_wins() -> None:
    settings = Settings().with_values("cluster", documents_per_batch=7)
    assert batch_documents([Locator("a", "", -1, 1, "")], settings) == 7
