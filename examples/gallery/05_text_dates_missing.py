"""
Text, dates and missing values
==============================

Frames go in as they are: text becomes categories, dates become trend, season and weekday, missing values choose their
side at every split.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from boostforest import BoostForestRegressor, plot

rng = np.random.default_rng(0)
n = 600
day = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 730, n), unit="D")
town = rng.choice(["Bonn", "Essen", "Hagen", "Herne", "Köln"], n)
sky = rng.choice(["sun", "rain", None], n, p=[0.5, 0.4, 0.1])
warmth = 10 - 10 * np.cos(2 * np.pi * day.day_of_year / 365) + rng.normal(0, 2, n)
sales = 50 + 4 * warmth + 20 * (sky == "sun") + 15 * (town == "Köln") + 10 * (day.day_of_week >= 5)
sales += rng.normal(0, 5, n)
warmth = np.where(rng.random(n) < 0.2, np.nan, warmth)  # a fifth of the measurements is lost

# %%
# A date becomes trend, season, day of the month and weekday by itself.

table = pd.DataFrame({"town": town, "sky": sky, "warmth": warmth, "day": day})
print(table.head(4))
forest = BoostForestRegressor(oob_score=True, random_state=0).fit(table, sales)
print(f"R² out of bag: {forest.oob_score_:.2f}")

# %%
# A category has a point for each level; missing values have a point of their own.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.5), layout="constrained")
for ax, column in zip(axes, ["town", "sky", "warmth"], strict=True):
    plot.effect(forest, table, column, ax=ax)
