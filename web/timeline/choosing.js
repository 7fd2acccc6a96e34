// Selecting events and the consequences: the line for screen readers, bringing an event into sight, fitting it.

import { fit, reveal } from "./scale.js";
import { say, told } from "../texts.js";

/** @typedef {import("./model.js").Pane} Pane */

/** @param {import("./model.js").Model} it @param {ReturnType<typeof import("./pointing.js").newPointing>} pointing */
export function newChoosing(it, pointing) {
    const { state, view, panes, limits, selection, tip } = it;
    const { stretch, show, duration, moment } = it;
    const { eventAt } = pointing;

    /** @param {import("./selection.js").Chosen | null} chosen */
    function tellSelected(chosen) {
        if (chosen === null) {
            tip.say(say("Nothing is selected"));
        } else {
            const { pane, row, details } = chosen,
                track = pane.tracks[pane.source.row_track[row]];
            const where = say("{0} of {1}", told(track?.name ?? ""), told(pane.timeline.groups[track?.group ?? 0]?.name ?? ""));
            const length = details.end - details.begin;
            const begins = moment(details.begin, length);
            tip.say(say("{0}, {1}, begins at {2}, lasts {3}", details.name, where, begins, duration(length)));
            bringIntoSight(chosen);
        }
        it.ask();
    }

    /** Its row, wherever it was selected, in the side panel or by a search; its time where keys selected it.
     *  @param {import("./selection.js").Chosen} chosen */
    function bringIntoSight(chosen) {
        const { pane, row, details } = chosen,
            place = pane.placeOf(row);
        if (it.revealing) {
            it.revealing = false;
            show(reveal(stretch(), details.begin, details.end, limits));
        }
        const pinned = place !== null && place.y + place.height <= pane.scrolled_from && pane.isPinned(row);
        if (place !== null && !pinned && place.y < pane.scrolled_from) {
            pane.scrollTo(pane.top + place.y - pane.scrolled_from - 24);
        } else if (place !== null && !pinned && place.y + place.height > pane.box.y + pane.box.height) {
            pane.scrollTo(pane.top + place.y + place.height - pane.box.y - pane.box.height + 24);
        }
    }

    /** @param {Pane | null} pane @param {import("../types").EventPlace | null} place */
    function select(pane, place) {
        panes.filter((other) => other !== pane).forEach((other) => other.select(null));
        pane?.select(place);
        it.ask();
    }

    /** @param {number} x @param {number} y */
    function selectAt(x, y) {
        return eventAt(x, y).then((found) => {
            select(found?.pane ?? null, found === null ? null : { row: found.row, index: found.index });
            return found;
        });
    }

    function fitSelection() {
        if (view.range !== null) {
            show(fit(view.range[0], view.range[1], limits));
        } else if (selection.chosen !== null) {
            show(fit(selection.chosen.details.begin, selection.chosen.details.end, limits));
        }
    }

    function clear() {
        select(null, null);
        state.set({ range: null, area: null });
        tip.hide();
    }

    return { tellSelected, select, selectAt, fitSelection, clear };
}
