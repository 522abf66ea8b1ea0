#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""plots.py KERNELS.JSON FOLDER: draws what bench/kernels.py has measured."""
import json
import os
import sys

import kernels
import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "weft", "svg.fonttype": "none", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True})
import matplotlib.pyplot as plt

# Okabe and Ito's colours, which everybody can tell apart
COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#000000", "#999999"]


def save(figure, name):
    figure.savefig(os.path.join(sys.argv[2], name + ".svg"), metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)


def bars(title, ylabel, names, series, log=False, base=0, line=None):
    """series: label -> value for each name; None: there is none."""
    figure, axes = plt.subplots(figsize=(10, 3.8))
    width = 0.84 / len(series)
    for k, (label, values) in enumerate(series.items()):
        x = [i + (k - (len(series) - 1) / 2) * width for i in range(len(names))]
        axes.bar(x, [(v or base) - base for v in values], width * 0.94, bottom=base, color=COLOURS[k], label=label)
        for at, v in zip(x, values):
            if v is not None:
                axes.annotate("%.3g" % v, (at, max(v, base)), (0, 3), textcoords="offset points", rotation=90, ha="center", va="bottom", fontsize=7)
    finish(figure, axes, title, ylabel, names, log, line)
    return figure


def finish(figure, axes, title, ylabel, names, log=False, line=None):
    axes.set_xticks(range(len(names)), names)
    axes.set_ylabel(ylabel)
    axes.set_title(title, loc="left", pad=14)
    if log:
        axes.set_yscale("log")
    axes.margins(y=0.18)
    axes.grid(axis="y", color="#dddddd", linewidth=0.7)
    if line:
        axes.axhline(line, color="#666666", linewidth=0.8)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        data = json.load(f)
    os.makedirs(sys.argv[2], exist_ok=True)
    rounds = data["rounds"]
    names = [n for n in data["names"] if any(rounds[n])]
    some = [n for n in names if n in kernels.SCIENTIFIC]
    with_mean = lambda values: values + [kernels.mean([v for n, v in zip(names, values) if n in some])]

    series = {k: with_mean([kernels.middle(rounds[n], k) for n in names]) for k in kernels.FIGURE5}
    naive = [(data["naive"].get(n) or {}).get(kernels.NAIVE) for n in names]
    figure = bars("Recording, by what is used (naive: small sizes)", "CPU time, record/native", names + ["mean of %d" % len(some)], {"naive": with_mean(naive), **series}, log=True, line=1)
    axes = figure.axes[0]
    axes.yaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
    axes.set_ylim(bottom=0.8)
    save(figure, "figure5")

    counted = [n for n in names if data["counts"].get(n)]
    share = lambda n, k: max(1e-4, 100.0 * sum(data["counts"][n][k][w] for w in ("check", "range", "weak")) / data["counts"][n][k]["memory"])
    figure = bars("How often the recorder is asked: checks, looks before loops and at weak locks", "of 100 accesses to memory", counted, {k: [share(n, k) for n in counted] for k in kernels.FIGURE5}, log=True)
    figure.axes[0].yaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
    save(figure, "figure6")

    parts = {n: kernels.sources_of_overhead(rounds[n]) for n in names}
    figure, axes = plt.subplots(figsize=(10, 3.8))
    top, bottom = [1.0] * len(names), [1.0] * len(names)
    for k, what in enumerate(next(iter(parts.values()))):
        values = [parts[n][what] for n in names]
        at = [t if v >= 0 else b for v, t, b in zip(values, top, bottom)]
        axes.bar(range(len(names)), values, 0.6, bottom=at, color=COLOURS[k], label=what)
        top = [t + max(v, 0) for v, t in zip(values, top)]
        bottom = [b + min(v, 0) for v, b in zip(values, bottom)]
    for i, n in enumerate(names):
        axes.text(i, top[i], "%.2f" % (1 + sum(parts[n].values())), ha="center", va="bottom", fontsize=8)
    finish(figure, axes, "Where the time of a recording goes (all)", "CPU time, native = 1", names, line=1)
    axes.set_ylim(bottom=min(0.9, min(bottom)))
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    save(figure, "figure7")

    counts = sorted({4, *(int(c) for c in next((d for d in data["threads"].values() if d), {}))})
    one = lambda n, c: kernels.middle(rounds[n], "all") if c == 4 else (data["threads"][n].get(str(c)) or {}).get("all")
    figure = bars("By the number of threads, on %d cores (all)" % data["cores"], "CPU time, record/native", names, {"%d threads" % c: [one(n, c) for n in names] for c in counts}, line=1)
    save(figure, "figure8")

    figure, axes = plt.subplots(figsize=(8, 3.8))
    ends = {}
    for k, (n, p) in enumerate(data["profiles"].items()):
        sums = [sum(p["added"][: i + 1]) for i in range(len(p["added"]))]
        axes.plot(range(1, len(sums) + 1), sums, color=COLOURS[k % len(COLOURS)], marker="o", markersize=3)
        ends.setdefault((len(sums), sums[-1]), []).append(n)
    for at, those in ends.items():
        axes.annotate(", ".join(those), at, (8, 0), textcoords="offset points", va="center", fontsize=9)
    axes.set_xlabel("runs")
    axes.set_ylabel("pairs of regions")
    axes.set_ylim(bottom=0)
    axes.set_title("Profiles: pairs of regions seen beside each other", loc="left")
    axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(integer=True))
    axes.grid(axis="y", color="#dddddd", linewidth=0.7)
    save(figure, "profiles")


if __name__ == "__main__":
    main()
