/** @type {import("../types").Tab} */
export const communicationTab = {
    id: "communication",
    title: "Communication",
    present: (context) => context.run.sections.some((section) => section.name === "communication"),
    show(root) {
        root.append("Communication");
        return () => root.replaceChildren();
    },
};
