// Pointer, wheel and keys of the timeline as plain actions; the caller gives them their meaning. Held keys act by the
// elapsed time, not by the keyboard's repeat; a tap acts as if held for TAP milliseconds. A press becomes a drag after
// SLACK pixels. Two fingers at once pinch, and the action of the first one is undone.

const SLACK = 3;
const TAP = 90;
const WHEEL_LINE = 16; // pixels of a line, where a wheel counts lines

/** Keys that act while they are held: by the key's place where letters have one, so that they also work in capitals. */
const HELD = new Map([
    ["w", "in"],
    ["s", "out"],
    ["a", "left"],
    ["d", "right"],
    ["arrowleft", "left"],
    ["arrowright", "right"],
    ["arrowup", "up"],
    ["arrowdown", "down"],
    ["+", "in"],
    ["=", "in"],
    ["-", "out"],
]);

/**
 * @typedef {object} Actions
 * @property {(x: number, y: number, event: PointerEvent) => Drag | null} press  the drag that a press begins
 * @property {(x0: number, x1: number) => ((x0: number, x1: number) => void)} pinch  two fingers: the effect of their moves
 * @property {(x: number, y: number) => void} hover
 * @property {() => void} leave
 * @property {(x: number, y: number, event: MouseEvent) => void} open  double click
 * @property {(x: number, y: number, dx: number, dy: number, event: WheelEvent) => void} wheel
 * @property {(x: number, y: number, by_key: boolean) => void} menu  requested by the right button or the keyboard
 * @property {(key: string, event: KeyboardEvent) => boolean} key  true: done, no default action
 * @property {(key: string) => boolean} holds  does this key act while held now?
 * @property {() => void} wake  a key went down: request frames
 */
/** @typedef {{move: (x: number, y: number) => void, drop: (x: number, y: number) => void,
 *             click: ((x: number, y: number) => void) | null, cancel?: () => void}} Drag */

/**
 * @typedef {object} Listening
 * @property {(now: number) => Map<string, number>} held milliseconds for which each action was held since the last call
 * @property {() => boolean} space  is it held?
 * @property {boolean} active  are keys down?
 * @property {() => void} end
 */

/** Is it a place where letters are written, or a control with keys of its own? @param {EventTarget | null} target
 *  @param {HTMLElement} canvas @param {string} key */
function isTaken(target, canvas, key) {
    if (target === canvas || !(target instanceof HTMLElement) || target === document.body) {
        return false;
    }
    if (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) {
        return true;
    }
    return key.length > 1 || key === " "; // arrows, Enter, Space belong to the control that has the focus
}

/**
 * @param {HTMLCanvasElement} canvas @param {Actions} actions
 * @returns {Listening}
 */
