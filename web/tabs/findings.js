/** @type {import("../types").Tab} */
export const findingsTab = {
    id: "findings",
    title: "Findings",
    present: (context) => context.run.sections.some((section) => section.name === "findings"),
    show(root) {
        root.append("Findings");
        return () => root.replaceChildren();
    },
};
