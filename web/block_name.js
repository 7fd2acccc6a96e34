// Names of a simulated plan's blocks, as src/view/plan_timeline.c writes them: "F3", with several chunks "F3·1", with
// pieces of a sequence "F3.0·1".

const block = /^([FBW])(\d+(?:\.\d+)?)(?:\u00b7(\d+))?$/;

/**
 * The parts of a block's name; null where it is none.
 * @param {string} text
 */
export function blockOf(text) {
    const [, kind, micro_batch, chunk] = text.length < 32 ? block.exec(text) ?? [] : [];
    return kind === undefined ? null : { kind, micro_batch, chunk: Number(chunk ?? 0) };
}

/**
 * Letters of the longest micro-batch number among some names; 0 where none is a block's.
 * @param {string[]} names
 */
export const numberLetters = (names) => names.reduce((most, text) => Math.max(most, blockOf(text)?.micro_batch.length ?? 0), 0);

/**
 * Number of chunks of a timeline's blocks; 0 where it is of no plan.
 * @param {import("./types").Timeline | null} timeline
 */
export function chunksOf(timeline) {
    const of_plan = timeline !== null && timeline.names !== null && timeline.groups.some(({ tracks }) => tracks.some((track) => track.class === "stage"));
    if (!of_plan) return 0;
    return (timeline.names?.text ?? []).reduce((most, text) => Math.max(most, (blockOf(text)?.chunk ?? -1) + 1), 0);
}
