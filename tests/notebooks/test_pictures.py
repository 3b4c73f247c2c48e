import xml.etree.ElementTree as ET

from shared import ROOT


def test_the_picture_of_the_demo_is_small_plain_and_whole():
    """Drawn anew by docs/make_pictures.py."""
    path = ROOT / "docs" / "pictures" / "first_incident.svg"
    assert path.stat().st_size < 300_000
    root = ET.fromstring(path.read_text(encoding="utf-8"))
    tags = {element.tag.rsplit("}", 1)[-1] for element in root.iter()}
    assert tags <= {"svg", "style", "rect", "path", "text", "title", "g"}
    said = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert sum(text.startswith("gpu.") for text in said) == 4
