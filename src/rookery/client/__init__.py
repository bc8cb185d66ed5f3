"""The Python SDK: clients of a Rookery server. May import only `rookery.model`; nothing is loaded before it is used."""
