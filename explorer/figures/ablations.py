"""What each filter matters to a pair, for several encoders side by side. Arrays and labels in, go.Figure out."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from explorer.analysis.ablation import Ablation
from explorer.analysis.writing import MINUS
from explorer.figures.theme import DIVERGING, TEMPLATE


def ablations_figure(ablations: Mapping[str, Ablation], show: int = 15) -> go.Figure:
    """Returns, for each encoder, the filters whose loss changes the cosine most, as signed bars on one scale.

    A bar's customdata is [encoder, layer, filter].

    Args:
        ablations: The cosines without each filter, by encoder; all of one layer.
        show: At most this many bars an encoder.
    """
    titles = [f"{escape(name)}: cosine {a.cosine:.3f} with all" for name, a in ablations.items()]
    figure = make_subplots(rows=1, cols=len(ablations), column_titles=titles, horizontal_spacing=0.12)
    limit = max((float(abs(a.changes).max()) for a in ablations.values()), default=0.0) * 1.35 or 1.0
    most = 1
    for column, (name, a) in enumerate(ablations.items(), start=1):
        order = a.ranking()[:show]
        most = max(most, len(order))
        bars = go.Bar(
            x=a.changes[order],
            y=[f"filter {number}" for number in order],
            orientation="h",
            customdata=[[name, a.layer, int(number)] for number in order],
            text=[f"{a.changes[number]:+.4f}".replace("-", MINUS) for number in order],
            textposition="outside",
            marker={"color": [DIVERGING[1][1] if a.changes[number] < 0 else DIVERGING[3][1] for number in order]},
            hovertext=[f"filter {number}<br>cosine {a.cosine:.4f} becomes {a.cosines[number]:.4f}" for number in order],
            hoverinfo="text",
            cliponaxis=False,
        )
        figure.add_trace(bars, row=1, col=column)
    figure.update_yaxes(autorange="reversed", type="category")
    figure.update_xaxes(title_text="change in cosine without the filter", range=[-limit, limit], nticks=5)
    return figure.update_layout(template=TEMPLATE, height=120 + 22 * most, showlegend=False, bargap=0.2)
