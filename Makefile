# Everything a developer needs. Each target makes the virtual environment it works in.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: test check format bench bench-peers docs ui ui-check ui-pictures run clean

test: $(INSTALLED) ui/node_modules/.installed
	command -v chromium-headless-shell || apt-get install --yes --quiet chromium-headless-shell || \
	command -v chromium || command -v chromium-browser || command -v google-chrome || apt-get install --yes --quiet chromium
	$(BIN)/pytest -n $$(nproc) --dist loadfile tests/chaos tests/worker
	$(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder --ignore tests/chaos --ignore tests/worker

check: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(INSTALLED)
	$(BIN)/python tools/make_sync_client.py
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(INSTALLED)
	command -v wrk >/dev/null || apt-get install --yes --quiet wrk
	$(BIN)/python -m bench

docs: $(INSTALLED)
	$(BIN)/python -m rookery.cli.reference > docs/cli.md

bench-peers: $(INSTALLED)
	$(BIN)/python -m bench.peers

ui: ui/node_modules/.installed $(INSTALLED)
	$(BIN)/python tools/make_ui_records.py
	cd ui && npm run --silent build

ui-check: ui
	cd ui && npm run --silent check && npm test --silent
	test -z "$$(git status --porcelain src/rookery/ui ui/src/lib/records.ts)" || (echo "run make ui, and commit what it builds" && false)

ui-pictures: $(INSTALLED)
	$(BIN)/python tools/make_ui_pictures.py

run: $(INSTALLED)
	$(BIN)/rookery server

clean:
	rm -rf $(VENV) ui/node_modules .bench .pytest_cache .mypy_cache .ruff_cache .hypothesis

ui/node_modules/.installed: ui/package-lock.json
	cd ui && npm install --no-save --silent
	touch $@

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@
