#!/usr/bin/env python3
"""Says how sure a ratio of the benchmark program is, and compares two runs.

    verdicts.py OLD.json NEW.json   did a row change from one file to the other?
    verdicts.py FILE.json           is ours faster than the library beside it?

The files come from `bench --json`. Each has several runs, and a run measures every row
in two processes, of which the least time of each library counts. What else the machine
does differs from run to run by more than from process to process, so a run is one
sample: the mean of the logarithms of its processes' ratios. Its two processes exchange
the copies of a loop, so where a copy lies cancels out. Runs exchange which library is
loaded and set up first: a ratio is the mean of both orders' means, and its 95 % interval
is Student's t over the runs, each less the mean of its order; that of the difference of
two files is Welch's. With `bench --placements`, each process has another order of the
functions, so the interval also covers placements.

Controls run no code of the libraries: the largest distance of one of their intervals
from 1 is the noise. No verdict is finer than the noise, or than half a percent, and
there is none where the medians of a process's turns differ the other way than the
least. A row is the same if its interval is within half a percent of 1, and the noise
is, too; that is not corrected for the number of rows. Two files differ by what else
the machine did then: no verdict on a row is finer than what stock, which is the same in
both, took more or less in it than in the median row, or in 95 of 100 rows. Exit status:
1 if a row is slower, 2 if nothing can be compared.
"""

import argparse
import functools
import itertools
import json
import math
import operator
import signal
import statistics
import sys
from pathlib import Path

VERDICTS = ("slower", "faster", "same", "cannot tell")
LEVEL = 0.05  # of the interval, and of all probabilities of a file together
POWER = 0.8  # how often a difference must be found that is said to be found
# The medians of the controls over twenty comparisons differ from 1 by less than this,
# but by more than some intervals of one show.
RESOLUTION = 0.005
LEAST = 3  # runs, also of an order of loading; fewer would say nothing


# -- statistics -----------------------------------------------------------


def incomplete_beta(a, b, x):
    """The regularised incomplete beta function, by Lentz's continued
    fraction."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
                     + a * math.log(x) + b * math.log1p(-x)) / a
    tiny, c, d = 1e-300, 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d or tiny)
    value = d
    for m in range(1, 300):
        for term in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                     -(a + m) * (a + b + m) * x
                     / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1 / (1 + term * d or tiny)
            c = 1 + term / c or tiny
            value *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return front * value


def t_probability(t, freedom):
    """Both tails of Student's t distribution."""
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


@functools.lru_cache(maxsize=None)
def t_quantile(level, freedom):
    """The t whose both tails together have the probability `level`."""
    low, high = 0.0, 1e6
    for _ in range(100):
        middle = (low + high) / 2
        if t_probability(middle, freedom) > level:
            low = middle
        else:
            high = middle
    return low


def mean_of(blocks):
    """(mean, its variance, degrees of freedom) of blocks of values: the mean of their
    means. How far these are from each other is no error."""
    freedom = sum(map(len, blocks)) - len(blocks)
    squares = sum(statistics.variance(block) * (len(block) - 1) for block in blocks)
    return (statistics.fmean(map(statistics.fmean, blocks)),
            squares / freedom * sum(1 / len(block) for block in blocks)
            / len(blocks) ** 2, freedom)


def estimate(blocks, others=None):
    """(low, value, high, chance): the mean of blocks of values, or how much it is above
    that of others, the 95 % interval, and the probability of so large a value by chance:
    Student's t test, or with others Welch's."""
    parts = list(map(mean_of, filter(None, (blocks, others))))
    value = parts[0][0] - sum(mean for mean, _, _ in parts[1:])
    error = sum(variance for _, variance, _ in parts)
    if error == 0:
        return value, value, value, float(value == 0)
    freedom = error ** 2 / sum(variance ** 2 / count for _, variance, count in parts)
    by = math.sqrt(error) * t_quantile(LEVEL, freedom)
    return (value - by, value, value + by,
            t_probability(value / math.sqrt(error), freedom))


