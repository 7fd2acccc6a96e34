/** @type {import("../types").Tab} */
export const operatorsTab = {
    id: "operators",
    title: "Operators",
    present: (context) => context.run.sections.some((section) => section.name === "operators"),
    show(root) {
        root.append("Operators");
        return () => root.replaceChildren();
    },
};
