"""scp_ray: from a large collection of long, similar documents to the right passage, on Ray.

The method (``chop``, ``retrieval``) is pure and imports nothing heavy. ``pipeline`` builds an
index with Ray Data, ``serve`` answers questions with Ray Serve, ``cli`` is the command line.
"""

__version__ = "0.1.0"

__all__ = ["__version__"]
