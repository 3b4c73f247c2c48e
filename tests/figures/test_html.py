import re
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from workbench.figures.html import HTML_LIMIT, card_html, figure_html, table_html
from workbench.figures.static import figure_svg
from workbench.figures.tables import cell_text, number_text
from workbench.figures.theme import band, utc_times

HOSTILE = "<script>alert(1)</script>\"'; DROP TABLE samples; -- \x00\u202e"


def figure_of_everything():
    fig = make_subplots(rows=2, cols=1, subplot_titles=["one", "two"])
    ts = utc_times(np.arange(50_000) * 1_000_000)
    wave = np.sin(np.arange(50_000) / 500)
    wave[1000:2000] = np.nan
    fig.add_trace(go.Scatter(x=ts, y=wave, name=HOSTILE, mode="lines"), row=1, col=1)
    fig.add_trace(band(ts, wave - 0.1, wave + 0.1, name="band", fill="#5044ff"), row=1, col=1)
    fig.add_trace(go.Bar(x=[1, 2, 3], y=[4, 5, None], name="bars"), row=2, col=1)
    fig.add_trace(go.Scatter(x=[1, 2], y=[1, 2], mode="markers", name="dots"), row=2, col=1)
    fig.add_vline(x=2, line_dash="dash", row=2, col=1)
    fig.add_hrect(y0=0, y1=1, fillcolor="#c78600", opacity=0.2, row=2, col=1)
    fig.update_layout(title=HOSTILE, yaxis_title="power (W)", xaxis_title="Time (UTC)")
    return fig


def test_svg_is_wellformed_small_and_without_scripts():
    svg = figure_svg(figure_of_everything())
    root = ET.fromstring(svg)
    assert root.tag.endswith("svg")
    assert not [node for node in root.iter() if node.tag.split("}")[1] in {"script", "a", "image", "foreignObject"}]
    assert len(svg.encode()) < HTML_LIMIT
    assert "power (W)" in svg
    assert "Time (UTC)" in svg


def test_envelope_keeps_a_spike_of_one_sample():
    y = np.zeros(100_000)
    y[54_321] = 100.0
    svg = figure_svg(go.Figure(go.Scatter(x=np.arange(y.size), y=y, mode="lines")))
    path = re.search(r'd="(M[^"]+)" fill="none" stroke="#', svg)[1]
    heights = [float(pair.split(" ")[1]) for pair in re.split("[ML]", path)[1:]]
    assert min(heights) < min(sorted(heights)[-100:]) - 250  # the spike spans nearly the whole picture


def test_gap_is_drawn_as_a_gap():
    svg = figure_svg(go.Figure(go.Scatter(x=[0, 1, 2, 3, 4], y=[0, 1, None, 1, 0], mode="lines")))
    path = re.search(r'd="(M[^"]+)" fill="none" stroke="#', svg)[1]
    assert path.count("M") == 2


def test_interactive_html_holds_no_foreign_address():
    live = figure_html(figure_of_everything(), include_js="shared")
    assert not re.search(r'(src|href)="https?://', live)
    assert "<noscript><svg" in live
    assert "<script>alert" not in live
    assert "</script>alert" not in live


def test_hostile_cells_are_escaped_and_cut():
    html = table_html([HOSTILE], [[HOSTILE], ["y" * 10_000]])
    assert "<script" not in html
    assert "y" * 201 not in html


def test_table_says_how_much_it_leaves_out_and_stays_small():
    html = table_html(["a", "b"], [["x" * 150, 1.0]] * 5000, limit=5000)
    assert len(html.encode()) < HTML_LIMIT
    assert re.search(r"\d+ of 5,000 rows", html)


def test_card_leaves_parts_out_rather_than_grow():
    html = card_html("t", "s", parts=["x" * 60_000, "y" * 60_000])
    assert len(html.encode()) < HTML_LIMIT
    assert ".plot()" in html


def test_cells_say_absence_and_utc():
    assert cell_text(float("nan")) == cell_text(None) == "–"
    assert cell_text(datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))) == "2026-01-01T00:00:00Z"
    assert cell_text(datetime(2026, 1, 1, tzinfo=UTC)).endswith("Z")
    assert number_text(2**60 + 1) == f"{2**60 + 1:,}"  # beyond what float64 holds
