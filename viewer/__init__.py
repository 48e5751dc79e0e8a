"""Looking at recorded runs: pure functions from facts to views, one renderer, a thin command line."""
