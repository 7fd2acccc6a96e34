// The viewer's types: the document (docs/view-json.md), the sources of events, and the common state of the parts.
// Checked by `tsc --checkJs`; nothing of this file is in the page.

// ---- the document ----

export interface Document {
    format: string; version: number; tool: string; title: string; lang?: string; served: boolean; types: string[];
    colors: [number, number, number][];  // of types: OKLCH on a light page
    runs: Run[];
}
export type Unit = "" | "ns" | "time" | "MB" | "%" | "count" | "GB/s" | "text";
export type Better = "less" | "more";  // when two runs are compared; not there: no direction is known to be better
export interface Fact { label: string; value: number | null; unit: Unit; better?: Better; text: string | null; basis: string | null }
export interface Run {
    name: string; kinds: string[]; facts: Fact[]; notes: string[]; timeline: Timeline | null; sections: Section[];
}
export interface Section {
    name: string; notes?: string[]; bars?: Bars[]; tables?: Table[]; matrices?: Matrix[]; lines?: Lines[]; findings?: Finding[];
    space?: RawSpace; blocks?: RawBlockMap[];
}
export interface RawBlockMap {
    id: string; title: string; addresses: boolean; ticked: boolean; length: number; height: number; peak_at: number; peak: number;
    n_all: number; n: number; n_segments: number; sites: [string, number][]; stacks: number[][]; frames: string[]; data: string | null;
}
export interface Today { point: number | null; run: number; seconds: number; mb: number; values: number[] }
export interface RawSpace {
    axes: string[]; schedules: string[]; fates: string[]; limit_mb: number | null; n: number;
    plans: { point: number; run: number }[]; today: Today | null;
    front: { point: number; proved: boolean }[]; bounds: { point: number; proved: boolean }[]; data: string;
}
export interface Bars {
    id: string; title: string; unit: Unit; series: { name: string; type: number | null }[];
    bars: { label: string; group: number | null; values: number[] }[]; limit: number | null;
}
export interface Column { name: string; title: string; unit: Unit; better?: Better; search: boolean }
export type Cell = number | string | null;
export interface Table {
    id: string; title: string; columns: Column[]; rows: Cell[][]; sort: { column: number; descending: boolean } | null;
    places?: (RawPlace | null)[];  // of the rows in the timeline
}
export type RawPlace = [number, number | null, number | null, string | null];  // group, begin, end, name of the event
export interface Matrix {
    id: string; title: string; unit: Unit; labels: string[]; cells: [number, number, number, string][]; columns?: string[];
    parts?: [number, number, string, string, string, number, number][];  // row, column, step, operation, transport, MB, ms
}
export interface Lines {
    id: string; title: string; x: { title: string; unit: Unit }; y: { title: string; unit: Unit };
    series: { name: string; points: [number, number | null, 1?][] }[]; limit: number | null;
    steps?: boolean;  // a value is valid until the next point
}
export interface Evidence {
    text: string; file: string | null; step: string | null; rank: number; begin?: number | null; end?: number | null; group?: number | null;
}
export interface Finding {
    id: string; rank: number; title: string; cost: number | null; gain: number | null; gain_share: number | null;
    basis: string | null; topic: string | null; evidence: Evidence[];
    setting: string | null; change: string | null; rests_on: string | null; caution: string | null;
    begin: number | null; end: number | null; group: number | null;
}
export interface Timeline {
    unit: "ns" | null; origin: string | null; begin: number; end: number;
    groups: { name: string; rank: number; stage: number; tracks: { name: string; class: string; n_rows: number; left_out: number }[] }[];
    row_events: number[]; n_events: number; n_arrows: number; n_held: number; n_points: number;
    n_calls?: number;
    names: { text: string[]; type: number[] } | null; arrow_names: string[];
    steps: { name: string; group: number; begin: number; end: number }[];
    path: [number, number, number][];  // group, begin, end: the critical path in order of time
    curves: { name: string; group: number; unit: string; limit: number | null; steps: boolean; track?: boolean; n: number }[];
    counters?: { name: string; group: number; unit: string; least: number; most: number; n: number }[];
    held_names: { text: string[]; type: number[] }; data: string | null; args: string | null;
}

// ---- sources of events: web/source_embedded.js, web/source_served.js ----

/** Boxes of a row, in order, from index `from` up to `to`: each is an event (count 1) or events too close to
 * separate. */
export interface Boxes {
    from: number; to: number;
    begin: Float64Array; end: Float64Array; name: Uint32Array; type: Uint8Array;
    count: Uint32Array | null;  // null: all 1
    busy: Float64Array | null;  // of boxes with count > 1: filled time
    index: Uint32Array | null;  // of the first event in its row; null: the box's own index
}
export interface EventPlace { row: number; index: number }
export interface EventSeen extends EventPlace { begin: number; end: number; name: string }
export interface Flow extends EventSeen { outgoing: boolean; event: string }  // name: of the flow; row -1: none
export interface Details {
    name: string; type: number; begin: number; end: number; layer: string;
    args: Record<string, unknown> | null; text: string | null; flows: Flow[];
    calls?: Calls | null;  // of a collective that was matched over ranks
}
/** A collective on its ranks. of: ranks of its group, 0: unknown; wait: for others, null: unknown; last: others waited
 * for it. */
