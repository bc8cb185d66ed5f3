"""Every call of the API, once, as a function that returns a `Request`. Nothing here sends anything."""
