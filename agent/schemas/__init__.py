"""Hand-written JSON Schemas of tools: what they may hold, and how arguments are held to them."""
