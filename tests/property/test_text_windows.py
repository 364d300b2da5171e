"""Windows over texts that are too long for a model."""

from hypothesis import given
from hypothesis import strategies as st

from scp_ray.embedding.hash_encoder import WordTokenizer
from scp_ray.embedding.text_windows import text_windows

TOKENIZER = WordTokenizer()


@given(st.lists(st.sampled_from([" ", "\n", " \t "])), st.integers(1, 12))
def test_windows_fit_and_every_token_is_in_one(spaces: list[str], max_tokens: int) -> None:
    words = [f"w{number}" for number in range(len(spaces))]
    text = "".join(space + word for space, word in zip(spaces, words, strict=True))
    windows = text_windows(text, max_tokens, TOKENIZER)
    assert max(TOKENIZER.count_tokens(windows)) <= max_tokens
    assert all(window in text for window in windows)
    firsts = [words.index(window.split()[0]) for window in windows if words]
    assert firsts == sorted(set(firsts))
    assert {word for window in windows for word in window.split()} == set(words)


@given(st.text(max_size=300), st.integers(1, 20))
def test_no_sign_of_any_text_is_lost(text: str, max_tokens: int) -> None:
    windows = text_windows(text, max_tokens, TOKENIZER)
    assert max(TOKENIZER.count_tokens(windows)) <= max_tokens
    assert {sign for sign in text if not sign.isspace()} == {
        sign for window in windows for sign in window if not sign.isspace()
    }
