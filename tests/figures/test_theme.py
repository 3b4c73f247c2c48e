from itertools import combinations

import numpy as np
import plotly.graph_objects as go
import pytest

from workbench.figures.theme import PALETTE, apply_theme, band, theme_of, utc_times, words

# Simulation of colour blindness: Machado, Oliveira and Fernandes (2009), severity 1, linear RGB.
SIGHT = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def linear(hex_colour):
    srgb = np.array([int(hex_colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def luminance(hex_colour):
    return float(linear(hex_colour) @ XYZ[1])


def contrast(one, two):
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


def lab(rgb):
    ratio = np.clip(rgb, 0, 1) @ XYZ.T / XYZ.sum(axis=1)
    f = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("sight", SIGHT)
def test_any_two_colours_differ_for_every_sight(sight):
    seen = [lab(SIGHT[sight] @ linear(one)) for one in PALETTE]
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) >= 20


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_contrast_meets_wcag_on_both_backgrounds(mode):
    look = theme_of(mode)
    assert all(contrast(one, look.background) >= 3 for one in PALETTE)
    assert contrast(look.text, look.background) >= 4.5
    assert contrast(look.muted, look.background) >= 4.5


def test_times_become_a_date_axis_in_utc():
    fig = apply_theme(go.Figure(go.Scatter(x=utc_times(np.array([0, 3_600_000_000])), y=[0, 1])))
    assert fig.to_plotly_json()["data"][0]["x"].dtype == np.dtype("datetime64[us]")
    assert '"1970-01-01T01:00:00' in fig.to_json()


def test_band_breaks_at_gaps():
    low = np.array([0.0, 0, np.nan, 0, 0])
    area = band(np.arange(5.0), low, low + 1, name="peers", fill="#5044ff")
    assert np.isnan(area.y).sum() == 2  # one end per run
    assert set(area.x[np.isfinite(area.y)]) == {0.0, 1.0, 3.0, 4.0}
    assert band(np.arange(2.0), np.full(2, np.nan), np.ones(2), name="", fill="#000000").x.size == 0


def test_markup_in_names_is_shown_not_read():
    assert words('<a href="javascript:x">') == '&lt;a href="javascript:x"&gt;'
    assert len(words("x" * 1000)) == 200
