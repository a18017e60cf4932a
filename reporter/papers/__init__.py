"""Figures for papers: presets of published figures, drawn by Matplotlib in fixed sizes with
embedded fonts."""
