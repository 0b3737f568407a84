"""One name for one thing, floors without circles, folders that fit one screen: `python -m tests.structure` prints the figures."""

from __future__ import annotations

from tests.tools import structure

# Functions that do the same for two formats or two programs, each with its reason.
SHARED_FUNCTIONS = {
    "main": "the console entry point of each of the two programs",
    "__getattr__": "how a module hands names on lazily (PEP 562)",
}

# Files that share a name, each with its reason.
SHARED_FILES = {
    "peers.py": "the provider is copied into its host, with the file of the launcher in the place of this one",
    "packing.py": "the same, with the file of the store",
}

MOST_FILES = 15
MOST_PARTICIPLES = 0.02


def test_no_class_name_stands_twice() -> None:
    assert structure.repeated(structure.class_definitions()) == {}


def test_a_function_name_stands_twice_only_for_a_reason() -> None:
    assert set(structure.repeated(structure.function_definitions())) == set(SHARED_FUNCTIONS)
    assert len(SHARED_FUNCTIONS) <= 10


def test_a_file_name_stands_twice_only_for_a_reason() -> None:
    assert set(structure.repeated(structure.file_names())) == set(SHARED_FILES)
    assert len(SHARED_FILES) <= 8


def test_hardly_a_function_is_one_bare_participle() -> None:
    count = sum(len(modules) for modules in structure.function_definitions().values())
    assert len(structure.participles()) <= MOST_PARTICIPLES * count, structure.participles()


def test_no_folder_has_more_files_than_fit_one_screen() -> None:
    assert {folder: size for folder, size in structure.folder_sizes().items() if size > MOST_FILES} == {}


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert structure.import_circles() == []


def test_each_folder_has_floors() -> None:
    assert structure.folder_circles() == []


def test_each_package_says_what_to_read_first() -> None:
    silent = [
        name
        for name, file in structure.source_files().items()
        if file.stem == "__init__" and "." in name and "first" not in (structure.docstring(name) or "")
    ]
    assert silent == []


def test_the_measure_sees_a_circle() -> None:
    arrows = {"a": frozenset("b"), "b": frozenset("c"), "c": frozenset("a"), "d": frozenset("a")}
    assert structure.circles(arrows) == [["a", "b", "c"]]


def test_the_measure_knows_a_participle() -> None:
    names = ("told", "_listed", "merging", "merge_spans", "feed", "merged_spans")
    assert [name for name in names if structure.is_participle(name)] == ["told", "_listed", "merging"]
