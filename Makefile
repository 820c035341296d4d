# Two commands matter: `make run` and `make test`. `make help` lists the others.
SHELL := /bin/sh
BIN := .venv/bin
unexport PYTHONDONTWRITEBYTECODE  # tests start many processes, and each is three times as quick from bytecode

.PHONY: help run demo pictures test test-fast coverage check fix bench clients soak apps screenshots stranger lock schema settings messages clean
.PHONY: check-types check-tests check-style check-imports check-dependencies

help: ## List the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

run: ## Serve on http://127.0.0.1:8080 (installs and migrates what is missing)
	@tools/venv run
	@$(BIN)/tsuzuki serve

demo: ## Serve a demo with sample comics and feeds; it makes no outside connections and stores nothing
	@tools/venv run
	@$(BIN)/tsuzuki demo

test: check ## Everything: checks, then all tests on SQLite, PostgreSQL, Redis and Chromium
	@tools/chromium
	$(BIN)/pytest -n 4 --dist worksteal --ignore=tests/crash  # four keep two cores busy: tests wait half of their time
	$(BIN)/pytest tests/crash  # by itself: it times recoveries

test-fast: ## The tests that need no server and no browser
	@tools/venv dev
	$(BIN)/pytest --no-servers

coverage: ## What the tests run of src, in per cent of lines and branches; what child processes run is not seen
	@tools/venv dev
	@tools/chromium
	$(BIN)/pytest -n 4 --dist worksteal --ignore=tests/crash --cov --cov-report=term

check: ## Format, lint, types, import contracts, dependencies
	@tools/venv dev
	@$(MAKE) --no-print-directory --jobs=2 check-types check-tests check-style check-imports check-dependencies

check-types:
	$(BIN)/mypy

check-tests:  # that all can be imported; their bytecode is there then for each process of `make test`
	@found=$$($(BIN)/pytest --collect-only -qqq) || { echo "$$found"; exit 1; }

check-style:
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check --quiet

check-imports:
	$(BIN)/lint-imports --no-logo

check-dependencies:
	$(BIN)/deptry src

fix: ## Format, and fix what ruff can
	@tools/venv dev
	$(BIN)/ruff check --fix --quiet --exit-zero
	$(BIN)/ruff format --quiet

bench: ## Every benchmark, one after the other; `python -m bench.peers` compares with others, `python -m bench.flame` draws graphs
	@tools/venv dev
	@for script in bench/[a-z]*.py; do \
	  case $$script in bench/__init__.py|bench/harness.py|bench/flame.py) continue;; esac; \
	  echo "== $$script"; $(BIN)/python -m "bench.$$(basename $$script .py)" || exit 1; \
	done

clients: ## Programs of reader apps against a running server; compiles them with cargo and Maven, the first time for minutes
	@tools/venv dev
	$(BIN)/pytest -m clients --all-engines -rs

soak: ## The long tests with their full counts, and the programs of reader apps
	@tools/venv dev
	$(BIN)/pytest --soak -m "soak or clients" --timeout=3600 -n 2 --dist worksteal

screenshots: ## Every page in both themes and two widths, into screenshots/
	@tools/venv dev
	@tools/chromium
	$(BIN)/python tools/screenshots.py

pictures: ## The README's pictures, taken of the demo
	@tools/venv dev
	@tools/chromium
	$(BIN)/python tools/pictures.py

stranger: ## The first ten minutes of a new user in a fresh clone, timed step by step
	@tools/venv dev
	@tools/chromium
	$(BIN)/python tools/stranger.py

lock: ## Compile the hashed lock files from pyproject.toml
	@tools/venv dev
	tools/lock

schema: ## Write docs/schema.md (tables, and the order of locks) from a freshly migrated database
	@tools/venv dev
	$(BIN)/python tools/schema.py

settings: ## Write docs/settings.md and .env.example from the settings' descriptions
	@tools/venv dev
	tools/settings-docs

apps: ## Write the steps of docs/apps.md from what the page of apps says
	@tools/venv dev
	$(BIN)/python tools/apps.py

messages: ## Collect the pages' texts for translators into src/tsuzuki/web/translations/
	@tools/venv dev
	$(BIN)/python tools/messages.py

clean: ## Remove what make created (never data/)
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist
