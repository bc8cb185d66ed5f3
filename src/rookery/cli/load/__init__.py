"""The load of `rookery bench`: producers and workers that do nothing but keep a server busy, and count."""
