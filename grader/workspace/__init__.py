"""Manage a learner's folder of lessons: copy them, open them in JupyterLab, update them."""
