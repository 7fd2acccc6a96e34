"""Prints the results of tests in Python as TAP, one claim a line with its problems below."""
import sys

count = bad = 0


def report(claim, problems):
    """A claim is true without problems; the first problems are printed."""
    global count, bad
    count += 1
    problems = list(problems)
    print(("not " if problems else "") + f"ok {count} - {claim}")
    for line in problems[:8]:
        print(f"# {line}"[:400])
    bad += bool(problems)
    sys.stdout.flush()


def skip(claim, why):
    global count
    count += 1
    print(f"ok {count} - {claim} # SKIP {why}")


def end():
    """The plan, and the exit status."""
    print(f"1..{count}")
    sys.exit(bad > 0)
