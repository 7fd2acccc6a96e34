/** @type {import("../types").Tab} */
export const timelineTab = {
    id: "timeline",
    title: "Timeline",
    present: (context) => context.run.timeline !== null,
    show(root) {
        root.append("Timeline");
        return () => root.replaceChildren();
    },
};
