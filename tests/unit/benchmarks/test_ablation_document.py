"""The results of a study in its document."""

import pytest

from benchmarks.ablation_document import MARKER, with_results

RESULTS = "# Ablations\n\n9 cells\n\n## Gap\n\n| a |\n"


def test_results_take_the_place_of_earlier_ones() -> None:
    document = f"# Head\n\n## Study\n\n{MARKER}\nold\n"
    written = with_results(document, RESULTS)
    assert written == f"# Head\n\n## Study\n\n{MARKER}\n9 cells\n\n### Gap\n\n| a |\n"
    assert with_results(written, RESULTS) == written


def test_a_document_without_a_place_for_them_is_left() -> None:
    with pytest.raises(ValueError, match="has no line '<!-- results -->'"):
        with_results("# Head\n", RESULTS)
