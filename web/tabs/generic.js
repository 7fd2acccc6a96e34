/**
 * A tab for sections of a name that no other tab knows: their notes, charts and tables under that name.
 * @param {string} name
 * @returns {import("../types").Tab}
 */
export function genericTab(name) {
    return {
        id: name,
        title: name,
        present: (context) => context.run.sections.some((section) => section.name === name),
        show(root) {
            root.append(name);
            return () => root.replaceChildren();
        },
    };
}
