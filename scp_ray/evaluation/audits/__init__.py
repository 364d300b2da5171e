"""Evidence audits: reviews of texts and ratings of OCR, read from tables and reported."""
