"""How well a language model answers from the passages that an index finds."""
