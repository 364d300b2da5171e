"""A language model of random weights that answers in the shape that CHOP asks for.

It says nothing of sense, but costs what a model of its size costs: a decision reads both passages
and is one token; an extraction is the shortest object of the schema. No model hub is needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scp_ray.chop.prompting import CHANGES, CONTINUES
from scp_ray.protocols import GenerationRequest

if TYPE_CHECKING:
    import torch
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

_SEED = 0
_VOCABULARY = 4096
_MAX_SAMPLE = 24  # decisions that the share of FALSE is set for
_SPECIAL = ["<s>", "</s>"]
_MAX_TOKENS = 8192
_HEAD_SIZE = 64
_CONSTANT = 0  # dimension of the hidden states that is the same after every token
_PUSH = 40.0  # far above what other dimensions add to the value of a token
_CLOSING = '"'


@dataclass(frozen=True, slots=True)
class ModelShape:
    """Size of a made model.

    Attributes:
        hidden_size: Width, a multiple of 64.
        num_layers: Layers.
        changing_share: About this share of the decisions is FALSE.
    """

    hidden_size: int = 256
    num_layers: int = 4
    changing_share: float = 0.1


def write_llm(folder: Path, shape: ModelShape, sample: Sequence[GenerationRequest]) -> None:
    """Write a Llama with a tokenizer of its own, as Hugging Face folders are.

    Args:
        folder: Where to.
        shape: Size.
        sample: Decisions that are typical: the tokenizer is trained on them, and the share of
            FALSE is set for the first of them.
    """
    import torch

    tokenizer = _tokenizer(sample)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(_SEED)
    model = _llama(shape)
    with torch.no_grad():
        _make_constant(model)
        _balance(model, tokenizer, sample, shape.changing_share)
    model.bfloat16().save_pretrained(folder)


def _tokenizer(sample: Sequence[GenerationRequest]) -> "PreTrainedTokenizerFast":
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=_VOCABULARY,
        special_tokens=_SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = [sample[0].instructions, *(request.content for request in sample)]
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, bos_token=_SPECIAL[0], eos_token=_SPECIAL[1]
    )


def _llama(shape: ModelShape) -> "LlamaForCausalLM":
    from transformers import LlamaConfig, LlamaForCausalLM

    num_heads = shape.hidden_size // _HEAD_SIZE
    config = LlamaConfig(
        vocab_size=_VOCABULARY,
        hidden_size=shape.hidden_size,
        intermediate_size=3 * shape.hidden_size,
        num_hidden_layers=shape.num_layers,
        num_attention_heads=num_heads,
        num_key_value_heads=num_heads,
        max_position_embeddings=_MAX_TOKENS,
        bos_token_id=0,
        eos_token_id=1,
        initializer_range=shape.hidden_size**-0.5,
    )
    return LlamaForCausalLM(config)  # type: ignore[no-untyped-call]


def _make_constant(model: "LlamaForCausalLM") -> None:
    """Let no layer write to one dimension: what it adds to a token's value is then the same."""
    model.model.embed_tokens.weight[:, _CONSTANT] = 1.0
    for layer in model.model.layers:
        layer.self_attn.o_proj.weight[_CONSTANT] = 0.0
        layer.mlp.down_proj.weight[_CONSTANT] = 0.0
    model.lm_head.weight[:, _CONSTANT] = 0.0


def _balance(
    model: "LlamaForCausalLM",
    tokenizer: "PreTrainedTokenizerFast",
    sample: Sequence[GenerationRequest],
    changing_share: float,
) -> None:
    """Push the end of a string above all other tokens, and FALSE to its share."""
    import torch

    states = torch.stack([_last_state(model, tokenizer, one) for one in sample[:_MAX_SAMPLE]])
    weights, constant = model.lm_head.weight, float(states[:, _CONSTANT].mean())
    margins = _best(weights, states, _beginnings(tokenizer, CONTINUES)) - _best(
        weights, states, _beginnings(tokenizer, CHANGES)
    )
    lift = float(torch.quantile(margins, changing_share)) / constant
    weights[_beginnings(tokenizer, CHANGES), _CONSTANT] += lift
    weights[tokenizer.convert_tokens_to_ids(_CLOSING), _CONSTANT] = _PUSH / constant


def _last_state(
    model: "LlamaForCausalLM", tokenizer: "PreTrainedTokenizerFast", request: GenerationRequest
) -> "torch.Tensor":
    prompt: Any = tokenizer(f"{request.instructions}\n\n{request.content}", return_tensors="pt")
    state: torch.Tensor = model.model(prompt["input_ids"]).last_hidden_state[0, -1]
    return state


def _best(weights: "torch.Tensor", states: "torch.Tensor", tokens: Sequence[int]) -> "torch.Tensor":
    return (states @ weights[list(tokens)].T).max(dim=1).values


def _beginnings(tokenizer: "PreTrainedTokenizerFast", word: str) -> list[int]:
    """Return the tokens that a word can begin with."""
    known = tokenizer.get_vocab()
    starts = (word[:length] for length in range(1, len(word) + 1))
    return [known[start] for start in starts if start in known]
