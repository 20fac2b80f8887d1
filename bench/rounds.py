"""Runs contenders in turn, and prints the table of their best rounds."""

import shutil
import subprocess
import sys

# A contender's answer: wall time in seconds, processor time in seconds, peak memory in bytes (fresh processes only).
WALL, CPU, PEAK = range(3)


class Contender:
    """A long-living process: for every line on its stdin it does its work once and prints the cost.

    When it is ready, it first prints one line: the number of bytes that it works on."""

    def __init__(self, name, command):
        self.name, self.costs = name, []
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ready = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.name} ended with status {self.process.wait()}")
        return [float(word) for word in line.split()]

    def turn(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.costs.append(self.answer())

    def best(self, column):
        return min(cost[column] for cost in self.costs)

    def worst(self, column):
        return max(cost[column] for cost in self.costs)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def interleave(contenders, rounds):
    """Runs each contender once per round, so a machine that slows down slows all of them."""
    for _ in range(rounds):
        for contender in contenders:
            contender.turn()
    for contender in contenders:
        contender.close()


def print_table(rows, verdicts=()):
    """Prints aligned columns; the first row is the heading, the first column is text."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))))
    for text, holds in verdicts:
        print(f"{'holds ' if holds else 'MISSED'}  {text}")
    print()
    return all(holds for _, holds in verdicts)


def find_programs(build, *names):
    """Finds the benchmark programs of a build folder, e.g. build/bench."""
    found = [shutil.which(name, path=f"{build}/bench:{build}/tools") for name in names]
    for name, path in zip(names, found):
        if not path:
            sys.exit(f"{build} has no {name}; build it with: cmake --preset bench && cmake --build --preset bench")
    return found
