"""Two kinds of import contract that import-linter does not have; `pyproject.toml` configures them.

They accept names of modules that do not exist yet, so a rule can be written before the code.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

#: The importing module, the imported module, the line's number, and its text.
Breach = tuple[str, str, int, str]


class _DirectImports(Contract):
    """A contract that checks each direct import separately."""

    def breaches(self, graph: ImportGraph) -> Iterator[tuple[str, str]]:
        raise NotImplementedError

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        found = [breach for pair in sorted(self.breaches(graph)) for breach in _details(graph, *pair)]
        return ContractCheck(kept=not found, metadata={"breaches": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for importer, imported, line, text in check.metadata["breaches"]:
            output.print_error(f"{importer} imports {imported} (line {line}): {text}")


class OnlyIn(_DirectImports):
    """A contract that only `homes` import `vendors`."""

    vendors = fields.SetField(subfield=fields.StringField())
    homes = fields.SetField(subfield=fields.StringField())

    def breaches(self, graph: ImportGraph) -> Iterator[tuple[str, str]]:
        for vendor in self.vendors & graph.modules:  # type: ignore[operator]
            for importer in graph.find_modules_that_directly_import(vendor):
                if not _inside(importer, self.homes):  # type: ignore[arg-type]
                    yield importer, vendor


class StandardLibrary(_DirectImports):
    """A contract that `modules` import only our own modules and the standard library."""

    modules = fields.SetField(subfield=fields.StringField())

    def breaches(self, graph: ImportGraph) -> Iterator[tuple[str, str]]:
        for importer in graph.modules:
            if not _inside(importer, self.modules):  # type: ignore[arg-type]
                continue
            for imported in graph.find_modules_directly_imported_by(importer):
                if graph.is_module_squashed(imported) and imported not in sys.stdlib_module_names:
                    yield importer, imported


def _inside(module: str, packages: set[str]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def _details(graph: ImportGraph, importer: str, imported: str) -> Iterator[Breach]:
    for detail in graph.get_import_details(importer=importer, imported=imported):
        yield importer, imported, detail["line_number"], detail["line_contents"]
