"""CHOP (arXiv 2604.15802): the signature (CNM) of each chunk and the prefix made of it.

``annotate`` is the state machine over one document, ``parsing`` checks what an extractor says,
``prefix`` renders a signature in front of its chunk. All of it is pure: extractors and deciders
are adapters in ``scp_ray.annotators``.
"""
