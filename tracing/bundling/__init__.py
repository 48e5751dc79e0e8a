"""Runs as a lossless text, written and read."""
