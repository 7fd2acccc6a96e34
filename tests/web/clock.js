// A clock that tests move: replaces timers and the date during a test, so that no test waits or depends on the load of
// the machine.

const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout, now: Date.now };

/** Runs everything that does not wait for a timer: promises, and the chains of promises that read answers. */
async function idle() {
    for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
}

/**
 * Takes the place of setTimeout, clearTimeout and Date.now until the end of a test.
 * @param {{ after: (end: () => void) => void }} t node:test's argument of the test
 */
export function makeClock(t) {
    let now = real.now();
    let last = 0;
    /** @type {Map<number, { time: number, run: () => void }>} in the order in which they were set */
    const timers = new Map();
    globalThis.setTimeout = (run, ms = 0, ...args) => (timers.set(++last, { time: now + ms, run: () => run(...args) }), last);
    globalThis.clearTimeout = (timer) => void timers.delete(timer);
    Date.now = () => now;
    t.after(() => {
        globalThis.setTimeout = real.setTimeout;
        globalThis.clearTimeout = real.clearTimeout;
        Date.now = real.now;
    });
    return {
        /** Runs the timers of the next milliseconds in their order, each after all that came before has ended. */
        async pass(ms) {
            const end = now + ms;
            for (;;) {
                await idle();
                let next = null;
                for (const [timer, { time }] of timers) {
                    if (time <= end && (next === null || time < timers.get(next).time)) next = timer;
                }
                if (next === null) break;
                const { time, run } = timers.get(next);
                timers.delete(next);
                now = time;
                run();
            }
            now = end;
        },
    };
}
