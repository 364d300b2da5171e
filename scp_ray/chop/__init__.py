"""CHOP (arXiv 2604.15802): the signature (CNM) of each chunk and the prefix made of it.

``annotate`` is the state machine over one document, ``prompting`` what a language model is asked,
``parsing`` and ``grounding`` check what an extractor says, ``prefix`` renders a signature in front
of its chunk. All of it is pure: extractors and deciders are adapters in ``scp_ray.annotators``.
"""
