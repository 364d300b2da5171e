"""Reports as one page of HTML, and as text: tables, intervals and plots that open offline."""
