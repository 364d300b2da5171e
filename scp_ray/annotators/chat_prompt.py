"""Token ids of a prompt, as the chat template of a model puts instructions and content together."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Protocol

_PLACE = "\ue000content\ue000"  # where the template puts the content; no whitespace to strip


class ChatTokenizer(Protocol):
    """What is asked of a tokenizer of transformers."""

    chat_template: Any

    def __call__(self, text: str, **options: bool) -> Mapping[str, Any]:
        """Return the ``input_ids`` of a text."""
        ...

    def apply_chat_template(self, conversation: list[dict[str, str]], **options: Any) -> Any:  # noqa: ANN401
        """Return the text of a conversation."""
        ...


class ChatPrompt:
    """Builds prompts. Belongs to one thread.

    The parts are tokenized each on its own: the tokens of the instructions are the same in every
    prompt, and are made once; and what looks like a special token in a document is plain text.
    """

    def __init__(self, tokenizer: ChatTokenizer) -> None:
        """Take the tokenizer of the model."""
        self._tokenizer = tokenizer
        self._frame = lru_cache(maxsize=8)(self._tokenized_frame)

    def token_ids(self, instructions: str, content: str) -> list[int]:
        """Return the prompt: instructions first, then the content, ready for the answer."""
        before, after = self._frame(instructions)
        readable = content.encode("utf-8", "replace").decode()  # without lone surrogates
        shown = self._tokenizer(readable, add_special_tokens=False, split_special_tokens=True)
        return [*before, *shown["input_ids"], *after]

    def _tokenized_frame(self, instructions: str) -> tuple[list[int], list[int]]:
        if not self._tokenizer.chat_template:
            return list(self._tokenizer(f"{instructions}\n\n")["input_ids"]), []
        before, _, after = self._templated(instructions).partition(_PLACE)
        return (
            list(self._tokenizer(before, add_special_tokens=False)["input_ids"]),
            list(self._tokenizer(after, add_special_tokens=False)["input_ids"]),
        )

    def _templated(self, instructions: str) -> str:
        from jinja2 import TemplateError

        system = {"role": "system", "content": instructions}
        try:
            return self._apply([system, {"role": "user", "content": _PLACE}])
        except TemplateError:  # how templates without a system part refuse one
            return self._apply([{"role": "user", "content": f"{instructions}\n\n{_PLACE}"}])

    def _apply(self, conversation: list[dict[str, str]]) -> str:
        text = self._tokenizer.apply_chat_template(
            conversation,
            tokenize=False,
            add_generation_prompt=True,
            enable_thinking=False,  # the answer is a word or an object; others do not read this
        )
        return str(text)
