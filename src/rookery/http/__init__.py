"""The HTTP face: parse, check, say it as an operation, and say the result as JSON. It keeps no state."""
