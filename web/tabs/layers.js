/** @type {import("../types").Tab} */
export const layersTab = {
    id: "layers",
    title: "Layers",
    present: (context) => context.run.sections.some((section) => section.name === "layers"),
    show(root) {
        root.append("Layers");
        return () => root.replaceChildren();
    },
};
