"""The codeQ API under `/v1/codeq`: a thin skin that says tasks as jobs and jobs as tasks. Rules are below."""