def holm(probabilities):
    """Corrected for their number by Holm's method, in the same order."""
    order = sorted(range(len(probabilities)), key=probabilities.__getitem__)
    corrected, most = [0.0] * len(order), 0.0
    for rank, place in enumerate(order):
        most = max(most, min(1.0, probabilities[place] * (len(order) - rank)))
        corrected[place] = most
    return corrected


def median_interval(values):
    """(low, median, high): the 95 % interval by order statistics, or the range of
    fewer than six values, which says less."""
    values, count = sorted(values), len(values)
    skip, beyond = -1, 0.0  # of one side: how often so few values lie there
    while beyond <= LEVEL / 2:
        skip += 1
        beyond += math.comb(count, skip) / 2 ** count
    low = max(0, skip - 1)
    return values[low], statistics.median(values), values[-1 - low]


# -- rows -----------------------------------------------------------------


def runs_of(row, over="stock", subject="ours", scale=math.log):
    """Of each run, the logarithm of the ratio of ours to another subject, or with `over`
    None of the time of one: the mean of its processes. With `scale` float, nanoseconds,
    not logarithms. In a block for each order of loading, stock first, or in one if an
    order has too few runs. None if there are too few at all."""
    samples = row.get("samples", {})
    if not {subject, over or subject, "run"} <= samples.keys():
        return None
    values = map(scale, samples[subject])
    if over:
        values = map(operator.sub, values, map(scale, samples[over]))
    runs, orders = {}, {}
    for run, value in zip(samples["run"], values):
        runs.setdefault(run, []).append(value)
    first = dict(zip(samples["run"], samples.get("ours_first", ())))
    for run, processes in runs.items():
        orders.setdefault(first.get(run, 0), []).append(statistics.fmean(processes))
    blocks = [orders[ours_first] for ours_first in sorted(orders)]
    if min(map(len, blocks), default=0) < LEAST:
        blocks = [list(itertools.chain(*blocks))]
    return blocks if len(runs) >= LEAST else None


def interval_of(row, over="stock"):
    """(low, ratio, high) of a row, or None."""
    runs = runs_of(row, over)
    return runs and tuple(map(math.exp, estimate(runs)[:3]))


def interval_beside(row, other):
    """The same of the time of ours in a row to that in another row, of the same runs."""
    both = runs_of(row, None), runs_of(other, None)
    if None in both:
        return None
    blocks = [list(map(operator.sub, *pair)) for pair in zip(*both)]
    return tuple(map(math.exp, estimate(blocks)[:3]))


class Change:
    """The logarithm of a ratio, its interval and its probability by chance."""

    def __init__(self, row, found):
        self.name = f"{row['group']}: {row['name']}"
        self.control = row.get("control", False)
        self.low, self.value, self.high, self.chance = found
        self.verdict, self.drift = None, None
        self.typical = self.value  # the same of the medians of a process's turns

    @classmethod
    def within(cls, row):
        """Ours against stock in one file."""
        runs = runs_of(row)
        if runs is None:
            return None
        change = cls(row, estimate(runs))
        medians = [row.get(side, {}).get("median_ns")
                   for side in ("ours", "stock")]
        if all(medians):
            change.typical = math.log(medians[0] / medians[1])
        return change

    @classmethod
    def between(cls, old, new):
        """Ours in two files; in relation to stock where both have it, so that
        the machine may have changed too."""
        for over in "stock", None:
            both = runs_of(new, over), runs_of(old, over)
            if None not in both:
                break
        else:
            return None
        change = cls(new, estimate(*both))
        stock = [runs_of(row, None, "stock") for row in (new, old)]
        if None not in stock:
            change.drift = estimate(*stock)[1]
        return change


def noise_of(changes):
    """(bias, noise) of the controls: the median of their logarithms, and the
    largest distance of an interval from 0. What an interval covers is the sampling
    error of its row, which each row has an interval of its own for. Without
    controls both are 0."""
    controls = [change for change in changes if change.control]
    return (statistics.median(change.value for change in controls),
            max(max(0, change.low, -change.high) for change in controls)) \
        if controls else (0.0, 0.0)


