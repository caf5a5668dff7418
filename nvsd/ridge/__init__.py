"""Kernel ridge regression, the model behind every refit."""
