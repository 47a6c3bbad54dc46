// An extension of pi: what its screen does with keys, as commands. `/go ID`, `/call ID [LABEL]`.
export default function (pi) {
  pi.registerCommand("go", { handler: (id, context) => context.navigateTree(id) });
  pi.registerCommand("call", {
    handler: async (words) => {
      const [id, ...label] = words.split(" ");
      pi.setLabel(id, label.join(" ") || undefined);
    },
  });
}
