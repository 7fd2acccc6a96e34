"""Writes docs/gallery.md: for each row of examples/gallery/published.csv the best plan of `evenkeel plan`, the
prediction of `evenkeel estimate` for the published layout, and the parts of the step that differ.

    bench/gallery.py EVENKEEL OUTPUT [--only NAME] [--answers DIR]

Answers of the program are saved in DIR, and an existing one is used instead of a new search. Numbers are rounded and
search times are given in classes, so that a page changes only where an answer does."""

import argparse
import csv
import json
import pathlib
import shlex
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = pathlib.Path('examples/gallery')

# Columns of the table and keys of a plan that together are a layout, with their titles.
DEGREES = [('data', 'data parallel ranks'), ('tensor', 'tensor parallel ranks'), ('context', 'context parallel ranks'),
           ('expert', 'expert parallel ranks'), ('pipeline', 'stages'), ('chunks', 'chunks of a stage'),
           ('micro_batch', 'sequences of a micro-batch')]

PARTS = [('matrix', 'matrix products'), ('attention', 'attention'), ('grouped', "experts' products"),
         ('memory', 'memory-bound operators'), ('recompute', 'recomputation'), ('tensor', 'exposed tensor parallel'),
         ('context', 'exposed context parallel'), ('expert', 'exposed expert parallel'), ('bubble', 'pipeline bubble'),
         ('p2p', 'exposed sends and receives'), ('data', 'exposed data parallel'), ('optimizer', 'optimizer'),
         ('host', 'host'), ('input', 'input')]

# A prediction with a larger error than this is no basis for comparing other layouts of the job.
FAR_OFF = 0.2

# Reasons why layouts are not among the plans; other words are unchanged.
RULED_OUT = {'illegal': 'that the framework does not run', 'memory': 'that do not fit', 'bound': 'by their bound',
             'balanced': 'balanced and longer', 'no_plan': 'with no split that fits', 'open': 'left open'}

SEARCH_TIMES = [(1, 'less than a second'), (10, 'less than 10 seconds'), (60, 'less than a minute'),
                (300, 'less than 5 minutes'), (1200, 'less than 20 minutes')]

INTRODUCTION = """# Gallery: published layouts beside the best ones

Written by `./run gallery`; do not edit. The jobs and their published figures are in
[examples/gallery](../examples/gallery/published.csv), with sources.

*Published* is a layout that its authors ran. *Best* is the one with the shortest step that `evenkeel plan` finds for
the same model, devices, global batch and sequence length. The same model predicts both steps, so most of its error is
common to both. *Measured* is the step that the authors published for their layout: its distance to the
prediction shows how well the model describes such a run. *Longer* is the step of the published layout over that of the best plan, minus
1. A plan is *proved* where no other legal layout has a shorter step by the model: that is a statement about the model,
not about a cluster.
"""


# ---- answers ----

def ask(arguments, kept):
    """The program's JSON. Exit status 1 is an answer: nothing fits, or the published layout does not."""
    if kept and kept.exists():
        return json.loads(kept.read_text(encoding='utf-8'))
    run = subprocess.run(arguments, capture_output=True, text=True, cwd=ROOT, check=False)
    if run.returncode not in (0, 1):
        sys.exit(f'{shlex.join(arguments)}: exit status {run.returncode}\n{run.stderr}')
    if kept:
        kept.write_text(run.stdout, encoding='utf-8')
    return json.loads(run.stdout)


def plan_command(row):
    return ['plan', str(FOLDER / row['job']), '--devices', row['devices'], '--device', row['device'],
            '--global-batch', row['global_batch'], '-t', '30']


def estimate_command(row):
    return ['estimate', str(FOLDER / row['job']), '--device', row['device']] + row['options'].split()


def entry_of(row, evenkeel, answers):
    """A row with both answers."""
    def kept(what):
        return answers / f'{row["name"]}.{what}.json' if answers else None
    as_json = ['--format', 'json']
    plan = ask([evenkeel] + plan_command(row) + as_json, kept('plan'))
    estimate = ask([evenkeel] + estimate_command(row) + as_json, kept('estimate'))
    return {'row': row, 'plan': plan, 'best': (plan['plans'] or [None])[0], 'estimate': estimate,
            'measured': measured_step(row, estimate)}


def measured_step(row, estimate):
    """Seconds of the published step; None where no figure is published. A utilisation becomes a time by the FLOPs that
    the estimate counts: the step is inversely proportional to it."""
    if row['figure'] == 'none':
        return None
    value = float(row['value'])
    tokens = int(row['global_batch']) * int(row['seq_length'])
    return {'step': lambda: value,
            'tokens': lambda: tokens / int(row['devices']) / value,
            'mfu': lambda: estimate['step_time_s'] * estimate['mfu'] / (value / 100),
            'hfu': lambda: estimate['step_time_s'] * estimate['hfu'] / (value / 100)}[row['figure']]()


def parts_of(answer):
    """Seconds by name; a list of objects, or an object."""
    parts = answer['parts']
    if isinstance(parts, dict):
        return parts
    return {part['name']: part['seconds'] for part in parts}


# ---- words ----

