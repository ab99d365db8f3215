"""A learner's folder of lessons: copied, opened in JupyterLab, brought up to date."""
