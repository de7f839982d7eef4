import stringWidth from "string-width";

const GAP = "  ";

/** Rows under a heading; the first column stands at the left, the others at the right or as said. */
export function table(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  others: "left" | "right" = "right",
): string {
  const all = [heading, ...rows];
  const widths = heading.map((_, column) =>
    all.reduce((most, row) => Math.max(most, stringWidth(row[column] ?? "")), 0),
  );
  return all
    .map((row) =>
      row
        .map((cell, column) => {
          const room = " ".repeat((widths[column] as number) - stringWidth(cell));
          return column === 0 || others === "left" ? cell + room : room + cell;
        })
        .join(GAP)
        .trimEnd(),
    )
    .join("\n");
}
