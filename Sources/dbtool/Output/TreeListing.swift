// The output of trees, which all verbs share.

import EspalierEngine

/// The table of a store's trees.
enum TreeListing {
    /// One line for each tree.
    static func rendered(_ trees: [TreeSummary]) -> String {
        var table = TextTable([
            .text("tree"), .number("id"), .text("keys"), .number("entries"), .number("height"),
            .number("leaf pages"), .number("root page"),
        ])
        for summary in trees {
            table.append([
                summary.tree.name, "\(summary.tree.id)", keyText(summary.tree.kind),
                DisplayText.grouped(summary.entryCount), "\(summary.height)",
                DisplayText.grouped(summary.leafPageCount), "\(summary.root)",
            ])
        }
        return table.rendered()
    }

    /// A tree for programs.
    static func json(_ summary: TreeSummary) -> JSONValue {
        [
            "name": .string(summary.tree.name), "id": .count(summary.tree.id),
            "keys": .string(keyText(summary.tree.kind)), "entries": .count(summary.entryCount),
            "height": .count(summary.height), "leafPages": .count(summary.leafPageCount),
            "root": .count(summary.root),
        ]
    }

    /// The kind of keys, in one word.
    static func keyText(_ kind: KeyKind) -> String {
        switch kind {
        case .integer: "integer"
        case .bytes: "bytes"
        }
    }
}
