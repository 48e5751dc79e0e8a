"""`python -m viewer`."""

from viewer.cli import main

main()