export function listen(canvas, actions) {
    /** @type {Map<string, {since: number, key: string}>} */
    const down = new Map();
    /** @type {Map<string, number>} */
    const taps = new Map();
    let space = false,
        drag = null,
        start = [0, 0],
        dragging = false;
    /** @type {Map<number, number>} fingers that are down, where they are */
    const fingers = new Map();
    /** @type {((x0: number, x1: number) => void) | null} */
    let pinch = null;
    const stop = new AbortController(),
        options = { signal: stop.signal };

    const place = (event) => {
        const box = canvas.getBoundingClientRect();
        return [event.clientX - box.left, event.clientY - box.top];
    };

    /** After a finger left a single one does nothing until it is put down again. @param {PointerEvent} event */
    const lift = (event) => {
        fingers.delete(event.pointerId);
        if (fingers.size < 2) {
            pinch = null;
        }
    };

    canvas.addEventListener(
        "pointerdown",
        (event) => {
            const [x, y] = place(event);
            if (event.pointerType === "touch" && fingers.set(event.pointerId, x).size === 2) {
                drag?.cancel?.();
                drag = null;
                const [x0, x1] = fingers.values();
                pinch = actions.pinch(x0, x1);
            }
            if (fingers.size > 1) {
                canvas.setPointerCapture(event.pointerId);
                return;
            }
            drag = actions.press(x, y, event);
            if (drag !== null) {
                start = [x, y];
                dragging = false;
                canvas.setPointerCapture(event.pointerId);
            }
            if (event.button === 1) {
                event.preventDefault();
            }
        },
        options,
    );
    canvas.addEventListener(
        "pointermove",
        (event) => {
            const [x, y] = place(event);
            if (fingers.has(event.pointerId)) {
                fingers.set(event.pointerId, x);
            }
            if (pinch !== null) {
                const [x0, x1] = fingers.values();
                pinch(x0, x1);
                return;
            }
            if (drag !== null) {
                dragging ||= Math.hypot(x - start[0], y - start[1]) > SLACK;
                if (dragging) {
                    drag.move(x, y);
                }
            }
            actions.hover(x, y);
        },
        options,
    );
    canvas.addEventListener(
        "pointerup",
        (event) => {
            const [x, y] = place(event),
                ended = drag;
            drag = null;
            lift(event);
            if (ended !== null && dragging) {
                ended.drop(x, y);
            } else if (ended !== null && ended.click !== null) {
                ended.click(x, y);
            }
        },
        options,
    );
    canvas.addEventListener(
        "pointercancel",
        (event) => {
            drag?.cancel?.();
            drag = null;
            lift(event);
        },
        options,
    );
    canvas.addEventListener("pointerleave", () => actions.leave(), options);
    canvas.addEventListener(
        "dblclick",
        (event) => {
            const [x, y] = place(event);
            actions.open(x, y, event);
        },
        options,
    );
    canvas.addEventListener(
        "wheel",
        (event) => {
            event.preventDefault();
            const [x, y] = place(event);
            const scale = event.deltaMode === 1 ? WHEEL_LINE : event.deltaMode === 2 ? canvas.clientHeight : 1;
            actions.wheel(x, y, event.deltaX * scale, event.deltaY * scale, event);
        },
        { passive: false, signal: stop.signal },
    );
    canvas.addEventListener(
        "contextmenu",
        (event) => {
            event.preventDefault();
            const [x, y] = place(event);
            actions.menu(x, y, event.button !== 2);
        },
        options,
    );
    const noAutoscroll = (event) => event.button === 1 && event.preventDefault();
    canvas.addEventListener("mousedown", noAutoscroll, options);
    canvas.addEventListener("auxclick", (event) => event.preventDefault(), options);

    window.addEventListener(
        "keydown",
        (event) => {
            const key = event.key.toLowerCase();
            if (
                event.defaultPrevented ||
                event.ctrlKey ||
                event.metaKey ||
                event.altKey ||
                isTaken(event.target, canvas, event.key)
            ) {
                return;
            }
            const act = HELD.get(key);
            if (key === " " && event.target === canvas) {
                space = true;
                event.preventDefault();
            } else if (act !== undefined && actions.holds(key) && !(event.shiftKey && /^arrow(up|down)$/.test(key))) {
                event.preventDefault();
                if (!down.has(key)) {
                    down.set(key, { since: performance.now(), key });
                    taps.set(act, (taps.get(act) ?? 0) + TAP);
                    actions.wake();
                }
            } else if (actions.key(event.key, event)) {
                event.preventDefault();
            }
        },
        options,
    );
    const release = () => {
        down.clear();
        space = false;
    };
    window.addEventListener(
        "keyup",
        (event) => {
            down.delete(event.key.toLowerCase());
            space = space && event.key !== " ";
        },
        options,
    );
    window.addEventListener("blur", release, options);
    canvas.addEventListener("blur", release, options);

    return {
        held(now) {
            const acts = new Map(taps);
            taps.clear();
            for (const one of down.values()) {
                const act = /** @type {string} */ (HELD.get(one.key));
                const from = Math.max(one.since + TAP, 0);
                if (now > from) {
                    acts.set(act, (acts.get(act) ?? 0) + Math.min(100, now - from));
                    one.since = now - TAP;
                }
            }
            return acts;
        },
        space: () => space,
        end: () => stop.abort(),
        get active() {
            return down.size > 0;
        },
    };
}
