// Measures what panning costs in this browser: moves the view to and fro for some seconds and notes how far frames are
// apart and how long each one took to draw. Set up only where the address asks for it.

const SPEED = 0.4; // of what is shown, per second

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
