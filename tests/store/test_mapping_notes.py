"""What is stated of files and fits none of them is said: most likely a slip."""

import workbench as wb


def test_statements_that_fit_no_file_are_named(tmp_path):
    (tmp_path / "a.log").write_text("2026-03-01T00:00:00+00:00 n1 kernel: eth0: link is down\n")
    (tmp_path / "map.toml").write_text(
        '[[file]]\nglob = "*.log"\nzone = "UTC"\n\n[[file]]\nglob = "smi/*.csv"\nhost = "n1"\n'
    )
    report = wb.open(tmp_path / "store").ingest(
        tmp_path / "a.log", clock={"bmc*": "UTC", "a.*": "UTC"}, mapping=tmp_path / "map.toml"
    )
    assert "--clock 'bmc*=UTC' fits no file" in report.summary
    assert "rule 2 (line 5) of map.toml fits no file" in report.summary
    assert "a.*" not in report.summary
    assert "rule 1" not in report.summary
