"""Adapters that produce signatures and continuity decisions, from text alone, never from a path.

``heuristic`` needs no model; ``none`` writes no signatures. ``factory`` picks by the settings.
"""
