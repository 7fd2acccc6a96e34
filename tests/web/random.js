// Pseudo-random numbers for tests: the same ones every time.

/** @param {number} seed @returns {(below: number) => number} whole numbers from 0 */
export function randomOf(seed) {
    let state = seed >>> 0;
    return (below) => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return Math.floor((state / 2 ** 32) * below);
    };
}

/** @param {number} seed @returns {() => number} from 0 up to 1 */
export function fractionsOf(seed) {
    const random = randomOf(seed);
    return () => random(2 ** 32) / 2 ** 32;
}

/**
 * A timeline with rows of random events in whole numbers: gaps of any length, events of length 0, runs of short ones.
 * @param {number} seed @param {number[]} row_events
 */
export function randomTimeline(seed, row_events) {
    const random = randomOf(seed);
    const n_names = 12;
    const names = { text: [], type: [] };
    for (let i = 0; i < n_names; i++) {
        names.text.push(["Add", "MatMul", "allReduce", "copy", "softmax", "ADD_n"][i % 6] + (i >= 6 ? "2" : ""));
        names.type.push(i % 5);
    }
    const begin = [];
    const duration = [];
    const name = [];
    for (const n of row_events) {
        let time = random(50);
        for (let i = 0; i < n; i++) {
            const kind = random(10);
            const length = kind === 0 ? random(5000) : kind < 3 ? 0 : random(40);
            begin.push(time);
            duration.push(length);
            name.push(random(n_names));
            time += length + (random(20) === 0 ? random(3000) : random(15));
        }
    }
    const n_rows = row_events.length;
    const n_arrows = n_rows > 1 ? 200 : 0;
    const arrows = { from_time: [], to_time: [], from_row: [], to_row: [], name: [] };
    const end = begin.reduce((most, time, i) => Math.max(most, time + duration[i]), 0);
    for (let i = 0; i < n_arrows; i++) {
        arrows.from_time.push(random(end));
        arrows.to_time.push(arrows.from_time[i] + random(2000) - 500);
        arrows.from_row.push(random(n_rows));
        arrows.to_row.push(random(n_rows));
        arrows.name.push(0);
    }
    const half = Math.ceil(n_rows / 2);
    const timeline = {
        unit: "ns", origin: null, begin: 0, end,
        groups: [
            { name: "rank 0", rank: 0, stage: 0, tracks: [{ name: "a", class: "compute", n_rows: half, left_out: 0 }] },
            { name: "rank 1", rank: 1, stage: 1, tracks: [{ name: "b", class: "host", n_rows: n_rows - half, left_out: 0 }] },
        ],
        row_events, n_events: begin.length, n_arrows, n_held: 0, n_points: 0, names, arrow_names: ["send"], steps: [], curves: [],
        held_names: { text: [], type: [] }, data: null, args: null,
    };
    const reals = (list) => Float64Array.from(list);
    const numbers = (list) => Uint32Array.from(list);
    const columns = {
        begin: reals(begin), duration: reals(duration), name: numbers(name),
        arrows: {
            from_time: reals(arrows.from_time), to_time: reals(arrows.to_time), from_row: numbers(arrows.from_row),
            to_row: numbers(arrows.to_row), name: numbers(arrows.name),
        },
        held: { begin: reals([]), end: reals([]), mb: reals([]), group: numbers([]), name: numbers([]) },
        points: { time: reals([]), value: reals([]) },
        calls: { begin: reals([]), wait: reals([]), row: numbers([]), number: numbers([]), last: numbers([]), group: numbers([]) },
    };
    /** All events in plain objects. */
    const events = [];
    let at = 0;
    row_events.forEach((n, row) => {
        for (let index = 0; index < n; index++, at++) {
            events.push({ row, index, begin: begin[at], end: begin[at] + duration[at], name: name[at] });
        }
    });
    return { timeline, columns, events };
}
