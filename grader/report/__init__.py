"""The last arrow: feedback and results as text, HTML, JSON and CSV. Nothing here judges anything."""
