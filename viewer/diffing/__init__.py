"""What differs between two runs, from facts to lines."""
