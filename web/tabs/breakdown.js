/** @type {import("../types").Tab} */
export const breakdownTab = {
    id: "breakdown",
    title: "Breakdown",
    present: (context) => context.run.sections.some((section) => section.name === "breakdown"),
    show(root) {
        root.append("Breakdown");
        return () => root.replaceChildren();
    },
};