export interface Calls { of: number; calls: { row: number; begin: number; wait: number | null; last: boolean }[] }
export interface Total { name: string; type: number; track: number; n: number; total: number }
export interface Arrows { all: boolean; from_row: number[]; from_time: number[]; to_row: number[]; to_time: number[]; name: string[] }
export interface CurvePoints { time: Float64Array; least: Float64Array; most: Float64Array; last: Float64Array; n: number }
export interface Held { group: number; name: string; type: number; begin: number; end: number; mb: number }

export interface Source {
    readonly timeline: Timeline;
    /** Number of a row's track (counted through all groups), its group, its depth within the track. */
    readonly row_track: Uint32Array; readonly row_group: Uint32Array; readonly row_depth: Uint32Array;
    /** The available boxes of a row: never waits. Where better ones are loading, `changed` is called when they came.
     *  The result is valid until the next call for the same row. */
    boxes(row: number, begin: number, end: number, resolution: number): Boxes | null;
    /** Called before the boxes of a frame: the rows that will be read, so that one request fetches all. */
    frame(rows: number[], begin: number, end: number, resolution: number): void;
    changed: (() => void) | null;
    name(name: number): string;               // "" while it is loading
    details(place: EventPlace): Promise<Details>;
    at(row: number, time: number): Promise<number | null>;
    find(text: string, rows: number[], forward: boolean, from: { time: number; row: number; index: number }): Promise<(EventSeen & { names: number }) | null>;
    sums(rows: number[], begin: number, end: number, progress: (covered: number) => void, signal: AbortSignal): Promise<Total[]>;
    /** The longest events that reach into a stretch, at most `limit`; all: there are no others. */
    events(rows: number[], begin: number, end: number, limit: number, signal: AbortSignal): Promise<{ all: boolean; events: EventSeen[] }>;
    arrows(rows: number[], begin: number, end: number, limit: number): Arrows | null;   // at hand, like boxes
    curve(curve: number, begin: number, end: number, resolution: number): CurvePoints | null;  // curves first, then counters
    held(group: number, time: number): Held[];  // largest first
    /** Of a server: steps, curves and live memory come later, with the document's figures, into the same timeline. */
    complete?(all: Timeline): Promise<void>;
}

// ---- the common state of the page's parts: web/state.js ----

export interface View {
    run: number; tab: string;
    begin: number; end: number;          // shown
    top: number;                         // scrolled down, pixels
    selected: EventPlace | null;
    range: [number, number] | null;      // dragged
    area: number[] | null;               // tracks of the range, ascending; null: all
    pointer: number | null;              // time under the pointer, or its last one
    marks: { time: number; name: string }[];
    query: string; filter: { rank: string; stage: string; track: string; name: string };
    folded: string[];                    // closed groups and tracks, "0", "0/3"
    pinned: string[];                    // tracks above all others
    hidden: string[];                    // hidden groups and tracks
    order: string[];                     // groups and tracks that are not in the timeline's order
    compare: number | null;              // run compared with the first
    theme: "auto" | "light" | "dark";
    lang: string;                        // of the texts, requested by the reader or the address; "": neither
    arrows: boolean;                     // all of them; those of the selected event are always there
}
export interface State {
    readonly view: View;
    /** Change some members, call the listeners of any of them, and put the view into the address. */
    set(change: Partial<View>): void;
    /** Called with the members that changed. Returns the function that ends it. */
    on(members: (keyof View)[], listener: (changed: Set<keyof View>) => void): () => void;
}

// ---- the interface of a tab: web/tabs.js lists them ----

export interface Context {
    document: Document; state: State; run: Run; source: Source | null; colors: Colors; format: Format;
    /** The shown timeline, if any. */
    chart: { current: { svg(): string; png(): Promise<Blob | null> } | null };
    /** The context of another run of the page, by its number. */
    of(run: number): Promise<Context>;
}
export interface Tab {
    id: string; title: string;
    /** Does it have content for this run? */
    present(context: Context): boolean;
    /** Build into `root`. Returns the function that removes it. */
    show(root: HTMLElement, context: Context): () => void;
}
export interface Colors {
    /** CSS colour of a type (number of document.types), of the same hue in light and dark. */
    type(type: number): string;
    /** The same, a shade of it by name: neighbours of different names can be distinguished. 0xAABBGGRR for pixels. */
    pixel(type: number, name: number): number;
    /** CSS colour of text on such a box. */
    ink(type: number, name: number): string;
    /** CSS colour of blocks of a chunk, of a number of chunks. */
    chunk(type: number, chunk: number, of: number): string;
    series(number: number): string;
    /** The same in the light theme, in any theme: a choice by colours is then the same in both. */
    light: { type(type: number): string; series(number: number): string };
}
export interface Format {
    value(value: number | string | null, unit: Unit): string;
    /** A time with enough digits to distinguish times `resolution` apart: "12.345 678 ms". */
    time(value: number, unit: "ns" | null, resolution?: number): string;
}
