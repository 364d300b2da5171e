"""The prefixes of a set of CNMs at several budgets, held against ``prefixes.json``.

A changed file is to be reviewed like code, together with ``PREFIX_REVISION``. To write it anew:
``python tests/golden/test_prefix_rendering.py``
"""

import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from scp_ray.chop.prefix import PREFIX_REVISION, embedding_text, render_prefix
from scp_ray.protocols import Int64Array
from scp_ray.records import Cnm

GOLDEN_FILE = Path(__file__).with_name("prefixes.json")
BUDGETS = (0, 4, 8, 12, 40)
CNMS = [
    Cnm(),
    Cnm("dehumidifier", ("Water tank", "Draining"), "Veltra MK-20"),
    Cnm("folding e-bike", ("Battery",), None),
    Cnm(None, ("Fehlercodes",), "Osmia P7 Größe L"),
    Cnm(None, (), "Tarn Brook 500 Pro Max Second Edition"),
    Cnm(None, ("History of the valley",), None),
]


class CharacterTokenizer:
    """One token for every four characters."""

    def token_offsets(self, text: str) -> Int64Array:
        starts = np.arange(0, len(text), 4, dtype=np.int64)
        return np.stack([starts, np.minimum(starts + 4, len(text))], axis=1)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(self.token_offsets(text)) for text in texts]


def rendered() -> dict[str, object]:
    tokenizer = CharacterTokenizer()
    prefixes = [
        {
            "cnm": [cnm.category, list(cnm.nouns), cnm.model],
            "budget_tokens": budget,
            "prefix": (prefix := render_prefix(cnm, tokenizer, budget)),
            "embedded": embedding_text(prefix, "A chunk."),
        }
        for cnm, budget in itertools.product(CNMS, BUDGETS)
    ]
    return {"prefix_revision": PREFIX_REVISION, "prefixes": prefixes}


def test_prefixes_are_as_they_were() -> None:
    assert rendered() == json.loads(GOLDEN_FILE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    text = json.dumps(rendered(), ensure_ascii=False, indent=1)
    GOLDEN_FILE.write_text(f"{text}\n", encoding="utf-8")
