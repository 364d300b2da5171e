"""What the method is compared with: other ways to cut texts, and other ways to choose results."""
