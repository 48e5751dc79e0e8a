"""Tests that hold the httpx documentation corpus to the truth: they run it, and they check it."""
