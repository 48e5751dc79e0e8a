"""The commands, one module for each kind: they parse, read, call a pure view, and print."""
