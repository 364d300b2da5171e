"""Ablations: a grid of settings over query sets, measured on the product's own parts. Pure.

``config`` reads what is asked, ``grid`` lays out its cells, ``signatures`` and ``variant`` make
the chunks of one way to cut and annotate a corpus, ``scoring`` ranks them for every question,
``measure`` counts what is found, and ``results`` and ``report`` compare. What needs a model, a
store or a cluster is in ``scp_ray.pipeline``.
"""
