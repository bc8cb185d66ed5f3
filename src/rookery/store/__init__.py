"""The SQLite file: its schema, its migrations, the connections to it, and every read."""
