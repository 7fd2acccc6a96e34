/** @type {import("../types").Tab} */
export const planTab = {
    id: "plan",
    title: "Plan",
    present: (context) => context.run.sections.some((section) => section.name === "plan"),
    show(root) {
        root.append("Plan");
        return () => root.replaceChildren();
    },
};
