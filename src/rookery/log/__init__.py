"""The order of batches. On a single node the SQLite commit itself is the order."""
