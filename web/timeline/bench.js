// Measures the cost of panning in this browser: moves the view to and fro for some seconds and records the distance of
// frames and the time to draw each. Set up only where the address requests it.

const SPEED = 0.4; // of the visible stretch, per second

/**
 * @param {{move: (share: number) => void, draw: () => void, events: () => number}} timeline
 * @returns {(seconds: number) => Promise<{frames: number[], draws: number[], events: number}>}
 */
export function panFrames(timeline) {
    return (seconds) =>
        new Promise((resolve) => {
            /** @type {number[]} */
            const frames = [];
            /** @type {number[]} */
            const draws = [];
            let events = 0,
                start = NaN,
                last = NaN;
            const frame = (now) => {
                if (Number.isNaN(start)) {
                    start = last = now;
                } else {
                    frames.push(now - last);
                    const forward = Math.floor((now - start) / 1000) % 2 === 0;
                    timeline.move(((forward ? 1 : -1) * SPEED * Math.min(100, now - last)) / 1000);
                    last = now;
                    const before = performance.now();
                    timeline.draw();
                    draws.push(performance.now() - before);
                    events = Math.max(events, timeline.events());
                }
                if (now - start < seconds * 1000) {
                    requestAnimationFrame(frame);
                } else {
                    resolve({ frames, draws, events });
                }
            };
            requestAnimationFrame(frame);
        });
}
