"""``scp-ray audit``: how good evidence is, by what people say of it."""

from typing import Final

from scp_ray.commands import audit_ocr, audit_sample, audit_text

HELP = "audit evidence by what people say of it"
DESCRIPTION = """\
The evidence audits of the SCP-HNSW paper: reviews of texts, ratings of OCR results, and a sheet of
this index's own results for people to review.
"""
EXAMPLES = """\
examples:
  scp-ray audit sample index/ queries.jsonl --out sheet.csv
  scp-ray audit text sheet.csv --index index/ --out report/
  scp-ray audit ocr ratings.csv --out report/
"""
PARTS: Final = {"text": audit_text, "ocr": audit_ocr, "sample": audit_sample}