def least_found(row, count, noise):
    """The difference of ours to stock, as a logarithm, of which a share POWER of such
    measurements of `count` rows would give a verdict."""
    _, variance, freedom = mean_of(runs_of(row))
    error = math.sqrt(variance)
    return error * t_quantile(2 * (1 - POWER), freedom) + max(
        error * t_quantile(LEVEL / count, freedom),
        max(noise, RESOLUTION) + error * t_quantile(LEVEL, freedom))


def judge(changes):
    """Sets the verdict of each change, and its probability corrected for the
    number of rows; returns the bias and the noise."""
    bias, noise = noise_of(changes)
    rows = [change for change in changes if not change.control]
    drifts = [change.drift for change in changes if change.drift is not None]
    usual = statistics.median(drifts) if drifts else 0.0
    drifts = sorted(abs(drift - usual) for drift in drifts)
    floor = drifts[int(len(drifts) * (1 - LEVEL))] if drifts else 0.0
    for change, chance in zip(rows, holm([row.chance for row in rows])):
        change.chance = chance
        drift = 0.0 if change.drift is None else abs(change.drift - usual)
        least = max(noise, drift, floor, RESOLUTION)
        sure = chance <= LEVEL and change.typical * change.value > 0
        change.verdict = "slower" if sure and change.low > least else \
            "faster" if sure and change.high < -least else \
            "same" if max(least, -change.low, change.high) <= RESOLUTION else \
            "cannot tell"
    return bias, noise


def changes_of(old, new=None):
    if new is None:
        found = map(Change.within, old["rows"])
    else:
        before = {(row["group"], row["name"]): row for row in old["rows"]}
        found = (Change.between(before[row["group"], row["name"]], row)
                 for row in new["rows"]
                 if (row["group"], row["name"]) in before)
    return [change for change in found if change]


def print_changes(changes, bias, noise, brief):
    """With `brief`, only rows that are slower, and the totals."""
    width = max([46, *(len(change.name) for change in changes)])
    print(f"{'row':{width}} {'ratio':>7}  {'95 % interval':15} {'chance':>7}  "
          "verdict")
    for change in changes:
        if brief and change.verdict != "slower":
            continue
        value, low, high = map(math.exp, (change.value, change.low,
                                          change.high))
        chance = f"{change.chance:.4f}" if change.chance >= 1e-4 else "<0.0001"
        print(f"{change.name:{width}} {value:7.3f}  {low:7.3f}-{high:<7.3f} "
              f"{chance:>7}  {change.verdict or 'control'}")
    count = {verdict: sum(c.verdict == verdict for c in changes)
             for verdict in (*VERDICTS, None)}
    if count[None]:
        widest = max((change for change in changes if change.control),
                     key=lambda change: change.high - change.low)
        print(f"controls: {count[None]}, bias {math.exp(bias):.3f}, beyond "
              f"their intervals {math.expm1(noise):.1%}; the widest interval is "
              f"{math.exp(widest.low):.2f}-{math.exp(widest.high):.2f}")
    else:
        print("controls: none, so the noise of the run is not known")
    print(f"compared: {len(changes) - count[None]} rows: "
          + ", ".join(f"{count[verdict]} {verdict}" for verdict in VERDICTS))


def fail(text):
    print(f"verdicts: {text}", file=sys.stderr)
    sys.exit(2)


def read(path):
    """A run, or an error that names the file."""
    try:
        run = json.loads(path.read_text(encoding="utf-8"))
        rows = run["rows"]
        if not all("group" in row and "name" in row for row in rows):
            raise KeyError("group")
    except OSError as error:
        fail(f"{path}: {error.strerror}")
    except (ValueError, KeyError, TypeError):
        fail(f"{path}: not a file of bench --json")
    return run


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path, nargs="?")
    parser.add_argument("--brief", action="store_true",
                        help="only rows that are slower, and the totals")
    args = parser.parse_args()
    if hasattr(signal, "SIGPIPE"):  # as `verdicts.py RUN.json | head` ends it
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    changes = changes_of(read(args.old), args.new and read(args.new))
    if not any(not change.control for change in changes):
        fail("no row has samples to compare")
    print_changes(changes, *judge(changes), args.brief)
    return int(any(change.verdict == "slower" for change in changes))


if __name__ == "__main__":
    sys.exit(main())
