#!/usr/bin/env python3
"""Says how sure a ratio of the benchmark program is, and compares two runs.

    verdicts.py OLD.json NEW.json   did a row change from one run to the other?
    verdicts.py RUN.json            is ours faster than the library beside it?

Both files come from `bench --json`. A sample is one process: its least time of each
library, of which the logarithm of the ratio counts. Processes exchange the two copies
of a loop in turn, and which library is loaded and set up first, whose memory lies in
another way; so a ratio is the mean of four medians, one for each way, in which what a
way is worth cancels out. Of few processes it is the mean of two, of the copies. With
`bench --placements`, processes also differ in the order of the functions; the median of
the processes of one placement is then one sample. The 95 % interval is a bootstrap over
placements within each way, which without placements are the processes; of several runs,
it also covers the ratio of each. Controls run no code of the libraries: the largest
distance of one of their intervals from 1 is the noise. No verdict is finer than the
noise, or than half a percent, and there is none where the medians of a process's turns
differ the other way than the least. A row is the same if its interval is within half a
percent of 1, and the noise is, too; that is not corrected for the number of rows. A run
measures a row within some seconds, so two runs differ by what else the machine did
then: no verdict on a row is finer than what stock, which is the same in both, took more
or less in it than in the median row, or in 95 of 100 rows. Exit status: 1 if a row is
slower, 2 if nothing can be compared.
"""

import argparse
import itertools
import json
import math
import random
import signal
import statistics
import sys
from pathlib import Path

VERDICTS = ("slower", "faster", "same", "cannot tell")
LEVEL = 0.05  # of the interval, and of all probabilities of a run together
RESAMPLES = 999
# The medians of the controls over twenty runs differ from 1 by less than this, but by
# more than some intervals of one run show.
RESOLUTION = 0.005
MANY = 12  # processes; of fewer, no value is left out
LEAST = 4  # processes; an interval of fewer would say nothing
EACH = 4  # samples of each way, or the order of setting up is overlooked
NORMAL = statistics.NormalDist()


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


def trimmed(values):
    """The mean without a fifth of the values at each end, its variance by Yuen,
    and its degrees of freedom: a process that another program disturbed does
    not count, as it does not in a median. Of few values all count, because a
    function takes one of few times, by its place, and most may be equal."""
    values, count = sorted(values), len(values)
    cut = count // 5 if count >= MANY else 0
    kept = values[cut:count - cut]
    all_ = [min(max(value, kept[0]), kept[-1]) for value in values]
    freedom = len(kept) - 1
    return (statistics.fmean(kept), statistics.variance(all_) * (count - 1)
            / (len(kept) * freedom), freedom)


def from_zero(values):
    """The probability that values around 0 differ from it so much."""
    mean, variance, freedom = trimmed(values)
    if variance == 0:
        return float(mean == 0)
    return t_probability(mean / math.sqrt(variance), freedom)


def welch(first, second):
    """The same of the difference of two samples, by Yuen's and Welch's test."""
    found = trimmed(first), trimmed(second)
    by = found[0][0] - found[1][0]
    error = sum(variance for _, variance, _ in found)
    if error == 0:
        return float(by == 0)
    freedom = error ** 2 / sum(variance ** 2 / freedom
                               for _, variance, freedom in found)
    return t_probability(by / math.sqrt(error), freedom)


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


def centre(strata):
    return statistics.fmean(map(statistics.median, strata))


def bootstrap(groups, seed=1):
    """The interval of a sum: `groups` has (sign, strata) of each summand. The
    levels are those of Hesterberg's expanded percentile interval, as the plain
    one is too narrow for few processes: by the smallest stratum, and with a degree
    of freedom less for each."""
    least = max(2, min(len(stratum) for _, strata in groups for stratum in strata))
    freedom = min(sum(map(len, strata)) - len(strata) for _, strata in groups)
    tail = NORMAL.cdf(-math.sqrt(least / (least - 1))
                      * t_quantile(LEVEL, max(1, freedom)))
    choices = random.Random(seed).choices
    values = sorted(
        sum(sign * centre([choices(stratum, k=len(stratum))
                           for stratum in strata]) for sign, strata in groups)
        for _ in range(RESAMPLES))
    skip = int(tail * RESAMPLES)
    return values[skip], values[-1 - skip]


