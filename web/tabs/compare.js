/** @type {import("../types").Tab} */
export const compareTab = {
    id: "compare",
    title: "Compare",
    present: (context) => context.run.sections.some((section) => section.name === "compare"),
    show(root) {
        root.append("Compare");
        return () => root.replaceChildren();
    },
};
