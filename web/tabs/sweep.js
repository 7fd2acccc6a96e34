/** @type {import("../types").Tab} */
export const sweepTab = {
    id: "sweep",
    title: "Sweep",
    present: (context) => context.run.sections.some((section) => section.name === "sweep"),
    show(root) {
        root.append("Sweep");
        return () => root.replaceChildren();
    },
};
