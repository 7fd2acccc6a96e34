"""Checks bench/gallery.py: estimates come from the program, plans are written by hand, so that every figure of the page
is known beforehand. Prints TAP."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NAME = 'pangu_38b'
LAYOUT = {'data': 4, 'tensor': 8, 'context': 1, 'expert': 1, 'pipeline': 4, 'chunks': 4, 'micro_batch': 2}

evenkeel = str(pathlib.Path(sys.argv[1]).resolve())
estimate = json.loads(subprocess.run([evenkeel, 'estimate', str(ROOT / 'examples/gallery/pangu_38b.yaml'), '--device',
                                      'Atlas 800T A2', '--format', 'json'], capture_output=True, check=False).stdout)


def made_plan(step, bubble_saved, **changes):
    """A plan with a given step; of its parts only the bubble and the matrix products differ from the estimate's."""
    parts = {part['name']: part['seconds'] for part in estimate['parts']}
    parts['bubble'] -= bubble_saved
    parts['matrix'] -= estimate['step_time_s'] - step - bubble_saved
    return dict(LAYOUT, micro_batches=32, schedule='interleaved', optimizer_shard=4, step_time_s=step,
                lower_bound_s=step, tokens_per_second_per_device=700.4, mfu=0.456, peak_mb=50000.6, fits=True,
                parts=parts, group=0, settings='') | changes


def answer(plans, **changes):
    return dict(plans=plans, layouts=dict(all=90000, legal=12345, bounded=12345, balanced=7,
                                          ruled_out=dict(memory={'1.1': 1000, '1.5': 345}, bound=10993)),
                proved=True, gap=0.0, today=None, seconds=12.5) | changes


def run(plan, program=evenkeel, keep=True, predicted=None):
    """The page for a plan, and an estimate where it is not the program's; None where the script gives up."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / 'gallery.md'
        answers = []
        if keep:
            (pathlib.Path(folder) / f'{NAME}.plan.json').write_text(json.dumps(plan), encoding='utf-8')
            if predicted:
                (pathlib.Path(folder) / f'{NAME}.estimate.json').write_text(json.dumps(predicted), encoding='utf-8')
            answers = ['--answers', folder]
        done = subprocess.run([sys.executable, str(ROOT / 'bench/gallery.py'), program, str(output), '--only', NAME]
                              + answers, capture_output=True, check=False)
        return output.read_text(encoding='utf-8') if done.returncode == 0 else None


def in_one_line(page):
    return re.sub(r'\s+', ' ', page)


STEP = estimate['step_time_s'] / 1.25
BEST = made_plan(STEP, 0.1, data=8, pipeline=2)
SAVED = estimate['step_time_s'] - STEP - 0.1


def published_is_longer_by_the_ratio_of_the_steps():
    page = run(answer([BEST]))
    assert f'| **step** | **{STEP:.2f} s** | **{estimate["step_time_s"]:.2f} s** (+25.0 %) |' in page
    assert '| +25.0 % | proved |' in page
    assert '| data parallel ranks | 8 | 4 |' in page
    assert '| fullest stage | 50 001 MB |' in page


def parts_explain_the_difference():
    page = in_one_line(run(answer([BEST])))
    assert f'is 25.0 % longer: matrix products +{SAVED:.2f} s, pipeline bubble +0.10 s.' in page


def parts_may_be_a_list():
    listed = dict(BEST, parts=[{'name': name, 'seconds': value} for name, value in BEST['parts'].items()])
    assert run(answer([listed])) == run(answer([BEST]))


def published_degrees_are_found_among_the_plans():
    alike, apart = made_plan(STEP * 1.01, 0.1), made_plan(STEP * 1.01, 0.1, group=1)
    assert 'number 2 of the 2 best plans, which prediction cannot distinguish' in in_one_line(run(answer([BEST, alike])))
    assert 'number 2 of the 2 best plans. ' in in_one_line(run(answer([BEST, apart])))
    assert 'are not among the 1 best plans' in in_one_line(run(answer([BEST])))


def a_measured_step_is_beside_the_prediction():
    page = in_one_line(run(answer([BEST])))
    off = 100 * (estimate['step_time_s'] / 11.5 - 1)
    assert f'Measured: 11.5 s a step, MFU over 45 %. The prediction of that layout is off by {off:+.1f} %.' in page


def a_prediction_far_off_the_measurement_is_told():
    doubt = 'So far off, the best plan is one to try and no proved saving.'
    for step, told in [(11.5 * 1.19, False), (11.5 * 1.21, True), (11.5 * 0.81, False), (11.5 * 0.79, True)]:
        page = in_one_line(run(answer([BEST]), predicted=dict(estimate, step_time_s=step)))
        assert (doubt in page) == told


def certainty_is_told():
    page = in_one_line(run(answer([BEST], proved=False, gap=0.034)))
    assert '| within 3.4 % |' in page and 'a step could be 3.4 % shorter' in page
    assert 'Ruled out: 10 993 by their bound, 1 345 that do not fit.' in page


def nothing_may_fit():
    page = run(answer([]))
    assert 'No layout fits by the model.' in page and '| nothing fits |' in page


def time_may_be_over_first():
    made = answer([])
    made['layouts']['ruled_out']['open'] = 1234
    page = run(made)
    assert 'No plan was found in the time given: 1 234 layouts were left open.' in page
    assert '| none found in the time |' in page and 'nothing fits' not in page


def search_times_are_coarse():
    assert run(answer([BEST])) == run(answer([BEST], seconds=55.0))
    assert run(answer([BEST])) != run(answer([BEST], seconds=65.0))


def a_program_that_fails_writes_no_page():
    with tempfile.TemporaryDirectory() as folder:
        both = pathlib.Path(folder) / 'both.json'
        both.write_text(json.dumps(estimate | answer([BEST])), encoding='utf-8')
        program = pathlib.Path(folder) / 'program'
        for status, written in [(0, True), (1, True), (2, False)]:
            program.write_text(f'#!/bin/sh\ncat {both}\nexit {status}\n', encoding='utf-8')
            program.chmod(0o700)
            assert (run(None, program=str(program), keep=False) is not None) == written


CASES = [published_is_longer_by_the_ratio_of_the_steps, parts_explain_the_difference, parts_may_be_a_list,
         published_degrees_are_found_among_the_plans, a_measured_step_is_beside_the_prediction,
         a_prediction_far_off_the_measurement_is_told, certainty_is_told, nothing_may_fit, time_may_be_over_first,
         search_times_are_coarse, a_program_that_fails_writes_no_page]

FAILED = 0
for number, case in enumerate(CASES, 1):
    title = case.__name__.replace('_', ' ')
    try:
        case()
        print(f'ok {number} - {title}')
    except Exception as problem:  # whatever it is, the case failed
        FAILED += 1
        print(f'not ok {number} - {title}\n# {type(problem).__name__} line {problem.__traceback__.tb_next.tb_lineno}')
print(f'1..{len(CASES)}')
sys.exit(FAILED > 0)