# -- rows -----------------------------------------------------------------


def strata_of(row, over="stock", subject="ours", run=None):
    """The logarithms of ours to another subject, or with `over` None of the
    time of one, for each copy of the loop and each order of setting up: one of each
    placement. None if there are too few. With `run`, only those of one run."""
    samples = row.get("samples", {})
    if run is not None:
        chosen = [number == run for number in samples["run"]]
        samples = {key: list(itertools.compress(values, chosen))
                   for key, values in samples.items()}
    if subject not in samples or (over and over not in samples):
        return None
    count = len(samples[subject])
    placements = samples.get("placement", [0] * count)
    if not any(placements):  # each process is a sample
        placements = range(count)
    values = list(map(math.log, samples[subject]))
    if over:
        values = [v - math.log(other) for v, other in zip(values, samples[over])]

    def by(ways):
        strata = {}
        for way, place, value in zip(ways, placements, values):
            strata.setdefault(way, {}).setdefault(place, []).append(value)
        return [list(map(statistics.median, places.values()))
                for places in strata.values()]

    copies = samples["exchanged"]
    strata = by(zip(copies, samples.get("ours_first", [0] * count)))
    if min(map(len, strata)) < EACH:
        strata = by(copies)
    return strata if sum(map(len, strata)) >= LEAST else None


def runs_of(row):
    return sorted(set(row["samples"].get("run", [])))


def log_interval(row, over="stock"):
    """(low, logarithm of the ratio, high) of a row, or None. What else the machine
    does differs from run to run, which the processes of one run do not show, so
    the interval of several runs covers the ratio of each."""
    strata = strata_of(row, over)
    if strata is None:
        return None
    each = [strata_of(row, over, run=run) for run in runs_of(row)]
    bounds = [*bootstrap([(1, strata)]), *map(centre, filter(None, each))]
    return min(bounds), centre(strata), max(bounds)


def interval_of(row, over="stock"):
    """(low, ratio, high) of a row, or None."""
    found = log_interval(row, over)
    return found and tuple(map(math.exp, found))


def interval_beside(row, other):
    """The same of the time of ours in a row to that in another row."""
    both = [strata_of(row, None), strata_of(other, None)]
    if None in both:
        return None
    each = [[strata_of(r, None, run=run) for r in (row, other)]
            for run in runs_of(row)]
    bounds = [*bootstrap([(1, both[0]), (-1, both[1])]),
              *(centre(a) - centre(b) for a, b in each if a and b)]
    return tuple(map(math.exp, (min(bounds), centre(both[0]) - centre(both[1]),
                                max(bounds))))


class Change:
    """The logarithm of a ratio, its interval and its probability by chance."""

    def __init__(self, row, value, interval, chance):
        self.name = f"{row['group']}: {row['name']}"
        self.control = row.get("control", False)
        self.value, (self.low, self.high) = value, interval
        self.chance, self.verdict, self.drift = chance, None, None
        self.typical = value  # the same of the medians of a process's turns

    @classmethod
    def within(cls, row):
        """Ours against stock in one run."""
        strata = strata_of(row)
        if strata is None:
            return None
        low, value, high = log_interval(row)
        change = cls(row, value, (low, high), from_zero(sum(strata, [])))
        medians = [row.get(side, {}).get("median_ns")
                   for side in ("ours", "stock")]
        if all(medians):
            change.typical = math.log(medians[0] / medians[1])
        return change

    @classmethod
    def between(cls, old, new):
        """Ours in two runs; in relation to stock where both have it, so that
        the machine may have changed too."""
        both = [strata_of(old), strata_of(new)]
        if None in both:
            both = [strata_of(old, None), strata_of(new, None)]
        if None in both:
            return None
        change = cls(new, centre(both[1]) - centre(both[0]),
                     bootstrap([(-1, both[0]), (1, both[1])]),
                     welch(*(sum(strata, []) for strata in both)))
        stock = [strata_of(row, None, "stock") for row in (old, new)]
        if None not in stock:
            change.drift = centre(stock[1]) - centre(stock[0])
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
