/** @type {import("../types").Tab} */
export const memoryTab = {
    id: "memory",
    title: "Memory",
    present: (context) => context.run.sections.some((section) => section.name === "memory"),
    show(root) {
        root.append("Memory");
        return () => root.replaceChildren();
    },
};