def seconds(value):
    return f'{value:.2f} s' if value < 100 else f'{value:.1f} s'


def percent(share):
    """With a sign."""
    return f'{100 * share:+.1f} %'


def megabytes(value):
    return f'{value:,.0f} MB'.replace(',', ' ')


def count(value):
    return f'{value:,}'.replace(',', ' ')


def short_layout(layout):
    """dp 8, tp 4, pp 8 x 5: degrees of 1 are left out."""
    words = [f'{word} {layout[key]}' for key, word in
             [('data', 'dp'), ('tensor', 'tp'), ('context', 'cp'), ('expert', 'ep'), ('pipeline', 'pp')]
             if int(layout[key]) > 1]
    if int(layout['chunks']) > 1:
        words[-1] += f' x {layout["chunks"]}'
    if int(layout['micro_batch']) > 1:
        words.append(f'micro-batch {layout["micro_batch"]}')
    return ', '.join(words) or 'one device'


def same_degrees(row, plan):
    return plan['schedule'] == row['schedule'] and all(int(plan[key]) == int(row[key]) for key, _ in DEGREES)


def search_time(value):
    return next((words for limit, words in SEARCH_TIMES if value < limit), '20 minutes or more')


def left_open(plan):
    """Layouts that were not evaluated when the time limit ended the search."""
    return totals(plan['layouts']).get('open', 0)


def certainty(plan):
    if not plan['plans']:
        return 'none found in the time' if left_open(plan) else 'nothing fits'
    return 'proved' if plan['proved'] else f'within {100 * plan["gap"]:.1f} %'


def differences(entry):
    """(title, seconds that the published layout takes more), the largest first; those of less than a thousandth of the
    step are left out."""
    published, best = parts_of(entry['estimate']), parts_of(entry['best'])
    found = [(title, published.get(name, 0) - best.get(name, 0)) for name, title in PARTS]
    least = entry['best']['step_time_s'] / 1000
    return sorted([d for d in found if abs(d[1]) >= least], key=lambda d: -abs(d[1]))


def reason(entry):
    """Why the published layout takes longer, or no longer."""
    best, estimate = entry['best'], entry['estimate']
    longer = estimate['step_time_s'] / best['step_time_s'] - 1
    found = differences(entry)
    if not found:
        return 'The published layout has the same step as the best plan.'
    more = [f'{title} {value:+.2f} s' for title, value in found[:5]]
    if longer < 0:
        start = f'The published layout is {-100 * longer:.1f} % shorter'
        if not estimate['memory']['fits']:
            start += ', which the plan may not be, since it does not fit'
    else:
        start = f'The published layout is {100 * longer:.1f} % longer'
    return f'{start}: {", ".join(more)}.'


def place(entry):
    """Where the published degrees are among the plans."""
    plans = entry['plan']['plans']
    for i, plan in enumerate(plans):
        if same_degrees(entry['row'], plan):
            alike = ', which prediction cannot distinguish from the first' if i and plan['group'] == plans[0]['group'] else ''
            return f'Its degrees and schedule are number {i + 1} of the {len(plans)} best plans{alike}.'
    return f'Its degrees and schedule are not among the {len(plans)} best plans.'


def fits(entry):
    memory = entry['estimate']['memory']
    if memory['fits']:
        return []
    return [f'By the model the published layout does not fit: {megabytes(memory["peak_mb"])} of '
            f'{megabytes(memory["limit_mb"])}. Its authors ran it; what they do besides is not modelled.']


def beside_measured(entry):
    row, measured = entry['row'], entry['measured']
    if measured is None:
        return 'No speed is published with it.'
    off = entry['estimate']['step_time_s'] / measured - 1
    also = '' if row['figure'] == 'step' else f', a step of {seconds(measured)}'
    doubt = ' So far off, the best plan is one to try and no proved saving.' if abs(off) > FAR_OFF else ''
    return f'Measured: {row["as_printed"]}{also}. The prediction of that layout is off by {percent(off)}.{doubt}'


def totals(layouts):
    """Layouts by the reason that ruled them out; reasons that are split further are added up."""
    return {why: sum(n.values()) if isinstance(n, dict) else n for why, n in layouts['ruled_out'].items()}


def sureness(entry):
    plan, best = entry['plan'], entry['best']
    layouts = plan['layouts']
    if plan['proved']:
        first = f'Proved: none of the {count(layouts["legal"])} legal layouts has a shorter step by the model.'
    else:
        first = (f'Not proved in the time given: among {count(layouts["legal"])} legal layouts a step could be '
                 f'{100 * plan["gap"]:.1f} % shorter.')
    alike = sum(1 for other in plan['plans'] if other['group'] == best['group'])
    told = f' The first {alike} plans cannot be distinguished by prediction.' if alike > 1 else ''
    ruled_out = ', '.join(f'{count(n)} {RULED_OUT.get(why, why)}' for why, n in sorted(totals(layouts).items()) if n)
    out = f' Ruled out: {ruled_out}.' if ruled_out else ''
    return (f'{first}{told}{out} {count(layouts["balanced"])} were balanced. The search takes '
            f'{search_time(plan["seconds"])}.')


