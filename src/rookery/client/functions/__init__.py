"""Jobs as functions: how they are declared in an app, and how one is run to its outcome, wherever that is."""
