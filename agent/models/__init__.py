"""Models that need no network: scripted, keyword search, and any callable."""