# ---- the page ----

def paragraph(*sentences):
    return textwrap.fill(' '.join(sentences), 120, break_long_words=False, break_on_hyphens=False)


def table(header, rows):
    right = '|'.join(['---'] + ['--:'] * (len(header) - 1))
    return '\n'.join('| ' + ' | '.join(row) + ' |' if row else f'|{right}|' for row in [header, None] + rows)


def layout_rows(entry):
    row, best, estimate = entry['row'], entry['best'], entry['estimate']
    rows = [[title, str(best[key]), row[key]] for key, title in DEGREES]
    rows.append(['micro-batches', str(best['micro_batches']), str(estimate['job']['n_micro_batches'])])
    rows.append(['schedule', best['schedule'], row['schedule']])
    rows.append(["ranks that share the optimizer's states", str(best['optimizer_shard']), row['sharding']])
    return rows


def figure_rows(entry):
    best, estimate = entry['best'], entry['estimate']
    longer = estimate['step_time_s'] / best['step_time_s'] - 1
    return [['**step**', f'**{seconds(best["step_time_s"])}**',
             f'**{seconds(estimate["step_time_s"])}** ({percent(longer)})'],
            ['tokens/s a device', f'{best["tokens_per_second_per_device"]:.0f}',
             f'{estimate["tokens_per_second_per_device"]:.0f}'],
            ['MFU', f'{100 * best["mfu"]:.1f} %', f'{100 * estimate["mfu"]:.1f} %'],
            ['fullest stage', megabytes(best['peak_mb']), megabytes(estimate['memory']['peak_mb'])]]


def part_rows(entry):
    best, published = parts_of(entry['best']), parts_of(entry['estimate'])
    shown = [(name, title) for name, title in PARTS if max(best.get(name, 0), published.get(name, 0)) >= 0.005]
    return [[title, seconds(best.get(name, 0)), seconds(published.get(name, 0))] for name, title in shown]


def comparison(entry):
    """The two layouts side by side, and the parts that differ."""
    if not entry['best']:
        return [f'No plan was found in the time given: {count(left_open(entry["plan"]))} layouts were left open.'
                if left_open(entry['plan']) else 'No layout fits by the model.', '']
    rows = layout_rows(entry) + figure_rows(entry) + part_rows(entry)
    return [table(['', 'best plan', 'published layout'], rows), '', paragraph(reason(entry), place(entry)), '',
            paragraph(sureness(entry)), '']


def section(entry):
    row = entry['row']
    note = f' Note: {row["note"]}.' if row['note'] else ''
    lines = [f'## {row["model"]} on {count(int(row["devices"]))} {row["device"]}', '',
             f'{count(int(row["global_batch"]))} sequences of {count(int(row["seq_length"]))} tokens a step. '
             f'Recomputed in the published run: {row["recompute"]}.', '',
             '```sh', 'evenkeel ' + shlex.join(plan_command(row)), 'evenkeel ' + shlex.join(estimate_command(row)),
             '```', '']
    lines += comparison(entry) + [paragraph(*fits(entry), beside_measured(entry)), '',
                                  paragraph(f'Layout: {row["source"]}; <{row["url"]}>.{note}'), '']
    return '\n'.join(lines)


def overview_row(entry):
    row, best, estimate = entry['row'], entry['best'], entry['estimate']
    title = f'{row["model"]}, {count(int(row["devices"]))} {row["device"]}'
    measured = seconds(entry['measured']) if entry['measured'] else '-'
    published = [short_layout(row), measured, seconds(estimate['step_time_s'])]
    if not best:
        return [title] + published + ['-', '-', '-', certainty(entry['plan'])]
    longer = percent(estimate['step_time_s'] / best['step_time_s'] - 1)
    if not estimate['memory']['fits']:
        longer += ', does not fit'
    return [title] + published + [short_layout(best), seconds(best['step_time_s']), longer, certainty(entry['plan'])]


def page(entries):
    header = ['job', 'published', 'measured', 'predicted', 'best', 'predicted', 'published is longer by', 'certainty']
    overview = table(header, [overview_row(entry) for entry in entries])
    return '\n'.join([INTRODUCTION, overview, ''] + [section(entry) for entry in entries]).rstrip('\n') + '\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('evenkeel', help='the program')
    parser.add_argument('output', type=pathlib.Path, help='the page')
    parser.add_argument('--only', action='append', help='these rows alone')
    parser.add_argument('--answers', type=pathlib.Path, help='folder of answers, taken where there and kept')
    options = parser.parse_args()
    with open(ROOT / FOLDER / 'published.csv', encoding='utf-8', newline='') as file:
        rows = [row for row in csv.DictReader(file) if not options.only or row['name'] in options.only]
    if not rows:
        sys.exit('no such row in examples/gallery/published.csv')
    if options.answers:
        options.answers.mkdir(parents=True, exist_ok=True)
        options.answers = options.answers.resolve()
    evenkeel = str(pathlib.Path(options.evenkeel).resolve())
    options.output.write_text(page([entry_of(row, evenkeel, options.answers) for row in rows]), encoding='utf-8')


if __name__ == '__main__':
    main()
