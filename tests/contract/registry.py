"""What the contract tests run on: one line buys a method the whole contract."""

from workbench.readers.registry import BUILT_IN

#: Every built-in reader, with a folder of small files in ``data_samples/fixtures/`` of its name.
READERS = BUILT_IN
#: Readers whose files are no text: line ends, byte-order marks and cuts mean nothing to them.
BINARY = frozenset({"parquet"})
