"""Object stores, the layout of an index in them, and how a generation is published."""
