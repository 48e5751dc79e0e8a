"""Runs as tests: written, replayed, and recorded anew."""
