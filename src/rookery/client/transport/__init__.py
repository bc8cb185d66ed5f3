"""How requests travel: over HTTP, blocking or in an event loop, or over the stream. Knows nothing of what they ask."""
