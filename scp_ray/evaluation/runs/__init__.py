"""One evaluation of an index over a query file: what was asked, figures, files and page."""
